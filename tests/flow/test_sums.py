"""Damage is found: checksums, header, schema, keyword tables. A small store is a small file."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.sqlite import schema
from memory_mesh.model.errors import MeshError, StoreIsDamaged
from memory_mesh.sync import MemoryMesh
from tests.stores import FOUND, NAMES, unpacked

TEXT = "Fact {0}: the service number {0} listens on port {1}, as the plan of June says"


@pytest.fixture
def store(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        ids = [str(mesh.add(TEXT.format(i, 8000 + i), tags=["port"]).id) for i in range(12)]
        mesh.update(ids[0], "Fact 0 was changed")
        mesh.delete(ids[1])
        mesh.ingest_skill("---\nname: copy\nintent: keep a copy\n---\n1. Save work")
        mesh.graph.link(ids[2], ids[3])
    return tmp_path / "namespaces" / "default.db"


def _changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(statement)


def _checks(path: Path) -> set[str]:
    with MemoryMesh(db_dir=path.parents[1]) as mesh:
        return {finding.check for finding in mesh.care.verify().findings}


_COUNTED = "an audience has one number, and the count of what a default read could return to it"
_NUMBERED = "a version has the number of its audience"


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("UPDATE version SET agent = 'other' WHERE number = 4", "checksums"),
        ("UPDATE version SET project = 'p' WHERE number = 4", "checksums"),
        ("UPDATE version SET valid_until = 5 WHERE number = 4", "checksums"),
        ("UPDATE version SET claim = '{}' WHERE number = 4", "checksums"),
        ("UPDATE version SET confidence = 0.5 WHERE number = 4", "checksums"),
        ("UPDATE version SET recorded_until = recorded_until + 1", "checksums"),
        ("UPDATE memory SET status = 'archived' WHERE number = 4", "checksums"),
        ("UPDATE memory SET id = 'mem_1_000000' WHERE number = 4", "checksums"),
        ("UPDATE text SET echo = NULL WHERE number = 4", "checksums"),
        ("UPDATE text SET content = CAST(x'66ff66' AS TEXT) WHERE number = 4", "checksums"),
        ("UPDATE observation SET origin = 'x' WHERE number = 4", "checksums"),
        ("UPDATE link SET at = at + 1", "checksums"),
        ("UPDATE skill SET reliability = 0.9", "checksums"),
        ("UPDATE version SET tags = '[' WHERE number = 4", "rows as reads return them"),
        ("UPDATE version SET kind = 'x' WHERE number = 4", "rows as reads return them"),
        ("PRAGMA application_id = 7", "header"),
        ("PRAGMA user_version = 15", "header"),
        ("UPDATE audience SET project = 'shop'", "checksums"),
        ("UPDATE audience SET memories = memories + 1", _COUNTED),
        ("UPDATE version SET audience = 99 WHERE number = 4", _NUMBERED),
        ("DROP INDEX version_text", "schema"),
        ("CREATE TABLE mine (x)", "schema"),
        ("DELETE FROM live_data WHERE id > 10", "keyword tables"),
        ("UPDATE live_data SET block = zeroblob(length(block)) WHERE id > 10", "keyword tables"),
        ("INSERT INTO live (rowid, terms) VALUES (99, 'planted')", "keyword tables"),
        ("INSERT INTO live (live) VALUES ('delete-all')", "keyword tables"),
        ("UPDATE block SET wire = x'0102' WHERE position = 3", "chain"),
        ("DELETE FROM skill_live_data", "keyword tables"),
        ("UPDATE live_docsize SET sz = x'ef'", "keyword tables"),
    ],
)
def test_verify_finds_what_was_changed(store, statement, check):
    assert _checks(store) == set()
    _changed(store, statement)
    assert check in _checks(store)


@pytest.mark.parametrize("seed", range(3))
def test_verify_never_crashes_and_finds_each_flip_that_changes_what_is_kept(store, seed):
    dice, whole = random.Random(seed), store.read_bytes()
    kept = _kept(store)
    for _ in range(15):
        damaged = bytearray(whole)
        damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
        store.write_bytes(damaged)
        try:
            found = _checks(store)
        except MeshError as error:
            assert isinstance(error, MeshError)  # refused at open  # noqa: PT017
            found = {"refused"}
        if not found:
            assert _kept(store) == kept
        for beside in store.parent.glob("default.db-*"):
            beside.unlink()


def _kept(path: Path) -> object:
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        return [
            sorted(db.execute(f"SELECT {values} FROM {table}"), key=repr)
            for table, values in sums.CHECKED.items()
        ]


def test_a_header_with_a_format_that_sqlite_does_not_know_is_damage(store):
    data = bytearray(store.read_bytes())
    data[47] ^= 1  # the number of the format
    store.write_bytes(data)
    with (
        MemoryMesh(db_dir=store.parents[1]) as mesh,
        pytest.raises(StoreIsDamaged, match="salvage --to"),
    ):
        mesh.get_all()


def test_a_hundred_memories_are_a_small_file(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        for number in range(100):
            mesh.add(TEXT.format(number, 8000 + number), tags=["port"])
    assert (tmp_path / "namespaces" / "default.db").stat().st_size <= 212_000


def test_the_first_memory_of_a_user_takes_few_bytes_in_three_files(tmp_path):
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.for_user("ann").add("Ann drinks tea")
    files = [path for path in (tmp_path / "namespaces").rglob("*") if path.is_file()]
    assert len(files) == 3
    assert sum(path.stat().st_size for path in files) <= 48_000


def test_a_grown_file_has_every_index(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add_many([TEXT.format(number, number) for number in range(60)])
        assert not _is_indexed(tmp_path)
        mesh.add_many([TEXT.format(number, number) * 9 for number in range(60, 300)])
        assert _is_indexed(tmp_path)
        assert mesh.care.verify().findings == ()


def _is_indexed(folder: Path) -> bool:
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        return schema.is_indexed(db)


@pytest.fixture
def outgrown(tmp_path, monkeypatch):
    """A folder with a store whose next write finds that the file outgrew its small pages."""
    monkeypatch.setattr(schema, "SMALL_BYTES", 150_000)
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add_many([TEXT.format(number, number) for number in range(90)])
    assert _pages(tmp_path) == (schema.PAGE, "wal")
    return tmp_path


def _pages(folder: Path) -> tuple[int, str]:
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        (mode,) = db.execute("PRAGMA journal_mode").fetchone()
        return size, mode


def test_a_file_that_outgrew_small_pages_gets_large_ones(outgrown):
    with MemoryMesh(db_dir=outgrown, embedder="none") as mesh:
        assert mesh.search("which service listens on port 12")
        mesh.add("The printer is blue")
        assert _pages(outgrown) == (schema.LARGE_PAGE, "wal")
        mesh.add("The lamp is green")
        assert mesh.search("which lamp", limit=1)[0].content == "The lamp is green"
        assert mesh.care.verify().findings == ()


def test_a_file_that_another_program_has_open_keeps_small_pages_until_it_is_alone(outgrown):
    with (
        MemoryMesh(db_dir=outgrown, embedder="none") as mesh,
        closing(sqlite3.connect(outgrown / "namespaces" / "default.db")) as other,
    ):
        other.execute("SELECT count(*) FROM memory").fetchone()
        mesh.add("The printer is blue")
        assert _pages(outgrown) == (schema.PAGE, "wal")
    with MemoryMesh(db_dir=outgrown, embedder="none") as mesh:
        mesh.add("The lamp is green")
        assert _pages(outgrown) == (schema.LARGE_PAGE, "wal")
        assert mesh.care.verify().findings == ()


@pytest.mark.parametrize("verb", ["add", "search"])
def test_a_file_that_was_left_without_a_log_gets_one_again(tmp_path, verb):
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add("The lamp is green")
    with closing(sqlite3.connect(tmp_path / "namespaces" / "default.db")) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        getattr(mesh, verb)("The lamp of the hall")
        assert _pages(tmp_path)[1] == "wal"
        assert mesh.care.verify().findings == ()


def test_a_small_file_is_asked_by_index_in_each_add_and_search(tmp_path):
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add("The lamp is green")
    with closing(sqlite3.connect(tmp_path / "namespaces" / "default.db")) as db:
        for name, query in (
            ("text_hash", "SELECT hash FROM text WHERE substr(hash, 1, 3) IN (?1)"),
            ("text_echo", "SELECT 1 FROM text t WHERE substr(t.echo, 1, 3) = ?1 AND t.echo = ?1"),
        ):
            plan = str(db.execute(f"EXPLAIN QUERY PLAN {query}", (b"",)).fetchall())
            assert f"USING INDEX {name}" in plan


@pytest.mark.parametrize("name", [each for each in NAMES if f"schema-{schema.NEWEST}-" not in each])
def test_a_migrated_store_is_restored_from_the_copy_made_before(tmp_path, name):
    path = unpacked(name, tmp_path / "old")
    with MemoryMesh(db_dir=tmp_path / "old") as mesh:
        mesh.care.upkeep()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA page_size").fetchone()[0] in {schema.PAGE, 1024}
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA application_id").fetchone()[0] == schema.APPLICATION
    (copy,) = path.parent.glob("*.bak")
    again = tmp_path / "again" / "namespaces" / "default.db"
    again.parent.mkdir(parents=True)
    again.write_bytes(copy.read_bytes())
    with MemoryMesh(db_dir=tmp_path / "again") as mesh:
        mesh.care.upkeep()
        assert mesh.care.verify().findings == ()
        assert {word: mesh.search(word, limit=1)[0].content for word in FOUND} == FOUND


def test_a_store_that_another_program_has_open_is_migrated_and_keeps_its_pages(tmp_path):
    path = unpacked("schema-10-analyzer-2", tmp_path / "old")
    with closing(sqlite3.connect(path)) as other:
        other.execute("SELECT count(*) FROM memory").fetchone()
        with MemoryMesh(db_dir=tmp_path / "old") as mesh:
            assert mesh.care.verify().findings == ()
        assert other.execute("PRAGMA page_size").fetchone()[0] == 8192


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "holds \x00 and \x02",
        '{"content_sha256":"' + "ab" * 32 + '","other":"' + "cd" * 32 + '"}',
        "mem_1700000000000_00ffee at 2023-11-14T22:13:20.000Z, twice mem_1700000000000_00ffee",
        "臺灣 " * 3000,
    ],
)
def test_a_packed_text_is_read_back(text):
    named = ('["mem_1700000000000_00ffee"]', 1_700_000_000_000)
    assert rows.unpacked(rows.packed(text, *named), *named) == text
    assert rows.unpacked(text, *named) == text


@pytest.mark.parametrize("stored", [b"", b"\x09x", b"\x01", b"\x02\xff\xff", b"\x03abc"])
def test_bytes_that_nobody_packed_are_refused(stored):
    with pytest.raises(ValueError, match="packed"):
        rows.unpacked(stored, "[]", 0)


def test_a_file_of_another_program_is_refused(tmp_path):
    path = tmp_path / "namespaces" / "default.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE mine (x)")
    with MemoryMesh(db_dir=tmp_path) as mesh, pytest.raises(StoreIsDamaged):
        mesh.add("tea")
