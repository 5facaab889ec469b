"""Marks of metadata: filters find by them what a scan would find, and they can be made anew."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from memory_mesh import Scope
from memory_mesh.care.repairs import repair
from memory_mesh.ledgers.shared import metadata_marks
from memory_mesh.ledgers.sqlite import schema
from memory_mesh.sync import MemoryMesh
from tests.stores import NAMES, unpacked

CHECK = "marks of metadata"


@pytest.fixture
def mesh(tmp_path):
    with MemoryMesh(
        db_dir=tmp_path / "store", embedder="none", settings={"read_claims": False}
    ) as opened:
        yield opened


def _marks(folder) -> set[tuple[int, int]]:
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        return set(db.execute("SELECT mark, memory FROM metadata_mark"))


def _change(folder, statement: str) -> None:
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db, db:
        db.execute(statement)


@pytest.mark.req("R-000-259")
def test_marks_follow_the_open_version(mesh, tmp_path):
    stored = mesh.add("one", {"team": "core", "areas": ["db", "ui"], "tags": ["x"]})
    store = tmp_path / "store"
    pairs = [("team", "core"), ("areas", "db"), ("areas", "ui"), ("tags", "x")]
    assert _marks(store) == {(metadata_marks.mark(*pair), 1) for pair in pairs}
    mesh.update(stored.id, metadata={"team": "web"})
    assert (metadata_marks.mark("team", "web"), 1) in _marks(store)
    assert (metadata_marks.mark("team", "core"), 1) not in _marks(store)
    assert [each.text for each in mesh.get_all(filter={"team": "web"})] == ["one"]
    assert not mesh.get_all(filter={"team": "core"})
    before = _marks(store)
    mesh.pin(stored.id)
    assert _marks(store) == before
    assert not mesh.care.verify().findings


def test_whole_numbers_have_the_mark_of_the_same_number_with_a_point():
    assert (
        metadata_marks.mark("a", 3)
        == metadata_marks.mark("a", 3.0)
        != metadata_marks.mark("a", "3")
    )
    assert len({metadata_marks.mark("a", value) for value in (1, True, "1", "true", 1.5, -1)}) == 6
    assert (
        metadata_marks.mark("a", None)
        is metadata_marks.mark("a", {"b": 1})
        is metadata_marks.mark("a", "x" * 257)
        is None
    )


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM metadata_mark WHERE rowid_ = 0",
        "INSERT INTO metadata_mark VALUES (5, 1)",
        "INSERT INTO metadata_mark VALUES (5, 999)",
        "UPDATE metadata_mark SET mark = mark + 1",
    ],
)
def test_verify_finds_a_wrong_mark_and_repair_makes_them_anew(mesh, tmp_path, statement):
    mesh.add("one", {"team": "core", "tags": ["x"]})
    mesh.add("two", {"team": "web"})
    mesh.close()
    store = tmp_path / "store"
    right = _marks(store)
    if "rowid_" in statement:
        statement = f"DELETE FROM metadata_mark WHERE mark = {metadata_marks.mark('team', 'core')}"
    _change(store, statement)
    with MemoryMesh(db_dir=store, embedder="none") as opened:
        assert {finding.check for finding in opened.care.verify().findings} == {CHECK}
    done = repair(store, "default")
    assert done.ok, done.verification.findings
    assert any(CHECK in sentence for sentence in done.done)
    assert _marks(store) == right


@pytest.mark.parametrize("name", NAMES)
def test_a_store_of_an_earlier_version_is_marked(name, tmp_path):
    path = unpacked(name, tmp_path)
    with MemoryMesh(db_dir=tmp_path) as opened:
        opened.get_all(limit=1)
        with closing(sqlite3.connect(path)) as db:
            assert schema.version(db) == schema.NEWEST
            assert not list(metadata_marks.flaws(db))


def test_a_memory_with_very_many_values_is_still_found(mesh):
    many = {f"key{number}": number for number in range(metadata_marks.MOST_MARKS + 6)}
    mesh.add("one", many)
    mesh.add("two", {"key1": 1, "levels": list(range(200))})
    mesh.add("three", {"key1": 1})
    mesh.add("long", {"note": "x" * 300, "key1": 2})
    assert {each.text for each in mesh.get_all(filter={"key1": 1})} == {"one", "two", "three"}
    assert [each.text for each in mesh.get_all(filter={"levels": 150})] == ["two"]
    assert [each.text for each in mesh.get_all(filter={"note": "x" * 300})] == ["long"]
    assert not mesh.care.verify().findings


def test_different_values_that_share_a_mark_are_told_apart(mesh):
    seen: dict[int | None, str] = {}
    one = two = ""
    for number in range(2_000_000):  # a mark has 32 bits
        one = f"{number * 7_919_317:x} of the teams"
        two = seen.setdefault(metadata_marks.mark("team", one), one)
        if two != one:
            break
    assert metadata_marks.mark("team", one) == metadata_marks.mark("team", two)
    mesh.add("first", {"team": one})
    mesh.add("second", {"team": two})
    assert [each.text for each in mesh.get_all(filter={"team": one})] == ["first"]
    hits = mesh.search("first second", filter={"team": two})
    assert [hit.memory.text for hit in hits] == ["second"]


KEYS = st.sampled_from(["team", "level", "odd \"key'"])
SCALARS = st.none() | st.booleans() | st.sampled_from([0, 1, 1.0, 1.5, "1", "a", "A", ""])
METADATA = st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=3), max_size=3)
LITERALS = st.booleans() | st.sampled_from([0, 1, 1.0, 1.5, "1", "a", "A", ""])


def _equal(stored: object, value: object) -> bool:
    """What a filter means by equal, said once more in Python."""
    if isinstance(stored, list):
        return any(_equal(each, value) for each in stored)
    if isinstance(stored, bool) or isinstance(value, bool):
        return stored is value
    return type(stored) in (int, float, str) and stored == value


@pytest.mark.req("R-000-259")
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(METADATA, min_size=1, max_size=5), KEYS, st.lists(LITERALS, min_size=1, max_size=3))
def test_by_marks_a_filter_finds_what_a_look_at_all_finds(tmp_path_factory, rows, key, values):
    folder = tmp_path_factory.mktemp("marks")
    with MemoryMesh(db_dir=folder, embedder="none", settings={"read_claims": False}) as opened:
        for number, metadata in enumerate(rows):
            hidden = Scope(session="hidden") if number % 3 == 2 else Scope()
            opened.add(f"memory {number}", metadata, scope=hidden)
        seen = {f"memory {n}": row for n, row in enumerate(rows) if n % 3 != 2}
        for asked, wanted in (
            ({key: {"$in": values}}, any),
            ({key: {"$nin": values}}, lambda found: not any(found)),
        ):
            right = {
                text
                for text, row in seen.items()
                if wanted([_equal(row.get(key), value) for value in values])
            }
            assert {each.text for each in opened.get_all(filter=asked)} == right
            assert {hit.memory.text for hit in opened.search("memory", filter=asked)} == right
