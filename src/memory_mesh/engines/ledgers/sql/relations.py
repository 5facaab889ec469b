"""What stands beside memories in one read: links, proposals, small values, triggers."""

from collections.abc import Sequence

from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.model import Lens, Link, Proposal
from memory_mesh.model.commit import MAX_LINKS
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.trigger import MemoryMetadata, Triggered


class SqlRelations:
    """Implements `ports.Relations`."""

    _db: Database

    def links(
        self,
        ids: Sequence[str],
        lens: Lens | None = None,
        types: Sequence[str] = (),
        limit: int = MAX_LINKS,
        *,
        within: bool = False,
    ) -> list[Link]:
        """The links from and to these memories that the lens sees, oldest first."""
        from memory_mesh.engines.ledgers.sql import links

        return links.links(self._db, ids, lens, types, limit, within=within)

    def neighbours(
        self,
        ids: Sequence[str],
        lens: Lens,
        *,
        most: int,
        types: Sequence[str] = (),
        besides: Sequence[str] = (),
    ) -> list[Link]:
        """Of each memory its best links to memories that are not among these nor `besides`."""
        from memory_mesh.engines.ledgers.sql import links

        return links.neighbours(self._db, ids, lens, types=types, most=most, besides=besides)

    def edges(
        self, lens: Lens, *, types: Sequence[str] = (), least: float = 0.0, limit: int
    ) -> list[Link]:
        """The links that a lens sees, those of the newest memories first."""
        from memory_mesh.engines.ledgers.sql import links

        return links.edges(self._db, lens, types=types, least=least, limit=limit)

    def proposals(self, limit: int, *, pending: bool, memory: str | None = None) -> list[Proposal]:
        """Proposals, the newest first: those that wait, or all; of one memory, or of any."""
        from memory_mesh.engines.ledgers.sql import proposals

        return proposals.listed(self._db, limit, pending=pending, memory=memory)

    def states(self, prefix: str) -> dict[str, str]:
        """The small values whose names begin with a prefix, sorted by name."""
        from memory_mesh.engines.ledgers.sql import states

        return states.beginning_with(self._db, prefix)


class SqlCalling:
    """Implements `ports.Calling`."""

    _db: Database

    def triggered(self, lens: Lens, limit: int, also: Sequence[int] = ()) -> "list[Triggered]":
        """The newest memories with triggers that the lens sees, without their texts."""
        from memory_mesh.engines.ledgers.sql import triggers

        return triggers.triggered(self._db, lens, limit, also)

    def described(self, versions: Sequence[int]) -> "list[MemoryMetadata]":
        """What a selection looks at of these versions; an untitled one gives its beginning."""
        from memory_mesh.engines.ledgers.sql import triggers

        return triggers.described(self._db, versions)
