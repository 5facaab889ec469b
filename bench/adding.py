"""One `add` beside a bare commit of the same rows, and the disk syncs it waits for.

The bare side is hand-written SQL: the rows that `add` made of the same texts, read back beforehand,
go into a file of the same schema, one transaction each, WAL and synchronous=FULL.
"""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from bench import corpus, measure, stores
from bench.measure import Figures, say

BASE = 1_000  # memories there before the first measured one
_TRACED = 500  # adds under strace
Row: TypeAlias = tuple[object, ...]

_ROWS = {
    "memory": "SELECT * FROM memory WHERE number = ?",
    "text": "SELECT * FROM text WHERE number = ?",
    "live": "SELECT number, terms FROM text WHERE number = ?",
    "version": "SELECT * FROM version WHERE number = ?",
    "observation": "SELECT * FROM observation WHERE number = ?",
    "block": "SELECT * FROM block WHERE position = ?",
}


def against_bare(work: Path, adds: int) -> Figures:
    """The bar: a keyword-only add costs at most twice the bare commit."""
    texts = list(corpus.texts(BASE, BASE + adds))
    ours, bare, source = (fresh(work, name) for name in ("ours", "bare", "source"))
    with stores.keyword_mesh(source) as mesh:
        for text in texts:
            mesh.add(text)
    rows = list(written(stores.file_of(source), adds))
    db = sqlite3.connect(stores.file_of(bare), isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    with stores.keyword_mesh(ours) as mesh:
        added, committed = measure.alternate(
            adds, lambda number: mesh.add(texts[number]), lambda number: commit(db, rows[number])
        )
    db.close()
    return {
        "add_p50_ms": measure.median_ms(added.wall),
        "add_p99_ms": measure.percentile_ms(added.wall, 0.99),
        "bare_p50_ms": measure.median_ms(committed.wall),
        "bare_p99_ms": measure.percentile_ms(committed.wall, 0.99),
        "add_over_bare": measure.ratio_of_medians(added.wall, committed.wall),
        "add_cpu_p50_ms": measure.median_ms(added.cpu),
        "bare_cpu_p50_ms": measure.median_ms(committed.cpu),
        "add_cpu_over_bare": measure.ratio_of_medians(added.cpu, committed.cpu),
    }


def syncs(work: Path) -> Figures:
    """How often an add waits for the disk, checkpoints included; opening and closing are not."""
    if shutil.which("strace") is None:
        say("  strace is missing: syncs not counted")
        return {"syncs_per_add": None}
    none, many = (_traced(fresh(work, f"traced-{count}"), count) for count in (0, _TRACED))
    return {"syncs_per_add": measure.rounded((many - none) / _TRACED)}


def fresh(work: Path, name: str) -> Path:
    """A copy of one and the same beginning."""
    base = work / "add-base"
    stores.loaded(base, BASE)
    folder = work / f"add-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, folder)
    return folder


def written(path: Path, adds: int) -> Iterator[list[Row]]:
    """What the last adds wrote, add by add, one row for each of _ROWS."""
    db = sqlite3.connect(path)
    last = db.execute("SELECT count(*) FROM memory").fetchone()[0]
    for number in range(last - adds + 1, last + 1):
        yield [db.execute(statement, (number,)).fetchone() for statement in _ROWS.values()]
    db.close()


def commit(db: sqlite3.Connection, rows: Sequence[Row], vector: Row | None = None) -> None:
    """One add by hand, with a vector or without."""
    block = rows[-1]
    db.execute("BEGIN IMMEDIATE")
    for table, row in zip(_ROWS, rows, strict=True):
        _insert(db, "live (rowid, terms)" if table == "live" else table, row)
    if vector is not None:
        _insert(db, "vector", vector)
    db.execute(
        "UPDATE store SET seq = ?, recorded = ?, position = ?, head = ?",
        (block[2], block[5], block[0], block[13]),
    )
    db.execute("COMMIT")


def _insert(db: sqlite3.Connection, table: str, row: Row) -> None:
    """A whole row, however many columns the schema has by now."""
    db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def _traced(folder: Path, adds: int) -> int:
    """The syncs of a process that adds so many memories and closes."""
    report = folder / "syncs.txt"
    worker = [sys.executable, "-m", "bench.worker", str(folder), "default", str(BASE), str(adds)]
    trace = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", str(report)]
    subprocess.run([*trace, *worker], input="go\n", text=True, check=True, capture_output=True)
    lines = [line.split() for line in report.read_text(encoding="utf-8").splitlines()]
    return sum(int(line[3]) for line in lines if line and line[-1] in {"fsync", "fdatasync"})
