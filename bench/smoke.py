"""A quick guard for CI: counts that cannot flicker, then ratios to bare SQLite; 10 to 20 CPU-s.

    python -m bench.smoke             compare with bench/smoke.json; 1 if something became dearer
    python -m bench.smoke --record    write bench/smoke.json anew, after a change that is meant

Counts (statements of a search, a get and an add, calls of the last two and of a session's start,
bytes that an add writes) may grow by a tenth, ratios of
processor time by a quarter. A ratio is the smallest of several rounds with both sides in turns, for
a busy machine mostly adds to it; one above its bound is measured again, up to three times in all,
before it fails. The recorded ratio is the largest of several recordings.
"""

import argparse
import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import bare_rows, bars_writing, corpus, measure, memories, prepared, report
from bench.measure import say
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh
from memory_mesh.text import analyzer

RECORD = Path(__file__).with_name("smoke.json")
MEMORIES = 2_000
COUNTS_MAY_GROW, RATIOS_MAY_GROW = 1.10, 1.25
_TRIES = 3  # measurements of a ratio before it fails
_RECORDINGS = 3
_ROUNDS = 4
_QUESTIONS, _ADDS, _BATCH = 10, 20, 64
_IO = Path("/proc/self/io")
_FTS = (
    "SELECT t.content FROM live JOIN text t ON t.number = live.rowid "
    "WHERE live MATCH ? ORDER BY rank LIMIT 10"
)
_ALL = {"across": prepared.EVERYTHING}
_READER = Scope(memories.ONE_PERCENT)
_SCOPED = {"scope": _READER, "across": ("session",)}
Calls = tuple[int, Callable[[int], object], Callable[[int], object]]
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Setting:
    """A work folder with a store of words, and one of words and vectors."""

    work: Path
    hybrid: Path

    def copy(self, name: str) -> Path:
        """A fresh copy of the store, to write to."""
        return prepared.scratch(self.work, self.hybrid, name)


