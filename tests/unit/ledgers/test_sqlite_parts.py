"""Small parts of the SQLite engine: file names, mounts, migrations, selection, the cache."""

import hashlib
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from memory_mesh.ledgers.sqlite import namespace_places, open_file, schema
from memory_mesh.ledgers.sqlite.connection import SqliteConnection
from memory_mesh.model import Draft, Hits, Origin, Scope, Wanted
from memory_mesh.model.errors import InvalidInput, StoreIsNewer, UnsafeFolder
from memory_mesh.platform.cache import ENTRIES, LIFETIME, SearchCache
from memory_mesh.rules import trust
from memory_mesh.search.ranking import words
from memory_mesh.search.ranking.fusion import keyword_relevance
from memory_mesh.sync import MemoryMesh

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NONE = Hits()
PRINTABLE = st.text(min_size=1, max_size=18).filter(str.isprintable)


@given(PRINTABLE)
def test_a_namespace_finds_its_file_again(namespace):
    name = namespace_places.file_name(namespace)
    assert namespace_places.namespace(name) == namespace
    assert "/" not in name
    assert "\\" not in name
    assert name == name.lower()
    assert not name.startswith(".")


@given(PRINTABLE, PRINTABLE)
def test_two_namespaces_never_share_a_file(one, two):
    assert (one == two) == (namespace_places.file_name(one) == namespace_places.file_name(two))


@pytest.mark.parametrize("namespace", ["", "x" * 81, "a\nb", "a\0b", "\u202e"])
def test_what_cannot_be_a_namespace_is_refused(namespace):
    with pytest.raises(InvalidInput):
        namespace_places.file_name(namespace)


@pytest.mark.parametrize(
    "namespace", ["con", "aux", "com1", "..", ".hidden", "../../etc/passwd", "NUL"]
)
def test_names_a_file_system_would_misread_are_encoded(namespace):
    name = namespace_places.file_name(namespace)
    assert "%" in name
    assert namespace_places.namespace(name) == namespace


def test_other_files_are_no_namespaces():
    assert namespace_places.namespace("default.lock") is None
    assert namespace_places.namespace("default.db-wal") is None


MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
41 27 0:40 / /net rw - {kind} server:/export rw
42 41 0:41 / /net/local rw - ext4 /dev/vdb rw
43 27 0:42 / /with\\040blank rw - {kind} server:/b rw
"""


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"])
@pytest.mark.parametrize("folder", ["/net/store", "/net", "/with blank/store"])
def test_a_network_folder_is_refused_and_the_way_out_is_named(kind, folder):
    with pytest.raises(UnsafeFolder, match="MEMORY_MESH_ALLOW_NETWORK_FOLDER"):
        namespace_places.refuse_network_folder(Path(folder), MOUNTS.format(kind=kind))


@pytest.mark.parametrize("folder", ["/home/me", "/net/local/store", "/network", "/"])
def test_a_local_folder_is_accepted(folder):
    namespace_places.refuse_network_folder(Path(folder), MOUNTS.format(kind="nfs"))


def test_this_machine_can_be_asked(tmp_path):
    namespace_places.refuse_network_folder(tmp_path)


def test_migrations_run_once_in_order_after_a_backup(tmp_path):
    for number in (1, 2, 3):
        (tmp_path / f"000{number}_step.sql").write_text(f"step {number}")
    done: list[object] = []
    run = lambda version: schema.migrate(  # noqa: E731
        tmp_path, version, lambda n: done.append(f"backup {n}"), lambda s: done.append(s.sql)
    )
    assert run(0) == 3
    assert done == ["step 1", "step 2", "step 3"]
    done.clear()
    assert run(1) == 3
    assert done == ["backup 1", "step 2", "step 3"]
    done.clear()
    assert run(3) == 3
    assert done == []
    with pytest.raises(StoreIsNewer):
        run(4)


def test_a_gap_between_migrations_is_an_error(tmp_path):
    (tmp_path / "0002_step.sql").write_text("")
    with pytest.raises(ValueError, match="numbered"):
        schema.steps(tmp_path)


def test_the_engine_knows_its_newest_migration():
    assert len(schema.steps(schema._FOLDER)) == schema.NEWEST


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 50_000), max_size=12))
def test_selection_never_spends_more_than_the_budget(postings):
    chosen = words.select(list(postings), postings, 1_000_000)
    assert sum(postings[term] for term in chosen.kept) <= words.BUDGET
    known = {term for term, count in postings.items() if count}
    assert set(chosen.kept) | set(chosen.dropped) == known
    assert not set(chosen.kept) & set(chosen.dropped)
    if chosen.kept and chosen.dropped:
        assert max(postings[t] for t in chosen.kept) <= min(postings[t] for t in chosen.dropped)


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0.001, 50))
def test_relevance_stays_between_0_and_1_and_keeps_the_order(one, two, ceiling):
    low, high = sorted((one, two))
    assert 0 <= keyword_relevance(low, ceiling) <= keyword_relevance(high, ceiling) <= 1


@pytest.mark.parametrize(
    ("only", "another"),
    [
        (Scope(project="x"), Scope(project="y")),
        (Scope(agent="x"), Scope(agent="y")),
        (Scope(session="x"), Scope(session="y")),
    ],
)
def test_each_part_of_an_audience_is_empty_or_equal(only, another):
    assert trust.sees(only, Scope())
    assert trust.sees(only, only)
    assert not trust.sees(Scope(), only)
    assert not trust.sees(another, only)


@pytest.mark.req("R-000-168")
def test_the_cache_holds_500_and_drops_the_least_recently_used():
    cache = SearchCache()
    assert ENTRIES == 500
    for number in range(ENTRIES):
        cache.put((number,), NONE, NOW, None)
    assert cache.get((0,), NOW) == NONE
    cache.put(("one more",), NONE, NOW, None)
    assert cache.get((1,), NOW) is None
    assert cache.get((0,), NOW) == NONE
    assert cache.stats().size == ENTRIES


@pytest.mark.req("R-000-168")
def test_a_cached_answer_lives_five_minutes():
    cache = SearchCache()
    cache.put(("q",), NONE, NOW, None)
    assert timedelta(minutes=5) == LIFETIME
    assert cache.get(("q",), NOW + LIFETIME - timedelta(microseconds=1)) == NONE
    assert cache.get(("q",), NOW + LIFETIME) is None


def test_a_cached_answer_ends_at_the_next_validity_bound():
    cache = SearchCache()
    bound = NOW + timedelta(seconds=10)
    cache.put(("q",), NONE, NOW, bound)
    assert cache.get(("q",), bound - timedelta(microseconds=1)) == NONE
    assert cache.get(("q",), bound) is None


def test_cache_statistics_count_and_clear():
    cache = SearchCache()
    cache.get(("q",), NOW)
    cache.put(("q",), NONE, NOW, None)
    cache.get(("q",), NOW)
    assert (cache.stats().hits, cache.stats().misses, cache.stats().size) == (1, 1, 1)
    cache.clear()
    assert (cache.stats().hits, cache.stats().misses, cache.stats().size) == (0, 0, 0)


def _first_schema(path):
    """A store as the first schema left it, with one memory."""
    first = schema.steps(schema._FOLDER)[0]
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    schema._apply(db, first, "default")
    content = "tea is hot"
    db.execute(
        "INSERT INTO memory (number, id, created, status) VALUES (1, 'mem_1_abcdef', 1, 'active')"
    )
    db.execute(
        "INSERT INTO text VALUES (1, 1, ?, ?, 'tea hot')",
        (content, hashlib.sha256(content.encode()).digest()),
    )
    db.execute(
        "INSERT INTO version (number, memory, text, seq, recorded_from, status, kind, source_kind, "
        "channel, tier, pinned, tags, extra) VALUES (1, 1, 1, 1, 1, 'active', 'fact', "
        "'user_explicit', 'library', 'long_term', 0, '[]', '{}')"
    )
    db.execute("INSERT INTO live (rowid, terms) VALUES (1, 'tea hot')")
    db.close()


@pytest.mark.parametrize("first", ["read", "write"])
def test_a_store_of_the_first_schema_is_migrated_by_whoever_comes_first(tmp_path, first):
    folder = tmp_path / "namespaces"
    folder.mkdir()
    _first_schema(folder / "default.db")
    with MemoryMesh(db_dir=tmp_path) as mesh:
        if first == "write":
            mesh.add("water is wet")
        assert [hit.content for hit in mesh.search("tea")] == ["tea is hot"]
        assert [memory.lesson for memory in mesh.get_many(["mem_1_abcdef"])] == [None]
        mesh.ingest_skill("name; Make tea;")
    assert len(list(folder.glob("*.bak"))) == 1
    db = sqlite3.connect(folder / "default.db")
    stored = db.execute("SELECT min_reader, min_writer FROM store").fetchone()
    assert stored == (11, schema.NEWEST)  # 11: packed blocks, which earlier readers do not know
    db.close()


def test_an_id_is_taken_if_it_is_stored_whatever_its_form(tmp_path):
    ids = ["mem_5_00000a", "mem_7_00000b", "mem_~", "other", "a_b", "reflect_9_000001"]
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        for id_ in ids:
            origin = Origin(id=id_, created=NOW)
            mesh.add_many([Draft(text=f"text of {id_}", origin=origin)])
        with mesh._access().ledger.read("default") as snapshot:
            taken = snapshot.standing(Wanted()).taken
            assert [id_ for id_ in ids if not taken(id_)] == []
            free = ["mem_5_00000b", "mem_6_000000", "mem_~~", "mem", "b", "a_c", "reflect_9_000002"]
            assert [id_ for id_ in (*free, *free) if taken(id_)] == []


def test_a_new_user_gets_the_final_schema_at_once_and_an_identity_of_its_own(tmp_path, monkeypatch):
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.for_user("ann").add("tea")  # the first of a process applies the migrations, in memory
        monkeypatch.setattr(schema, "_apply", None)  # no other one does
        mesh.for_user("ben").add("tea")
        mesh.for_user("cleo").add("tea")
    names = ("ann", "ben", "cleo")
    rows = [
        sqlite3.connect(tmp_path / f"namespaces/user.{name}.db")
        .execute("SELECT namespace, identity FROM store")
        .fetchone()
        for name in names
    ]
    assert [row[0] for row in rows] == [f"user.{name}" for name in names]
    assert len({row[1] for row in rows}) == 3


@pytest.mark.parametrize("before", [1, 2])
def test_a_store_that_is_made_while_it_is_looked_at_is_not_damaged(tmp_path, before):
    path, statements = tmp_path / "new.db", []

    def make(statement):
        statements.append(statement)
        if len(statements) == before:
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                schema.ensure(other, path, "new")

    with closing(sqlite3.connect(path, factory=SqliteConnection)) as reader:
        reader.set_trace_callback(make)
        assert open_file.migrated(reader) == schema.NEWEST
    assert len(statements) > before
