"""Bars of writing by keyword alone: one add and a batch, beside bare SQL of the same rows."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import bare_rows, measure, memories, prepared
from bench.measure import Sides
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from bench.bars import Bench

_BASE = 1_000  # memories there before the first measured one
_ADDS = 400
_BATCH = 256  # one transaction of `add_many`
_BATCHES = 12
Items = Sequence[dict[str, Any]]


def add(bench: "Bench", adds: int = _ADDS) -> Sides:
    """One memory in a transaction of its own, beside its rows and beside its text alone."""
    items = list(memories.items(_BASE, _BASE + adds))
    base = keyword_base(bench.work)
    with prepared.keyword_mesh(prepared.scratch(bench.work, base, "source")) as mesh:
        steps = [lambda item=item: put(mesh, item) for item in items]
        rows = bare_rows.written_by(prepared.file_of(bench.work / "scratch-source"), steps)
    same, alone = (_bare_file(bench.work, base, name) for name in ("rows", "text"))
    texts = [bare_rows.text_alone(statements) for statements in rows]
    with prepared.keyword_mesh(prepared.scratch(bench.work, base, "ours")) as mesh:
        ours, bare, text = measure.in_turns(
            len(items),
            lambda number: put(mesh, items[number]),
            lambda number: bare_rows.write(same, rows[number]),
            lambda number: bare_rows.write(alone, texts[number]),
        )
    same.close()
    alone.close()
    figures: measure.Figures = {
        "cpu_over_text_and_keywords_alone": measure.ratio_of_medians(ours.cpu, text.cpu),
        "wall_over_text_and_keywords_alone": measure.ratio_of_medians(ours.wall, text.wall),
    }
    return Sides(ours, bare, figures)


def add_many(bench: "Bench", batches: int = _BATCHES) -> Sides:
    """Batches of one transaction, beside one `executemany` a table with the same rows."""
    items = list(memories.items(_BASE, _BASE + batches * _BATCH))
    groups = [items[at : at + _BATCH] for at in range(0, len(items), _BATCH)]
    base = keyword_base(bench.work)
    with prepared.keyword_mesh(prepared.scratch(bench.work, base, "source")) as mesh:
        steps = [lambda group=group: mesh.add_many(group) for group in groups]
        rows = bare_rows.written_by(prepared.file_of(bench.work / "scratch-source"), steps)
    db = _bare_file(bench.work, base, "rows")
    with prepared.keyword_mesh(prepared.scratch(bench.work, base, "ours")) as mesh:
        ours, bare = measure.alternate(
            len(groups),
            lambda number: mesh.add_many(groups[number]),
            lambda number: bare_rows.write(db, rows[number]),
        )
    db.close()
    return Sides(ours, bare, {"memories_in_a_batch": _BATCH})


def keyword_base(work: Path) -> Path:
    """A store of a thousand memories without vectors."""
    return prepared.keyword_only(work, _BASE)


def put(mesh: MemoryMesh, item: dict[str, Any]) -> object:
    """One item of the mixture by `add`."""
    rest = {name: value for name, value in item.items() if name not in {"content", "metadata"}}
    return mesh.add(item["content"], item["metadata"], **rest)


def _bare_file(work: Path, base: Path, name: str) -> sqlite3.Connection:
    return bare_rows.connect(prepared.file_of(prepared.scratch(work, base, name)))
