"""Checksums of rows: written with the row, compared by `verify`.

A row's `crc` is the CRC-32 of a JSON array of its values, in the order of CHECKED. Bytes stand in
it as their own CRC-32. Row numbers are left out: SQLite gives them, and other rows name them.
Counters that a read or a vote moves (`uses`, `helpful`, `origins` …) are left out too.
"""

import json
import sqlite3
import zlib
from collections.abc import Sequence

_FORM = json.JSONEncoder(separators=(",", ":"), default=zlib.crc32)  # ASCII in every Python
_SIGN, _RANGE = 2**31, 2**32
CHECKED = {
    "memory": "id, created, status",
    "text": "memory, content, hash, terms, echo",
    "version": (
        "memory, text, seq, recorded_from, recorded_until, status, successor, kind, label, "
        "project, agent, session, ord, speaker, role, occurred_at, valid_from, valid_until, "
        "source_kind, channel, source_agent, source_ref, importance, confidence, tier, pinned, "
        "tags, extra, lesson, pattern, severity, rule_confidence, heritage, skill, claim, "
        "subject, predicate, source_stated, triggers, reasons"
    ),
    "observation": "memory, at, hash, outcome, origin, key, reasons",
    "link": (
        "(SELECT id FROM memory WHERE number = source), "
        "(SELECT id FROM memory WHERE number = target), type, seq, similarity, at"
    ),
    "vector": "text, space, part, seq, start, stop, data",
    "skill": (
        "id, seq, name, intent, description, tags, content, hash, terms, project, agent, session, "
        "source_kind, channel, source_agent, source_ref, status, reliability, uses, last_used, "
        "created, extra"
    ),
    "skill_vector": "skill, space, data",
}  # per table, the values that its checksum is of, as SQL


def of(*values: object) -> int:
    """Returns the checksum of a row's values, given as SQLite would return them."""
    crc = zlib.crc32(_FORM.encode(values).encode())
    return crc - _RANGE if crc >= _SIGN else crc  # four bytes in SQLite, not six


def real(value: float | None) -> float | None:
    """Returns a number as a REAL column returns it."""
    return None if value is None or value != value else float(value) + 0.0  # noqa: PLR0124


def fill(db: sqlite3.Connection, tables: Sequence[str] = tuple(CHECKED)) -> None:
    """Writes the checksum of every row anew: for rows that were copied or changed otherwise."""
    define(db)
    for table in tables:
        db.execute(f"UPDATE {table} SET crc = row_crc({CHECKED[table]})")  # noqa: S608  # own names


def renew(db: sqlite3.Connection, table: str, number: int) -> None:
    """Writes the checksum of one changed row anew."""
    row = db.execute(
        f"SELECT {CHECKED[table]} FROM {table} WHERE number = ?",  # noqa: S608  # own names
        (number,),
    ).fetchone()
    db.execute(f"UPDATE {table} SET crc = ? WHERE number = ?", (of(*row), number))  # noqa: S608


def define(db: sqlite3.Connection) -> None:
    """Lets statements on this connection call row_crc."""
    db.create_function("row_crc", -1, of, deterministic=True)