def main(arguments: list[str] | None = None) -> int:
    """Measure, then compare or record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="write bench/smoke.json anew")
    parser.add_argument("--file", type=Path, default=RECORD, help="the file to use instead")
    options = parser.parse_args(arguments)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # spinning threads would be counted
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(Path(folder), prepared.plain(Path(folder), MEMORIES))
        if options.record:
            return _record(setting, options.file)
        recorded = json.loads(options.file.read_text(encoding="utf-8"))
        return _compare(setting, recorded)


def counts(setting: Setting) -> Figures:
    """What is the same in every run: statements, and bytes written."""
    found: Figures = {}
    with _counting() as statements:
        with prepared.keyword_mesh(setting.hybrid) as mesh:
            found["statements_of_a_keyword_search"] = _statements(statements, _asking(mesh, _ALL))
        with prepared.opened(setting.hybrid) as mesh:
            found["statements_of_a_hybrid_search"] = _statements(statements, _asking(mesh, _ALL))
            found["statements_of_a_scoped_search"] = _statements(statements, _asking(mesh, _SCOPED))
            found["calls_of_a_session_start"] = _calls(
                lambda _: mesh.context(None, max_tokens=800, across=prepared.EVERYTHING)
            )
            ids = [memory.id for memory in mesh.get_all(limit=_QUESTIONS, scope=_READER)]

            def get(number: int) -> object:
                return mesh.get(ids[number % len(ids)], scope=_READER)

            found["calls_of_a_get"] = _calls(get)
            found["statements_of_a_get"] = _statements(statements, get)
        items = list(memories.items(MEMORIES, MEMORIES + 100))
        with prepared.keyword_mesh(setting.copy("counted")) as mesh:
            bars_writing.put(mesh, items[0])
            before, statements[0] = _bytes_written(), 0
            for item in items[1:]:
                bars_writing.put(mesh, item)
            found["statements_of_an_add"] = round(statements[0] / len(items[1:]), 2)
            if before is not None:
                written = (_bytes_written() or 0) - before
                found["kilobytes_of_an_add"] = round(written / len(items[1:]) / 1024, 1)
            more = list(memories.items(MEMORIES + 100, MEMORIES + 100 + _QUESTIONS))
            found["calls_of_an_add"] = _calls(lambda number: bars_writing.put(mesh, more[number]))
    return found


def ratios(setting: Setting, names: set[str] | None = None) -> Figures:
    """The smallest ratio of the rounds, for those named or for all."""
    found: Figures = {}
    for name, sides in _SIDES.items():
        if names is None or name in names:
            with sides(setting) as (rounds, over, under):
                found[name] = min(_round(rounds, over, under, turn) for turn in range(_ROUNDS))
    return found


def exceeded(now: Mapping[str, float], recorded: Mapping[str, float], growth: float) -> set[str]:
    """The figures above what was recorded and may be added to it."""
    return {name for name, value in now.items() if value > recorded.get(name, value) * growth}


def _compare(setting: Setting, recorded: Mapping[str, Any]) -> int:
    counted = counts(setting)
    too_many = exceeded(counted, recorded["counts"], COUNTS_MAY_GROW)
    measured = ratios(setting)
    for again in range(1, _TRIES):
        too_dear = exceeded(measured, recorded["ratios"], RATIOS_MAY_GROW)
        if not too_dear:
            break
        say(f"measuring again ({again}): {', '.join(sorted(too_dear))}")
        once_more = ratios(setting, too_dear)
        measured |= {name: min(measured[name], value) for name, value in once_more.items()}
    too_dear = exceeded(measured, recorded["ratios"], RATIOS_MAY_GROW)
    _show(counted, recorded["counts"], too_many)
    _show(measured, recorded["ratios"], too_dear)
    if too_many or too_dear:
        print(
            "dearer than recorded: look at `python -m bench.run --stages`, or record the new "
            "cost if it is meant (just smoke --record) and say why in the commit"
        )
    return 1 if too_many or too_dear else 0


def _record(setting: Setting, file: Path) -> int:
    every = [ratios(setting) for _ in range(_RECORDINGS)]
    highest = {name: max(each[name] for each in every) for name in every[0]}
    content = {**report.stamp(), "counts": counts(setting), "ratios": highest}
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    _show(content["counts"], content["counts"], set())  # type: ignore[arg-type]
    _show(highest, highest, set())
    return 0


def _round(
    rounds: int, over: Callable[[int], object], under: Callable[[int], object], turn: int
) -> float:
    one, two = measure.alternate(
        rounds,
        lambda number: over(turn * rounds + number),
        lambda number: under(turn * rounds + number),
    )
    return measure.rounded(sum(one.cpu) / sum(two.cpu))


@contextmanager
def _adds(setting: Setting) -> Iterator[Calls]:
    """One add beside its rows."""
    items = list(memories.items(MEMORIES, MEMORIES + _ROUNDS * _ADDS))
    with _beside_rows(setting, [[item] for item in items]) as (mesh, write):
        yield _ADDS, lambda number: bars_writing.put(mesh, items[number]), write


@contextmanager
def _batches(setting: Setting) -> Iterator[Calls]:
    """A batch beside its rows."""
    items = list(memories.items(MEMORIES, MEMORIES + _ROUNDS * _BATCH))
    groups = [items[at : at + _BATCH] for at in range(0, len(items), _BATCH)]
    with _beside_rows(setting, groups) as (mesh, write):
        yield 1, lambda number: mesh.add_many(groups[number]), write


@contextmanager
def _beside_rows(
    setting: Setting, groups: list[list[dict[str, Any]]]
) -> Iterator[tuple[MemoryMesh, Callable[[int], object]]]:
    source = setting.copy("source")
    with prepared.keyword_mesh(source) as mesh:
        steps = [lambda group=group: mesh.add_many(group) for group in groups]
        rows = bare_rows.written_by(prepared.file_of(source), steps)
    db = bare_rows.connect(prepared.file_of(setting.copy("bare")))
    with prepared.keyword_mesh(setting.copy("ours")) as mesh:
        yield mesh, lambda number: bare_rows.write(db, rows[number])
    db.close()


@contextmanager
def _keyword(setting: Setting) -> Iterator[Calls]:
    """A search by words beside the FTS5 statement."""
    db = sqlite3.connect(prepared.file_of(setting.hybrid))
    with prepared.keyword_mesh(setting.hybrid) as mesh:
        yield _QUESTIONS, _asking(mesh, _ALL), lambda number: _fts5(db, number)
    db.close()


@contextmanager
def _hybrid(setting: Setting) -> Iterator[Calls]:
    """A search by words and vectors beside the FTS5 statement and a matrix product."""
    import numpy as np

    db = sqlite3.connect(prepared.file_of(setting.hybrid))
    data = b"".join(row[0] for row in db.execute("SELECT data FROM vector ORDER BY number"))
    matrix = np.frombuffer(data, np.float32).reshape(-1, memories.DIMENSION)

    def by_hand(number: int) -> None:
        _fts5(db, number)
        np.argpartition(matrix @ memories.vectors([_question(number)])[0], -100)[-100:]

    with prepared.opened(setting.hybrid) as mesh:
        yield _QUESTIONS, _asking(mesh, _ALL), by_hand
    db.close()


@contextmanager
def _scoped(setting: Setting) -> Iterator[Calls]:
    """A reader who sees 1 % beside one who sees all."""
    with prepared.opened(setting.hybrid) as mesh:
        yield _QUESTIONS, _asking(mesh, _SCOPED), _asking(mesh, _ALL)


_SIDES = {
    "add_over_bare": _adds,
    "add_many_over_bare": _batches,
    "keyword_search_over_fts5": _keyword,
    "hybrid_search_over_parts": _hybrid,
    "scoped_search_over_all": _scoped,
}


def _asking(mesh: MemoryMesh, reader: Mapping[str, Any]) -> Callable[[int], object]:
    def ask(number: int) -> object:
        return mesh.search(_question(number), use_cache=False, **reader)

    for number in range(3):
        ask(number)  # opens the file and loads what a search needs
    return ask


def _question(number: int) -> str:
    return corpus.queries()[number % _QUESTIONS]


def _fts5(db: sqlite3.Connection, number: int) -> object:
    terms = " OR ".join(f'"{term}"' for term in analyzer.query_terms(_question(number)))
    return db.execute(_FTS, (terms,)).fetchall()


@contextmanager
def _counting() -> Iterator[list[int]]:
    """A counter of the statements of every connection opened inside, nested ones left out."""
    counted, connect = [0], sqlite3.connect

    def count(statement: str) -> None:
        counted[0] += not statement.startswith("--")

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:  # noqa: ANN401
        db: sqlite3.Connection = connect(*given, **named)
        db.set_trace_callback(count)
        return db

    sqlite3.connect = traced  # type: ignore[assignment]
    try:
        yield counted
    finally:
        sqlite3.connect = connect


def _statements(counter: list[int], ask: Callable[[int], object]) -> float:
    counter[0] = 0
    for number in range(_QUESTIONS):
        ask(number)
    return round(counter[0] / _QUESTIONS, 2)


def _calls(ask: Callable[[int], object]) -> float:
    """The calls of Python and C functions that one question makes, on average."""
    counted = 0

    def count(_frame: object, event: str, _of: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        for number in range(_QUESTIONS):
            ask(number)
    finally:
        sys.setprofile(None)
    return round(counted / _QUESTIONS, 1)


def _bytes_written() -> int | None:
    """What this process has handed to write calls; None where the system does not say."""
    if not _IO.exists():
        return None
    lines = _IO.read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])


def _show(now: Mapping[str, float], recorded: Mapping[str, float], failed: set[str]) -> None:
    for name, value in now.items():
        state = "TOO HIGH" if name in failed else "good"
        say(f"  {name}: {value:g}, recorded {recorded.get(name, float('nan')):g}, {state}")


if __name__ == "__main__":
    sys.exit(main())
