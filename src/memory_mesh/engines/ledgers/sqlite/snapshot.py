"""One read transaction: searches, claims and what upkeep works on; lookups are in lookup.py.

Numbers go in as one JSON array, so that a statement is prepared once for any count.
"""

import sqlite3
from collections.abc import Callable, Sequence

from memory_mesh.engines.ledgers.sqlite import (
    commit,
    conflicts as sqlite_conflicts,
    keywords,
    rows,
    vectors,
)
from memory_mesh.engines.ledgers.sqlite.exact_scan import Tails
from memory_mesh.engines.ledgers.sqlite.lens_sql import sight
from memory_mesh.engines.ledgers.sqlite.lookup import SqliteLookup
from memory_mesh.model import (
    Conflict,
    Head,
    Indexed,
    Lens,
    Matches,
    Nearest,
    Part,
    Pending,
    Placed,
    PredicateSchema,
    Question,
    Space,
    Standing,
    Status,
    Wanted,
)

_LIVE = frozenset({Status.ACTIVE})


class SqliteSnapshot(SqliteLookup):
    """Implements `ports.Snapshot`: a namespace at one moment."""

    def __init__(self, db: sqlite3.Connection, tails: Tails) -> None:
        self._db = db
        self._tails = tails
        self._head: Head | None = None  # read once: it cannot change inside a transaction

    def head(self) -> Head:
        """The namespace's counter and the end of its chain."""
        if self._head is None:
            self._head = rows.head(self._db)
        return self._head

    def standing(self, wanted: Wanted) -> Standing:
        """What bears on a write as it is now, for work worth doing before the transaction."""
        return commit.standing(self._db, wanted, self.head().recorded_at)

    def match(
        self, terms: Sequence[str], lens: Lens, limit: int, *, literal: bool = False
    ) -> Matches:
        """The best versions by keyword among those the lens sees."""
        present = lens.as_of is None and lens.statuses == _LIVE
        tables = ("live",) if present else ("live", "rest")
        return keywords.match(self._db, tables, terms, limit, self._visible(lens), literal=literal)

    def near(self, question: Question, lens: Lens) -> Nearest:
        """The best versions by meaning, exact above the body that the question may ask."""
        identity = self.head().identity
        return vectors.near(self._db, self._tails, identity, question, self._visible(lens))

    def around(
        self, versions: Sequence[int], lens: Lens, question: Question | None
    ) -> dict[int, Placed]:
        """The versions and their neighbours that the lens sees, each in its place."""
        from memory_mesh.engines.ledgers.sqlite import turns  # a write has no use for it

        return turns.around(self._db, versions, question, sight(lens))

    def speakers(self, words: Sequence[str], lens: Lens) -> frozenset[str]:
        """Those of the words that name somebody whose words the lens sees."""
        from memory_mesh.engines.ledgers.sqlite import turns

        return turns.speakers(self._db, words, sight(lens))

    def pending(self, space: Space, limit: int) -> Pending:
        """How many texts wait for a vector in a space, and the first `limit` of them."""
        return vectors.pending(self._db, space, limit)

    def parts(self, space: Space, versions: Sequence[int]) -> dict[int, list[Part]]:
        """The vectors that versions have in a space, in the order of their parts."""
        return vectors.parts(self._db, space, versions)

    def vectors(self, space: Space, ids: Sequence[str]) -> dict[str, list[Part]]:
        """The vectors that memories have in a space now."""
        return vectors.of_memories(self._db, space, ids)

    def indexed(self, of: str, up_to: int | None, limit: int) -> list[Indexed]:
        """Texts or skills (`of`) up to a number, newest first, with the terms they have."""
        from memory_mesh.engines.ledgers.sqlite import terms  # only upkeep and verify ask for it

        return terms.indexed(self._db, of, up_to, limit)

    def conflicts(self, limit: int, *, pending: bool, memory: str | None = None) -> list[Conflict]:
        """Conflicts on record, the newest first; those of one newcomer, or of any."""
        return sqlite_conflicts.conflicts(self._db, limit, pending=pending, memory=memory)

    def schemas(self) -> dict[str, PredicateSchema]:
        """Every registered predicate."""
        return sqlite_conflicts.schemas(self._db)

    def _visible(self, lens: Lens) -> Callable[[Sequence[int]], list[tuple[int, int]]]:
        """The check every candidate passes: texts to (text, the version that the lens sees)."""
        source, condition, values = sight(lens)
        statement = (
            f"SELECT v.text, v.number FROM {source} "  # noqa: S608  # own names only
            f"WHERE v.text IN (SELECT value FROM json_each(?)) AND {condition}"
        )
        return lambda texts: self._db.execute(statement, [rows.dumped(texts), *values]).fetchall()
