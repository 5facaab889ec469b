"""When the index takes the tail in, and when it is made anew."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.learn.upkeep import worn, worth_an_index
from memory_mesh.model import Body, Space, SpaceState
from memory_mesh.sync import MemoryMesh
from tests.faults.meaning import Hashed

SPACE = Space("p", "m", "1", 384, 256)


def state(vectors: int, tail: int, rows: int | None = None) -> SpaceState:
    body = None if rows is None else Body(1, 10**9, rows)
    return SpaceState(SPACE, vectors, 0, body, tail)


@pytest.mark.parametrize(
    ("tail", "rows", "worth"),
    [
        (50_000, None, False),
        (50_001, None, True),
        (50_000, 60_000, False),
        (50_001, 60_000, True),
        (50_000, 1_000_000, False),
        (50_001, 1_000_000, True),
        (99_000, 2_000_000, False),
        (101_000, 2_000_000, True),
    ],
)
def test_a_tail_is_taken_in_when_its_scan_costs_more_than_the_index(tail, rows, worth):
    assert worth_an_index(state(tail + (rows or 0), tail, rows)) == worth


def test_dead_rows_in_the_index_do_not_hide_how_long_the_tail_is():
    assert worth_an_index(state(vectors=120_000, tail=60_000, rows=100_000))


@pytest.mark.parametrize(("dead", "is_worn"), [(0, False), (10_000, False), (10_001, True)])
def test_an_index_with_many_dead_rows_is_worn(dead, is_worn):
    assert worn(state(vectors=100_000 - dead + 7, tail=7, rows=100_000)) == is_worn
    assert not worn(state(vectors=7, tail=7))


def test_upkeep_makes_a_worn_index_anew_and_leaves_another_as_it_is(tmp_path):
    """A vector that changes its audience gets a new number: the old one is dead in the index."""
    with MemoryMesh(db_dir=tmp_path, custom_embedder=Hashed()) as mesh:
        mesh.add_many([f"the lamp number {number} burns in hall {number}" for number in range(300)])
        (body,) = mesh.care.rebuild_index()
        assert (body.highest, body.rows) == (300, 300)
        moved = move_vectors(tmp_path, 30)
        (space,) = mesh.stats().spaces
        assert (space.body, space.vectors, space.tail) == (body, 300, 30)
        assert mesh.care.upkeep().bodies == ()
        moved |= move_vectors(tmp_path, 31)
        (anew,) = mesh.care.upkeep().bodies
        index = mesh._opened().index()
        assert index is not None
        assert sorted(index.numbers("default", space.space.name, anew)) == sorted(
            (set(range(1, 301)) - moved) | set(range(301, 301 + len(moved)))
        )
        assert mesh.stats().spaces[0].body == anew
        assert mesh.care.upkeep().bodies == ()


def move_vectors(folder: Path, last: int) -> set[int]:
    """Give the vectors up to this number new ones, as a change of audience does."""
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        old = db.execute("SELECT number FROM vector WHERE number <= ?", (last,)).fetchall()
        for (number,) in old:
            (highest,) = db.execute("SELECT max(number) FROM vector").fetchone()
            db.execute("UPDATE vector SET number = ? WHERE number = ?", (highest + 1, number))
        db.commit()
    return {number for (number,) in old}
