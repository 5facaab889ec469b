"""Checksums of rows: written with the row, compared by `verify`.

A row's `crc` is the CRC-32 of a JSON array of its values, in the order of CHECKED. Bytes stand in
it as their own CRC-32. Row numbers are left out: SQLite gives them, and other rows name them.
Counters that a read or a vote moves (`uses`, `helpful`, `origins` …) have a checksum of their own,
`tally`: a memory whose counters are damaged is still known to be the memory that was stored.

Whoever changes a row moves its checksum by the difference between before and after. So a row that
was wrong before stays wrong, however often it is changed, and `verify` finds it.
"""

import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from memory_mesh.base.typed import dataclass
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.rules.audit import writer

_form = writer(ascii_only=True, default=zlib.crc32)
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
    "conflict": (
        "id, seq, new, existing, new_trust, existing_trust, reason, created, resolved, resolution, "
        "why"
    ),
    "proposal": (
        "id, seq, verb, memory, change, reason, source_kind, channel, source_agent, source_ref, "
        "created, decided, approved, why"
    ),
    "predicate": "name, cardinality, conflict_policy, normalize, dedup_policy",
    "tombstone": "digest, at, why",
    "audience": "project, agent, session",
}  # per table, the values that its checksum is of, as SQL
COUNTERS = (
    "uses", "last_used", "origins", "helpful", "harmful", "usefulness", "reinforcements",
    "disputes", "idle_reinforcements", "idle_disputes", "other_steps",
)  # fmt: skip  # of a memory: what its tally is of
TALLIED = ", ".join(COUNTERS)


def of(*values: object) -> int:
    """Returns the checksum of a row's values, given as SQLite would return them."""
    crc = zlib.crc32(_form(values).encode())
    return crc - _RANGE if crc >= _SIGN else crc  # four bytes in SQLite, not six


def real(value: float | None) -> float | None:
    """Returns a number as a REAL column returns it."""
    return None if value is None or value != value else float(value) + 0.0  # noqa: PLR0124


def counting(changes: Mapping[str, str], where: str) -> str:
    """The statement that sets counters of memories to expressions, and moves their tallies."""
    after = ", ".join(changes.get(name, name) for name in COUNTERS)
    sets = ", ".join(f"{name} = {value}" for name, value in changes.items())
    return (
        f"UPDATE memory SET {sets}, tally = moved_crc(tally, {TALLIED}, {after}) "  # noqa: S608
        f"WHERE {where}"
    )


@dataclass(frozen=True, slots=True)
class CounterChange:
    """A change of counters of memories: an expression for each, and which memories."""

    changes: Mapping[str, str]
    where: str

    def run(self, db: Database, rows: Sequence[Sequence[object]]) -> None:
        """Makes the change, once for each row of values."""
        if rows:
            engine_of(db).count(db, self.changes, self.where, rows)


def fill(db: sqlite3.Connection, tables: Sequence[str] = tuple(CHECKED)) -> None:
    """Writes the checksum of every row anew: for rows that were copied or changed otherwise."""
    define(db)
    for table in tables:
        db.execute(f"UPDATE {table} SET crc = row_crc({CHECKED[table]})")  # noqa: S608  # own names
    if "memory" in tables:
        db.execute(f"UPDATE memory SET tally = row_crc({TALLIED})")  # noqa: S608


def enter(db: Database, table: str, number: int) -> None:
    """Writes the checksum of a row that was just stored."""
    row = _values(db, table, number)
    db.execute(f"UPDATE {table} SET crc = ? WHERE number = ?", (of(*row[1:]), number))  # noqa: S608


def holds(db: Database, table: str, number: int) -> bool:
    """Whether a row still has the values that its checksum was made of."""
    crc, *values = _values(db, table, number)
    return crc == of(*values)


@contextmanager
def renewed(db: Database, table: str, number: int) -> Iterator[None]:
    """Moves the checksum of a row that is changed inside."""
    crc, *before = _values(db, table, number)
    yield
    renewed_crc = moved(crc, *before, *_values(db, table, number)[1:])
    db.execute(f"UPDATE {table} SET crc = ? WHERE number = ?", (renewed_crc, number))  # noqa: S608


def define(db: sqlite3.Connection) -> None:
    """Lets statements on this connection call row_crc and moved_crc."""
    db.create_function("row_crc", -1, of, deterministic=True)
    db.create_function("moved_crc", -1, moved, deterministic=True)


def _values(db: Database, table: str, number: int) -> Sequence[object]:
    """The checksum of a row and the values that it is of."""
    found: Sequence[object] = db.execute(
        f"SELECT crc, {CHECKED[table]} FROM {table} WHERE number = ?",  # noqa: S608  # own names
        (number,),
    ).fetchone()
    return found


def moved(crc: object, *values: object) -> int | None:
    """The checksum after a change: right if it was right of the values of before."""
    half = len(values) // 2
    return crc ^ of(*values[:half]) ^ of(*values[half:]) if isinstance(crc, int) else None
