"""Stores that earlier versions wrote: migrated, reindexed, and all their words are found."""

import sqlite3
from contextlib import closing

import pytest

from memory_mesh.ledgers.sqlite import schema
from memory_mesh.sync import MemoryMesh
from memory_mesh.text.analyzer import ANALYZER
from tests.stores import FOUND, NAMES, grow, held, unpacked


def test_the_present_version_has_its_fixture_store():
    """Run `python tools/make_fixture_store.py` and commit what it writes."""
    assert f"schema-{schema.NEWEST}-analyzer-{ANALYZER}" in NAMES


def _has_present_terms(name):
    """Schema 5 is the first that records which analyzer wrote the terms."""
    number, _, rest = name.removeprefix("schema-").partition("-")
    return int(number) >= 5 and rest == f"analyzer-{ANALYZER}"


@pytest.mark.parametrize("name", NAMES)
def test_a_store_of_an_earlier_version_finds_all_its_words_after_upkeep(tmp_path, name):
    path = unpacked(name, tmp_path / "old")
    with MemoryMesh(db_dir=tmp_path / "old") as mesh:
        waiting = mesh.stats().to_reindex
        assert bool(waiting) == (not _has_present_terms(name))
        assert mesh.care.verify().ok == (not waiting)
        report = mesh.care.upkeep()
        assert report.reindexed == waiting + (mesh.stats().skills if waiting else 0)
        assert mesh.stats().to_reindex == 0
        assert mesh.care.verify().findings == ()
        assert {word: mesh.search(word, limit=1)[0].content for word in FOUND} == FOUND
        if mesh.stats().skills:
            assert [hit.skill.name for hit in mesh.search_skills("资料")] == ["資料備份"]
        memories = mesh.get_all()
    assert len(list(path.parent.glob("*.bak"))) == (not name.startswith(f"schema-{schema.NEWEST}-"))
    with MemoryMesh(db_dir=tmp_path / "new") as mesh:  # exactly what a new write gives
        for memory in memories:
            mesh.add(memory.text, tags=list(memory.tags))
    anew = held(tmp_path / "new" / "namespaces" / "default.db", "live")
    assert sorted(held(path, "live").values()) == sorted(anew.values())


def _has_terms_of_today(name):
    """Since migration 5 a store says which analyzer wrote its terms."""
    _, migration, _, analyzer, *_ = name.split("-")
    return int(migration) >= 5 and int(analyzer) == ANALYZER


def test_a_grown_store_of_an_earlier_version_gets_the_indexes_that_came_since(tmp_path):
    path = unpacked("schema-13-analyzer-2", tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        grow(db)
        db.execute("DROP INDEX version_subject")
        db.execute("DROP INDEX version_standing")
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("I prefer tabs over spaces.")
        assert mesh.care.verify().findings == ()
        assert [line.text for line in mesh.profile()] == ["I prefer tabs over spaces."]
    with closing(sqlite3.connect(path)) as db:
        assert schema.version(db) == schema.NEWEST
        assert {"version_subject", "version_standing"} <= {
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'index'")
        }
