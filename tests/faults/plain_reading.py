"""A reader of damaged files that shares no code with the product: plain SQL, each row by itself."""

import hashlib
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from tests.faults.keeping_world import NAMESPACE, database

Row = tuple[object, ...]
Wording = tuple[str, str]  # content and status
_BEYOND = 20  # row numbers that are tried after the last one known
_ROWS = {
    "memory": "SELECT number, id, status FROM memory WHERE number = ?",
    "text": "SELECT number, content, hash FROM text WHERE number = ?",
    "version": "SELECT memory, text, status FROM version "
    "WHERE number = ? AND recorded_until IS NULL",
}


def readable(folder: Path, most: int, namespace: str = NAMESPACE) -> dict[str, Wording]:
    """Content and status of each memory whose rows can all be read, by id.

    The file is copied with its log, so that nothing that SQLite mends reaches the original.
    """
    source = database(folder, namespace)
    if not source.exists():
        return {}
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / source.name
        shutil.copyfile(source, copy)
        log = source.with_name(f"{source.name}-wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name(log.name))
        try:
            with closing(sqlite3.connect(copy, isolation_level=None)) as db:
                db.text_factory = bytes
                db.execute("PRAGMA ignore_check_constraints = ON")
                return _joined(db, most + _BEYOND)
        except sqlite3.Error:
            return {}


def wordings(path: Path) -> dict[str, list[Wording]]:
    """Every content and status that memories of a sound file had together, oldest first, by id."""
    found: dict[str, list[Wording]] = {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        for id_, content, status in db.execute(
            "SELECT m.id, t.content, v.status FROM version v "
            "JOIN memory m ON m.number = v.memory JOIN text t ON t.number = v.text "
            "ORDER BY v.number"
        ):
            found.setdefault(id_, []).append((content, status))
    return found


def highest(path: Path) -> int:
    """The largest row number of the three tables."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return max(
            db.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0 for table in _ROWS
        )


def _joined(db: sqlite3.Connection, most: int) -> dict[str, Wording]:
    """Memories with exactly one open version, whose text is there."""
    memories = {row[0]: row[1:] for row in _rows(db, "memory", most)}
    texts = {row[0]: row[1] for row in _rows(db, "text", most) if _is_as_stored(row)}
    found: dict[str, list[Wording]] = {}
    for memory, text, status in _rows(db, "version", most):
        if memory in memories and text in texts and memories[memory][1] == status:
            try:
                id_, content, said = (
                    _decoded(part) for part in (memories[memory][0], texts[text], status)
                )
            except UnicodeDecodeError:
                continue
            found.setdefault(id_, []).append((content, said))
    return {id_: wording[0] for id_, wording in found.items() if len(wording) == 1}


def _rows(db: sqlite3.Connection, table: str, most: int) -> list[Row]:
    """Each row that can be read, looked for by its number."""
    found = list[Row]()
    for number in range(1, most + 1):
        try:
            row = db.execute(_ROWS[table], (number,)).fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            continue
        if row is not None:
            found.append(row)
    return found


def _is_as_stored(row: Row) -> bool:
    """Whether a text's hash says that it is what was stored."""
    content = row[1] if isinstance(row[1], bytes) else str(row[1]).encode()
    return hashlib.sha256(content).digest() == row[2]


def _decoded(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
