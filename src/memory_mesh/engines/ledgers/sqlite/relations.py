"""What stands beside memories in one read transaction: links, proposals, small values."""

import sqlite3
from collections.abc import Sequence

from memory_mesh.model import Link, Proposal


class SqliteRelations:
    """Implements `ports.Relations`."""

    _db: sqlite3.Connection

    def links(self, ids: Sequence[str]) -> list[Link]:
        """The links from and to these memories, oldest first."""
        from memory_mesh.engines.ledgers.sqlite import links

        return links.links(self._db, ids)

    def proposals(self, limit: int, *, pending: bool, memory: str | None = None) -> list[Proposal]:
        """Proposals, the newest first: those that wait, or all; of one memory, or of any."""
        from memory_mesh.engines.ledgers.sqlite import proposals

        return proposals.listed(self._db, limit, pending=pending, memory=memory)

    def states(self, prefix: str) -> dict[str, str]:
        """The small values whose names begin with a prefix, sorted by name."""
        from memory_mesh.engines.ledgers.sqlite import states

        return states.beginning_with(self._db, prefix)
