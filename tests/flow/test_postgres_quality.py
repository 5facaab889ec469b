"""Both ledgers give the same answers: by words, by meaning, and the whole search.

The conversations are not ours to ship: they are asked where MEMORY_MESH_EVAL_DATA says they lie.
`python -m bench.postgres --parts quality` asks 500 questions of all of them.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from bench import corpus, memories, postgres_quality as quality
from bench.postgres_stores import on_postgres, on_sqlite
from memory_mesh.evaluation import load_records, records
from memory_mesh.model import Lens, Scope, Status
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

MADE, OVERLAP = 300, 0.99
CONVERSATION, TURNS, QUESTIONS = "conv-30", 200, 25


@pytest.fixture
def both(tmp_path: Path, database: str) -> Iterator[tuple[MemoryMesh, MemoryMesh]]:
    """A mesh on SQLite and one on PostgreSQL, both empty."""
    with ExitStack() as stack:
        clock = FrozenClock()
        yield (
            stack.enter_context(on_sqlite(tmp_path / "files", clock=clock)),
            stack.enter_context(on_postgres(database, tmp_path / "keys", clock=clock)),
        )


def lenses() -> list[Lens]:
    """What readers may see: everything, a little, what is no longer in use, an earlier moment."""
    now = FrozenClock().now()
    everywhere = frozenset(quality.ACROSS)
    return [
        Lens(now, across=everywhere),
        Lens(now, Scope(memories.ONE_PERCENT), frozenset({"session"})),
        Lens(now, across=everywhere, statuses=frozenset(Status)),
        Lens(now, across=everywhere, as_of=now + timedelta(microseconds=100)),
    ]


def ask(
    both: tuple[MemoryMesh, MemoryMesh], questions: Sequence[str], lens: Lens, *, whole: bool = True
) -> None:
    found = quality.compare(*both, questions, memories.Made(), lens, whole=whole)
    assert found.different == []
    assert found.same_by_words == len(questions)
    assert found.same_hybrid == (len(questions) if whole else 0)
    assert found.largest_difference <= quality.CLOSE
    assert found.overlap >= OVERLAP


def test_made_memories_are_found_alike_through_every_lens(both):
    items = list(memories.items(0, MADE))
    for mesh in both:
        receipts = mesh.add_many(items)
        for item, receipt in list(zip(items, receipts, strict=True))[::10]:
            mesh.delete(receipt.id, scope=item["scope"])
    asked = [*corpus.queries()[:6], *memories.rare_questions(4, MADE), "databse eror"]
    for place, lens in enumerate(lenses()):
        ask(both, asked, lens, whole=place == 0)


def test_a_conversation_is_found_alike(both):
    folder = Path(os.environ.get("MEMORY_MESH_EVAL_DATA", "")) / "locomo"
    if not folder.is_dir():
        pytest.skip("LoCoMo is not here: set MEMORY_MESH_EVAL_DATA")
    data = records.read(folder)
    turns = [each for _, listed in data.tenants([CONVERSATION]) for each in listed]
    for mesh in both:
        load_records.store(mesh, turns[:TURNS])
    asked = [each.text for each in data.questions if each.tenant == CONVERSATION]
    ask(both, asked[:QUESTIONS], lenses()[0])
