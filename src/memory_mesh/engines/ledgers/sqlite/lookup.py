"""Memories and skills read by id, by number and in pages, each under its lens."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from memory_mesh.engines.ledgers.sqlite import rows
from memory_mesh.engines.ledgers.sqlite.lens_sql import predicate
from memory_mesh.errors import InvalidInput
from memory_mesh.model import Candidate, Lens, Memory, Page, SkillQuery

_LONGEST_CURSOR = 18  # digits: below SQLite's largest integer
_WORST = "v.severity DESC, v.rule_confidence DESC, v.number DESC"
_NEXT_BOUNDS = """
    SELECT (SELECT min(valid_from) FROM version
        WHERE recorded_until IS NULL AND valid_from IS NOT NULL AND valid_from > ?1),
        (SELECT min(valid_until) FROM version
        WHERE recorded_until IS NULL AND valid_until IS NOT NULL AND valid_until > ?1)"""


class SqliteLookup:
    """Implements `ports.Lookup`."""

    _db: sqlite3.Connection

    def get(self, ids: Sequence[str], lens: Lens) -> list[Memory]:
        """The memories with these ids that the lens sees, in the order asked."""
        condition, values = predicate(lens)
        matching = self._db.execute(
            f"SELECT {rows.MEMORY} FROM {rows.JOINED} "  # noqa: S608  # own names only
            f"WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
            [rows.dumped(ids), *values],
        )
        found = {row[0]: rows.memory(row) for row in matching}
        return [found[id_] for id_ in ids if id_ in found]

    def load(self, versions: Sequence[int]) -> dict[int, Memory]:
        """Versions by their number."""
        found = self._db.execute(
            f"SELECT v.number, {rows.MEMORY} FROM {rows.JOINED} "  # noqa: S608  # own names only
            "WHERE v.number IN (SELECT value FROM json_each(?))",
            (rows.dumped(versions),),
        )
        return {row[0]: rows.memory(row[1:]) for row in found}

    def page(
        self, lens: Lens, limit: int, cursor: str | None, *, worst_first: bool = False
    ) -> Page:
        """Newest first; the cursor is the last memory's number, so pages never overlap."""
        condition, values = predicate(lens)
        before, order = _cursor(cursor), "m.number DESC"
        if before is not None:
            condition, values = f"m.number < ? AND {condition}", [before, *values]
        if worst_first:
            condition, order = f"v.severity IS NOT NULL AND {condition}", _WORST
        found = self._db.execute(
            f"SELECT m.number, {rows.MEMORY} FROM {rows.JOINED} WHERE {condition} "  # noqa: S608
            f"ORDER BY {order} LIMIT ?",
            [*values, limit + 1],
        ).fetchall()
        memories = [rows.memory(row[1:]) for row in found[:limit]]
        more = len(found) > limit and not worst_first
        return Page(memories, str(found[limit - 1][0]) if more else None)

    def history(self, memory_id: str) -> list[Memory]:
        """Every version of one memory, oldest first."""
        return rows.history(self._db, memory_id)

    def skills(self, query: SkillQuery) -> list[Candidate]:
        """The skills that a query means and its reader sees."""
        from memory_mesh.engines.ledgers.sqlite import skills

        return skills.find(self._db, query)

    def next_bound(self, now: datetime) -> datetime | None:
        """The next moment at which some memory starts or ceases to be valid."""
        bounds = self._db.execute(_NEXT_BOUNDS, (rows.micros(now),)).fetchone()
        return rows.moment(min((bound for bound in bounds if bound is not None), default=None))


def _cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > _LONGEST_CURSOR:
        message = f"{cursor[:40]!r} is not a cursor that a listing gave"
        raise InvalidInput(message)
    return int(cursor)
