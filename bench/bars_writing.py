"""Bars of writing: one add and a batch beside bare SQL of the same rows, a new user, a get."""

import shutil
import sqlite3
from collections.abc import Sequence
from functools import partial
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
_USERS = 60  # fewer than the files that stay open
_BARE_GET = (
    "SELECT * FROM memory m JOIN version v ON v.memory = m.number "
    "JOIN text t ON t.number = v.text WHERE m.id = ? AND v.recorded_until IS NULL"
)
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


def hybrid_add(bench: "Bench", size: int) -> Sides:
    """One memory with its vector, the vector at hand, in milliseconds."""
    items, times = list(memories.items(size, size + _ADDS)), measure.Times()
    folder = prepared.scratch(bench.work, prepared.plain(bench.work, size), "ours")
    with prepared.opened(folder) as mesh:
        for item in items:
            times.take(partial(put, mesh, item))
    return measure.milliseconds(times)


def hybrid_add_many(bench: "Bench", size: int) -> Sides:
    """Batches of memories with vectors, in milliseconds for each memory."""
    items, times = list(memories.items(size, size + _BATCHES * _BATCH)), measure.Times()
    folder = prepared.scratch(bench.work, prepared.plain(bench.work, size), "ours")
    with prepared.opened(folder) as mesh:
        for at in range(0, len(items), _BATCH):
            times.take(partial(mesh.add_many, items[at : at + _BATCH]))
    return measure.milliseconds(times, {"memories_in_a_batch": _BATCH}, each=_BATCH)


def first_memory(bench: "Bench", users: int = _USERS) -> Sides:
    """The first memory of a user who is new to the store, in milliseconds."""
    folder, times = bench.work / "scratch-users", measure.Times()
    shutil.rmtree(folder, ignore_errors=True)
    with prepared.keyword_mesh(folder) as mesh:
        mesh.for_user("zero").add("The user prefers tea")
        for user in [mesh.for_user(f"user-{number}") for number in range(users)]:
            times.take(partial(user.add, "The user prefers green tea with honey"))
    files = [path for path in (folder / "namespaces").rglob("*") if path.is_file()]
    kept = sum(path.stat().st_size for path in files) / (users + 1)
    figures: measure.Figures = {
        "kilobytes": measure.rounded(kept / 1024),
        "files": len(files) / (users + 1),
    }
    return measure.milliseconds(times, figures)


def get(bench: "Bench", size: int) -> Sides:
    """One memory by its id, beside the statement that reads its rows."""
    folder = prepared.scratch(bench.work, prepared.plain(bench.work, size), "ours")
    db = sqlite3.connect(prepared.file_of(folder))
    with prepared.opened(folder) as mesh:
        ids = [memory.id for memory in mesh.get_all()]
        found = measure.alternate(
            _ADDS,
            lambda number: mesh.get(ids[number % len(ids)]),
            lambda number: db.execute(_BARE_GET, (ids[number % len(ids)],)).fetchone(),
        )
    db.close()
    return Sides(*found)


def keyword_base(work: Path) -> Path:
    """A store of a thousand memories without vectors."""
    return prepared.keyword_only(work, _BASE)


def put(mesh: MemoryMesh, item: dict[str, Any]) -> object:
    """One item of the mixture by `add`."""
    rest = {name: value for name, value in item.items() if name not in {"content", "metadata"}}
    return mesh.add(item["content"], item["metadata"], **rest)


def _bare_file(work: Path, base: Path, name: str) -> sqlite3.Connection:
    return bare_rows.connect(prepared.file_of(prepared.scratch(work, base, name)))
