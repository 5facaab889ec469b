"""What `verify` finds in vector files: each row against its checksum and the ledger's vector."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import vector_file
from memory_mesh.engines.ledgers.sqlite.vector_file import Header, Unusable
from memory_mesh.model import Finding
from memory_mesh.process import extras

NAME = "vector files"
_AT_ONCE = 4_096  # rows
_REBUILD = "searches may miss a memory by meaning; run `memory-mesh repair`"


def check(db: sqlite3.Connection, checked: Counter[str]) -> Iterator[Finding]:
    """Compares every file beside the database; one that another search will make anew is passed.

    Without numpy no search here reads these files, and they are passed too.
    """
    if not extras.is_installed("numpy"):
        return
    database: Path | None = getattr(db, "path", None)
    for path in vector_file.files(database) if database is not None else ():
        file = vector_file.opened(path)
        if file is None:
            continue
        with file:
            header = vector_file.header_of(file)
            if header is None:
                yield Finding(NAME, f"{path.name} is cut, or its first line is damaged; {_REBUILD}")
            elif database is not None and _is_own(db, database, header):
                try:
                    yield from _rows(db, file, header, path.name, checked)
                except Unusable:
                    yield Finding(NAME, f"{path.name} ends before its last row; {_REBUILD}")


def _is_own(db: sqlite3.Connection, database: Path, header: Header) -> bool:
    from memory_mesh.engines.ledgers.sqlite.file_scan import Source, belief

    found = db.execute(
        "SELECT dimension, (SELECT max(number) FROM vector) FROM space WHERE number = ?",
        (header.space,),
    ).fetchone()
    if found is None or found[1] is None:
        return False
    return belief(Source(db, database, header.space, *found), header) is True


def _rows(
    db: sqlite3.Connection, file: FileIO, header: Header, name: str, checked: Counter[str]
) -> Iterator[Finding]:
    size, before, held = vector_file.size_of(header.dimension), 0, 0
    for first in range(0, header.rows, _AT_ONCE):
        count = min(_AT_ONCE, header.rows - first)
        data = vector_file.read_rows(file, header, first, count)
        there = [data[start : start + size] for start in range(0, len(data), size)]
        checked[NAME] += count
        damaged = [row for row, each in enumerate(there, first) if not vector_file.is_sound(each)]
        yield from (Finding(NAME, f"row {row} of {name} is damaged; {_REBUILD}") for row in damaged)
        if damaged:
            return
        last = vector_file.number_of(there[-1])
        ledger = _of_ledger(db, header, before, last)
        held += len(ledger)
        for row in there:
            number = vector_file.number_of(row)
            if not vector_file.same(
                row, ledger.get(number, vector_file.erased(number, header.dimension))
            ):
                yield Finding(
                    NAME, f"vector {number} in {name} is not that of the ledger; {_REBUILD}"
                )
        before = last
    (wanted,) = db.execute(
        "SELECT count(*) FROM vector WHERE space = ? AND number <= ?", (header.space, header.upto)
    ).fetchone()
    if wanted != held:
        yield Finding(NAME, f"{name} lacks vectors of the ledger; {_REBUILD}")


def _of_ledger(db: sqlite3.Connection, header: Header, after: int, last: int) -> dict[int, bytes]:
    """Rows as they should be, by number."""
    import numpy as np

    found = db.execute(
        "SELECT number, data FROM vector WHERE number > ? AND number <= ? AND space = ? "
        "ORDER BY number",
        (after, last, header.space),
    ).fetchall()
    if not found:
        return {}
    numbers = np.fromiter((row[0] for row in found), np.int64, len(found))
    block = np.frombuffer(b"".join(row[1] for row in found), np.float32)
    size = vector_file.size_of(header.dimension)
    rows = vector_file.packed(numbers, block.reshape(len(found), header.dimension))
    return {
        number: rows[place * size : (place + 1) * size]
        for place, number in enumerate(numbers.tolist())
    }
