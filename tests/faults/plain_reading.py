"""A reader of damaged files that shares no code with the product: plain SQL, each row by itself."""

import hashlib
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.keeping_world import NAMESPACE, database

Row = tuple[object, ...]
_BEYOND = 20  # row numbers that are tried after the last one known
_ROWS = {
    "memory": "SELECT number, id, status, created, crc FROM memory WHERE number = ?",
    "text": "SELECT number, content, hash, memory, terms, echo, crc FROM text WHERE number = ?",
    "version": "SELECT memory, text, status, project, agent, session, * FROM version "
    "WHERE number = ? AND recorded_until IS NULL",
}


@dataclass(frozen=True)
class Wording:
    """Content, status and audience of a memory; the rows that say so are no part of its value."""

    content: str
    status: str
    audience: tuple[str | None, ...]
    rows: tuple[Row, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Past:
    """All that was ever true in a sound file."""

    wordings: dict[str, list[tuple[int, Wording]]]  # by id, each with the seq that it came with
    blocks: dict[str, int]  # the seq of each block, by id

    def at(self, id_: str, seq: int) -> Wording | None:
        """What a memory was after a write."""
        found = [wording for came, wording in self.wordings.get(id_, ()) if came <= seq]
        return found[-1] if found else None

    def contents(self, id_: str) -> set[str]:
        """Every content that a memory had."""
        return {wording.content for _, wording in self.wordings.get(id_, ())}


def readable(folder: Path, most: int, namespace: str = NAMESPACE) -> dict[str, Wording]:
    """Content, status and audience of each memory whose rows can all be read, by id.

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


def past(path: Path) -> Past:
    """Content, status and audience of each version of a sound file, oldest first, and blocks."""
    found: dict[str, list[tuple[int, Wording]]] = {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        for id_, seq, content, status, *audience in db.execute(
            "SELECT m.id, v.seq, t.content, v.status, v.project, v.agent, v.session FROM version v "
            "JOIN memory m ON m.number = v.memory JOIN text t ON t.number = v.text "
            "ORDER BY v.number"
        ):
            wording = Wording(content, status, tuple(audience))
            found.setdefault(id_, []).append((seq, wording))
        return Past(found, dict(db.execute("SELECT id, seq FROM block").fetchall()))


def last_seq(path: Path, known: Past) -> int:
    """The last write of a past that a file still speaks of."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        seqs = [known.blocks.get(id_, 0) for (id_,) in db.execute("SELECT id FROM block")]
        for id_, seq in db.execute(
            "SELECT m.id, v.seq FROM version v JOIN memory m ON m.number = v.memory"
        ):
            seqs += [came for came, _ in known.wordings.get(id_, ()) if came == seq]
        return max(seqs, default=0)


def highest(path: Path) -> int:
    """The largest row number of the three tables."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return max(
            db.execute(f"SELECT max(number) FROM {table}").fetchone()[0] or 0 for table in _ROWS
        )


def _joined(db: sqlite3.Connection, most: int) -> dict[str, Wording]:
    """Memories with exactly one open version, whose text is there."""
    memories = {row[0]: row for row in _rows(db, "memory", most)}
    texts = {row[0]: row for row in _rows(db, "text", most) if _is_as_stored(row)}
    found: dict[str, list[Wording]] = {}
    for row in _rows(db, "version", most):
        memory, text = memories.get(row[0]), texts.get(row[1])
        if memory is None or text is None or memory[2] != row[2]:
            continue
        try:
            id_, content, status = (_decoded(part) for part in (memory[1], text[1], row[2]))
            audience = tuple(None if part is None else _decoded(part) for part in row[3:6])
        except UnicodeDecodeError:
            continue
        wording = Wording(content, status, audience, (memory, text, row))
        found.setdefault(id_, []).append(wording)
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
