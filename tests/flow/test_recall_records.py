"""Records of searches stay small and do not pile up."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from memory_mesh.formats import yamo
from memory_mesh.sync import MemoryMesh

KILOBYTE = 1_024
STORED = (
    "SELECT length(CAST(id AS BLOB)) + length(CAST(coalesce(agent, '') AS BLOB)) + 8 "
    "+ length(CAST(memories AS BLOB)) + length(CAST(wire AS BLOB)) "
    "+ length(CAST(metadata AS BLOB)) FROM recall"
)


def sizes(folder):
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        return [size for (size,) in db.execute(STORED)]


@pytest.mark.parametrize(
    "query",
    ["tea " * 25_000, "茶" * 100_000, "tea;\n%" * 20_000, "tea", "🍵 tea" * 1_000],
    ids=["100 KB", "Chinese", "escaped", "short", "emoji"],
)
def test_a_record_of_ten_hits_is_at_most_a_kilobyte(tmp_path, query):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add_many([f"tea 茶茶 {n}" for n in range(12)])
        hits = mesh.search(query, limit=10, filter="importance IS NULL AND " * 30 + "order IS NULL")
        assert len(hits) == 10
    with MemoryMesh(db_dir=tmp_path) as mesh:
        (block,) = mesh.care.recalls()
        context = dict(yamo.parse(block.entry.wire or "").context)
        said = context["query"]
        assert block.entry.memories == tuple(hit.id for hit in hits)
    assert sizes(tmp_path)[0] <= KILOBYTE
    if len(query) <= 20:
        assert said == query
    else:
        assert said.endswith("…")
        assert query.startswith(said[:-1])
        assert 28 <= len(said) <= 200


def test_a_query_of_200_characters_is_recorded_whole_where_there_is_room(tmp_path):
    query = "tea " * 50
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("tea is hot")
        mesh.search(query)
        mesh.search(query + "x")
    with MemoryMesh(db_dir=tmp_path) as mesh:
        cut, whole = (
            dict(yamo.parse(b.entry.wire or "").context)["query"] for b in mesh.care.recalls()
        )
    assert whole == query
    assert cut == query[:199] + "…"


@pytest.mark.req("R-000-079")
def test_the_record_of_a_search_says_how_many_it_found_and_the_highest_score(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add_many(["tea and cake", "tea", "cake with cream", "coffee"])
        hits = mesh.search("tea cake")
        assert hits[0].score > hits[-1].score
    with MemoryMesh(db_dir=tmp_path) as mesh:
        (block,) = mesh.care.recalls()
    assert dict(yamo.parse(block.entry.wire or "").output) == {
        "results_found": str(len(hits)),
        "top_score": str(round(hits[0].score, 4)),
    }


def test_a_search_is_on_record_as_soon_as_records_are_read(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh, MemoryMesh(db_dir=tmp_path) as other:
        assert mesh.care.recalls() == []
        stored = str(mesh.add("tea is hot").id)
        mesh.search("tea")
        other.search("hot")
        assert [block.entry.memories for block in mesh.care.recalls()] == [(stored,)]
        assert len(other.care.recalls()) == 2
        mesh.search("tea", use_cache=False)
        assert len(mesh.care.recalls(as_owner=True)) == 3


def test_opening_many_memories_records_their_ids_once(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        ids = [str(receipt.id) for receipt in mesh.add_many([f"tea {n}" for n in range(10)])]
        mesh.get_many(ids)
        (block,) = mesh.care.recalls()
        assert block.entry.memories == tuple(ids)
    assert sizes(tmp_path)[0] <= KILOBYTE


def test_upkeep_deletes_records_older_than_90_days(mesh, clock):
    stored = mesh.add("tea is hot")
    for _ in range(300):
        mesh.search("tea", use_cache=False)
    mesh.get(stored.id)
    clock.advance(timedelta(days=89))
    assert mesh.care.upkeep().recalls_pruned == 0
    clock.advance(timedelta(days=2))
    assert mesh.care.upkeep().recalls_pruned == 301
    assert mesh.care.recalls() == []
    assert mesh.care.verify().ok


def test_the_writer_of_new_records_deletes_old_ones_in_small_slices(mesh, clock):
    stored = mesh.add("tea is hot")
    for _ in range(320):
        mesh.search("tea")
    mesh.get(stored.id)
    flush = mesh._opened().ledger.flush
    flush("default")
    assert mesh.stats().recalls == 321
    clock.advance(timedelta(days=91))
    mesh.get(stored.id)
    flush("default")
    assert mesh.stats().recalls == 322 - 128
    mesh.add("cake is sweet")  # brings no record, and deletes none
    assert mesh.stats().recalls == 322 - 128
    mesh.search("tea")
    mesh.add("cake is sour")
    assert mesh.stats().recalls == 323 - 256


@pytest.mark.parametrize(("days", "left"), [(0, 2), (7, 1)])
def test_how_long_records_are_kept_is_a_setting(tmp_path, clock, days, left):
    with MemoryMesh(db_dir=tmp_path, clock=clock, settings={"recall_days": days}) as mesh:
        stored = str(mesh.add("tea is hot").id)
        mesh.get(stored)
        clock.advance(timedelta(days=8))
        mesh.get(stored)
        mesh.care.upkeep()
        assert len(mesh.care.recalls()) == left
