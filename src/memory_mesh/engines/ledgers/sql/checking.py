"""What `verify` reads of every row: checksums, counters, what reads make of it, marks.

Each check yields what it finds. A row that cannot be read at one place does not stop the others:
`guarded` reports the error, and that of a value which no read understands, as a finding.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from memory_mesh.engines.ledgers.sql import marks, rows, sums
from memory_mesh.engines.ledgers.sql.engine import Database, engine_of
from memory_mesh.model import Finding
from memory_mesh.typed import Any

SHOWN = 20  # findings listed per check; the rest is counted
_ALL = 2**31  # rows that a listing may have
UNREADABLE = (
    sqlite3.Error,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)  # what values that nobody wrote raise in those who read them
_OWNERS = {  # the id of the memory or skill that a row of a table is of
    "memory": "SELECT id FROM memory WHERE number = ?",
    "text": "SELECT m.id FROM text t JOIN memory m ON m.number = t.memory WHERE t.number = ?",
    "version": "SELECT m.id FROM version v JOIN memory m ON m.number = v.memory WHERE v.number = ?",
    "observation": "SELECT m.id FROM observation o JOIN memory m ON m.number = o.memory "
    "WHERE o.number = ?",
    "vector": "SELECT m.id FROM vector v JOIN text t ON t.number = v.text "
    "JOIN memory m ON m.number = t.memory WHERE v.number = ?",
    "skill": "SELECT id FROM skill WHERE number = ?",
    "skill_vector": "SELECT id FROM skill WHERE number = ?",
}
_KEYS = {
    "link": "source || ' ' || target",
    "skill_vector": "skill",
    "predicate": "name",
    "tombstone": "digest",
}  # of tables whose rows have no number
Check = Callable[[Any, Counter[str]], Iterable[Finding]]


def checks() -> dict[str, Check]:
    """The checks of this module by what they look at."""
    return {
        "checksums": _sums,
        "counters": _counters,
        "rows as reads return them": _reads,
        "marks of metadata": _marks,
    }


def guarded(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What the check finds; where it cannot go on, that is a finding too."""
    found: list[Finding] = []
    try:
        found += limited(name, check())
    except UNREADABLE as error:
        found.append(Finding(name, f"cannot be read: {error!s}"))
    return found


def limited(name: str, found: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of a check, and how many more there are."""
    more = 0
    for number, finding in enumerate(found):
        if number < SHOWN:
            yield finding
        else:
            more += 1
    if more:
        yield Finding(name, f"and {more} more")


def _sums(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Every row still has the values that its checksum was made of."""
    for table, values in sums.CHECKED.items():
        yield from guarded("checksums", partial(_of_table, db, table, values, checked))


def _of_table(db: Database, table: str, values: str, checked: Counter[str]) -> Iterator[Finding]:
    key = _KEYS.get(table, "number")
    for number, crc, *row in db.execute(f"SELECT {key}, crc, {values} FROM {table}"):  # noqa: S608
        checked["checksums"] += 1
        if sums.of(*row) != crc:
            of = _owner(db, table, number, row)
            yield Finding("checksums", f"{table} {number}{of} is not what was stored")


def _owner(db: Database, table: str, number: object, row: list[object]) -> str:
    """Says which memory or skill a row is of, as far as that can be read."""
    if table == "link":
        return f", from {row[0]} to {row[1]},"
    with suppress(*UNREADABLE):
        for (id_,) in db.execute(_OWNERS[table], (number,)) if table in _OWNERS else ():
            return f" of {id_}"
    return ""


def _counters(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Every memory still has the counters that its tally was made of."""
    for id_, tally, *row in db.execute(f"SELECT id, tally, {sums.TALLIED} FROM memory"):  # noqa: S608
        checked["checksums of counters"] += 1
        if sums.of(*row) != tally:
            detail = f"those of {id_} are not what was counted; run `memory-mesh repair`"
            yield Finding("counters", detail)


def _reads(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Every version, skill, conflict, proposal and recall is one that a read understands."""
    statement = f"SELECT v.number, {rows.MEMORY} FROM {rows.JOINED}"  # noqa: S608  # own names
    for number, *row in db.execute(statement):
        checked["rows as reads return them"] += 1
        try:
            memory = rows.memory(tuple(row))
            memory.text.encode()
        except UNREADABLE as error:
            of = _owner(db, "version", number, [])
            yield Finding("rows as reads return them", f"version {number}{of}: {error}")
    for what, reader in _READERS.items():
        yield from guarded("rows as reads return them", partial(_read, db, reader, what))


def _read(db: Database, reader: Callable[[Database], object], what: str) -> Iterator[Finding]:
    """A listing of all that there is of a kind; bytes that are no text stop it, as any read."""
    try:
        with engine_of(db).strict(db):
            reader(db)
    except UNREADABLE as error:
        yield Finding("rows as reads return them", f"{what}: {error}")


def _conflicts(db: Database) -> object:
    from memory_mesh.engines.ledgers.sql import conflicts

    return conflicts.conflicts(db, _ALL, pending=False)


def _proposals(db: Database) -> object:
    from memory_mesh.engines.ledgers.sql import proposals

    return proposals.listed(db, _ALL, pending=False, memory=None)


def _skills(db: Database) -> object:
    from memory_mesh.engines.ledgers.sql import skills

    return skills.every(db)


def _recalls(db: Database) -> object:
    found = db.execute("SELECT id, 'recall', agent, at, memories, wire, metadata FROM recall")
    return [rows.entry(row) for row in found]


_READERS = {
    "conflicts": _conflicts,
    "proposals": _proposals,
    "skills": _skills,
    "recalls": _recalls,
}


def _marks(db: Database, checked: Counter[str]) -> Iterator[Finding]:
    """Filters find memories by the marks of their metadata, each of them and no other."""
    (checked["marks of metadata"],) = db.execute("SELECT count(*) FROM metadata_mark").fetchone()
    for number in marks.flaws(db):
        of = _owner(db, "memory", number, [])
        detail = f"memory {number}{of} lacks one, or has one too many; run `memory-mesh repair`"
        yield Finding("marks of metadata", detail)
