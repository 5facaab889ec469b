"""Audiences: each has a number, and the count of memories that a default read could return to it.

An audience is a project, an agent and a session, any of which may be none. A version has the number
of its audience, so that a search knows how much its reader sees before it looks at any of it. The
numbers and counts repeat what versions say: `sqlite.audiences` makes them anew.
"""

from collections.abc import Callable, Sequence
from itertools import product

from memory_mesh.engines.ledgers.sql import lenses, rows, sums
from memory_mesh.engines.ledgers.sql.engine import Database, engine_of
from memory_mesh.model import Lens, Scope, Status
from memory_mesh.policy.audience import AUDIENCE, read_by

_MOST_READERS = 8  # whose audiences a connection remembers
MOST_AUDIENCES = 20_000  # of one reader that are counted; a reader of more is not counted
Visible = Callable[[Sequence[int]], list[tuple[int, int]]]  # texts -> (text, version)
PARTS = ("project", "agent", "session")
LIVE = frozenset({Status.ACTIVE})
_FIND = "SELECT number FROM audience WHERE project IS ? AND agent IS ? AND session IS ?"


class Audiences:
    """The audiences that one commit writes to: each is looked up once and counted once."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._numbers: dict[tuple[str | None, ...], int] = {}
        self._counts: dict[int, int] = {}

    def number(self, scope: Scope) -> int:
        """The number of an audience; one that is new gets its number here."""
        known = self._numbers.get(scope.parts)
        if known is None:
            found = self._db.execute(_FIND, scope.parts).fetchone()
            known = self._numbers[scope.parts] = self._add(scope) if found is None else found[0]
        return known

    def count(self, audience: int, memories: int) -> None:
        """Counts memories that a default read could now return, or no longer (below zero)."""
        self._counts[audience] = self._counts.get(audience, 0) + memories

    def write(self) -> None:
        """Writes what was counted."""
        self._db.executemany(
            "UPDATE audience SET memories = memories + ? WHERE number = ?",
            [(change, number) for number, change in self._counts.items() if change],
        )

    def _add(self, scope: Scope) -> int:
        added = self._db.execute(
            "INSERT INTO audience (project, agent, session, crc) VALUES (?, ?, ?, ?)",
            (*scope.parts, sums.of(*scope.parts)),
        )
        return added.lastrowid or 0


def seen_by(db: Database, lens: Lens) -> dict[int, int] | None:
    """The audiences that a lens sees, each with its count; None if they are too many to list.

    A connection remembers them until it, or another one, writes.
    """
    known = engine_of(db).known(db)
    if known is None:
        return _seen_by(db, lens)
    audiences, reader = known.audiences, (lens.scope.parts, lens.scope.names, lens.across)
    if reader not in audiences:
        if len(audiences) >= _MOST_READERS:
            audiences.clear()
        audiences[reader] = _seen_by(db, lens)
    return audiences[reader]


def _seen_by(db: Database, lens: Lens) -> dict[int, int] | None:
    asked = [part for part in PARTS if part not in lens.across]
    readers = list(product(*(read_by(lens.scope, part) for part in asked)))
    marks = ", ".join(f"({', '.join('?' * len(asked))})" for _ in readers)
    same = " AND ".join(f"a.{part} IS reader.column{place + 1}" for place, part in enumerate(asked))
    source = f"(VALUES {marks}) AS reader CROSS JOIN audience a WHERE {same}"
    found = db.execute(
        f"SELECT a.number, a.memories FROM {source if asked else 'audience a'} LIMIT ?",  # noqa: S608
        [*(value for values in readers for value in values), MOST_AUDIENCES + 1],
    ).fetchall()
    return None if len(found) > MOST_AUDIENCES else dict(found)


def sees_all(lens: Lens) -> bool:
    """Whether a lens leaves out every test of the audience."""
    return lens.across >= AUDIENCE


def within(lens: Lens, audiences: Sequence[int] | None) -> tuple[str, str, list[object]]:
    """The tables and the condition of what a lens sees, found by the numbers of its audiences."""
    source, condition, values = lenses.sight(lens)
    if audiences is None:
        return source, condition, values
    listed = "v.audience IN (SELECT value FROM json_each(?))"
    return source, f"{listed} AND {condition}", [rows.dumped(list(audiences)), *values]


def checked(db: Database, lens: Lens) -> Visible:
    """The check every candidate passes: texts to (text, the version that the lens sees)."""
    source, condition, values = lenses.sight(lens)
    statement = (
        f"SELECT v.text, v.number FROM {source} "  # noqa: S608  # own names only
        f"WHERE v.text IN (SELECT value FROM json_each(?)) AND {condition}"
    )
    return lambda texts: db.execute(statement, [rows.dumped(list(texts)), *values]).fetchall()


def texts(
    db: Database, lens: Lens, audiences: Sequence[int] | None, most: int
) -> list[tuple[int, int]] | None:
    """What a lens sees as (text, version); None if there are more than `most`."""
    source, condition, values = within(lens, audiences)
    found = db.execute(
        f"SELECT v.text, v.number FROM {source} WHERE {condition} LIMIT ?",  # noqa: S608
        [*values, most + 1],
    ).fetchall()
    return None if len(found) > most else found


def count_versions(db: Database, lens: Lens, audiences: Sequence[int], most: int) -> int:
    """How many versions of some audiences a lens may see, at most `most`, without reading any.

    As of an earlier time, all that there ever were.
    """
    condition, values = "", list[object]()
    if lens.as_of is None:
        marks = ", ".join("?" * len(lens.statuses))
        condition = f"AND recorded_until IS NULL AND status IN ({marks})"
        values = [*sorted(lens.statuses)]
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM version WHERE audience IN "  # noqa: S608  # own names
        f"(SELECT value FROM json_each(?)) {condition} LIMIT ?)",
        [rows.dumped(list(audiences)), *values, most],
    ).fetchone()
    return int(count)
