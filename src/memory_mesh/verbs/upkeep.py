"""Keep a store in order: vectors, index, sinks; and its figures."""

from collections.abc import Callable, Sequence

from memory_mesh import flows
from memory_mesh.errors import MissingExtra
from memory_mesh.fastdataclass import replace
from memory_mesh.model import (
    Body,
    Part,
    Scope,
    Space,
    Stats,
    UpkeepReport,
)
from memory_mesh.policy.arguments import check_text, check_whole
from memory_mesh.policy.users import shown_namespace, user_of
from memory_mesh.verbs.maintenance import MAINTENANCE, MaintenanceVerbs, Manner


class UpkeepVerbs(MaintenanceVerbs):
    """Methods that maintain a store and report its figures."""

    def upkeep(
        self,
        *,
        progress: Callable[[int], None] | None = None,
        between: Callable[[], None] | None = None,
    ) -> UpkeepReport:
        """Runs all maintenance: terms, vectors, links, index, sinks, records, lessons, due jobs.

        May be interrupted at any point and run again.

        Options:
            progress: called with the number of texts embedded so far.
            between: called between small steps; it may wait for others, or raise to stop here.
        """
        self._opened().ledger.flush(self._config.namespace)  # records of reads wait for a write
        pause = between or _go_on
        manner = Manner(
            pause=pause, steps=lambda _: pause(), texts=progress, small=between is not None
        )
        report = UpkeepReport(0, (), sinks_told=True)
        for name in MAINTENANCE:
            report = self._maintained(name, report, manner)
            pause()
        return report

    def rebuild_index(self) -> list[Body]:
        """Rebuilds the index from the ledger; the ledger holds everything the index holds."""
        parts = self._opened()
        index = parts.index()
        if index is None and self._config.store is None:
            raise MissingExtra.of("lance", "The index of large stores")
        return flows.upkeep.rebuild(parts.ledger, index, self._config.namespace)

    def rebuild_terms(self) -> int:
        """Rewrites the keyword terms of every text and skill; returns how many there are."""
        return flows.upkeep.reindex(self._opened().ledger, self._config.namespace, everything=True)

    def stats(self) -> Stats:
        """Returns the figures of the namespace, with what it takes on disk."""
        config, opened = self._config, self._opened()
        found = opened.ledger.stats(config.namespace, config.session_days)
        indexed = opened.index_bytes(config.namespace)
        return replace(found, sizes=replace(found.sizes, index=indexed))

    def namespaces(self, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Lists the namespaces in the store, sorted; that of a user is `user.` and the id.

        Options:
            after: only those after this name: the last one of the page before.
            limit: the largest number of results, 1 to 1,000.
        """
        start = "" if after is None else check_text(after, "after")
        most = None if limit is None else check_whole(limit, "limit", least=1)
        return [shown_namespace(name) for name in self._opened().ledger.namespaces(start, most)]

    def users(self) -> list[str]:
        """Lists the ids of the users who have memories in the store; `for_user` opens them."""
        found = map(user_of, self._opened().ledger.namespaces())
        return sorted(user_id for user_id in found if user_id is not None)

    def vectors(
        self,
        ids: Sequence[str],
        space: Space,
        *,
        scope: Scope | None = None,
        as_owner: bool = False,
    ) -> dict[str, list[Part]]:
        """Returns the vectors of visible memories in one of the spaces that `stats` lists.

        Options:
            scope: who reads; by default the project, agent and session of this mesh.
            as_owner: show what is for others, too: every project, agent and session.
        """
        check_whole(space.dimension, "dimension", least=1)
        sight = flows.explain.sight_of(self._owned(scope, as_owner=as_owner))
        with self._read() as snapshot:
            seen = snapshot.numbers(list(ids), sight)
            return snapshot.vectors(space, [id_ for id_ in ids if id_ in seen])


def _go_on() -> None:
    """What a caller who never waits does between two steps."""
