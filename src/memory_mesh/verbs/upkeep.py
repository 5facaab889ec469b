"""Keep a store in order: vectors, index, sinks; and its figures."""

from collections.abc import Callable, Sequence
from datetime import timedelta

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
from memory_mesh.verbs.jobs import JobVerbs
from memory_mesh.verbs.lessons import LessonVerbs

_UPKEEP_SECONDS = 60.0  # upkeep() feeds the sinks for at most this long


class UpkeepVerbs(LessonVerbs, JobVerbs):
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
        parts, namespace = self._opened(), self._config.namespace
        pause = between or _go_on
        parts.ledger.flush(namespace)  # records of reads, which wait for a write
        reindexed = flows.upkeep.reindex(parts.ledger, namespace, between=pause)
        embedded = flows.reembedding.keep_up(self._access(), progress, between)
        states = parts.ledger.stats(namespace).spaces
        linked = flows.linking.link_all(self._access(), states, pause) if states else 0
        pause()
        wanted = any(state.body or flows.upkeep.worth_an_index(state) for state in states)
        index = parts.index() if wanted else None
        bodies = flows.upkeep.absorb(parts.ledger, index, namespace) if index is not None else []
        told = flows.upkeep.drain(parts.ledger, namespace, parts.sinks, _UPKEEP_SECONDS)
        pruned = 0
        if days := self._config.recall_days:
            before = self._now() - timedelta(days=days)
            pruned = flows.upkeep.prune_recalls(parts.ledger, namespace, before, pause)
        learned = 0
        if self._config.enable_wisdom_distillation and self.distillation_due():
            learned = len(self.distill().learned)
        pause()
        return UpkeepReport(
            embedded,
            tuple(bodies),
            sinks_told=told,
            lessons=learned,
            reindexed=reindexed,
            recalls_pruned=pruned,
            linked=linked,
            jobs=tuple(self.run_jobs(progress=lambda _job, _steps: pause())),
        )

    def rebuild_index(self) -> list[Body]:
        """Rebuilds the index from the ledger; the ledger holds everything the index holds."""
        parts = self._opened()
        index = parts.index()
        if index is None:
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
