"""Search memories."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.graph_view import GraphView
from memory_mesh.compat.neolata.model import GraphHits, GraphMeta
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Hits, Query, Status
from memory_mesh.policy.arguments import check_limit, check_share, check_text

_THREADS = 8  # queries of one call that are answered at the same time
_DEEP_LIMIT = 100  # memories read to prefer a session or to count what is left out


class GraphSearching(GraphView):
    """Methods that search memories."""

    def search(
        self,
        agent: str | None,
        query: str,
        *,
        limit: int = 10,
        min_similarity: float = 0.0,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        rerank: bool | Mapping[str, float] | None = None,
        include_all: bool = False,
        status_filter: Iterable[str] = (Status.ACTIVE,),
        include_superseded: bool = False,
        include_disputed: bool = False,
        include_quarantined: bool = False,
        session_id: str | None = None,
        explain: bool = False,
    ) -> GraphHits:
        """The best memories of an agent for a question, or of all agents where none is named.

        Options:
            limit: the largest number of results, 1 to 1,000.
            min_similarity: leave out memories less similar than this, 0 to 1.
            before: only memories from before this time.
            after: only memories of this time or later.
            rerank: order by trust, recency and importance too; a mapping gives their weights.
            include_all: show memories of every status.
            status_filter: the statuses to show.
            include_superseded: show memories that others took the place of too.
            include_disputed: show disputed memories too.
            include_quarantined: show memories that wait for review too.
            session_id: prefer memories of this session.
            explain: say how each score came about and what was left out.
        """
        more = {
            Status.SUPERSEDED: include_superseded,
            Status.DISPUTED: include_disputed,
            Status.QUARANTINED: include_quarantined,
        }
        lens = self._view(
            agent,
            session_id,
            translate.statuses_of(status_filter, everything=include_all, more=more),
        )
        lens = replace(lens, where=translate.between(after, before))
        asked = Query(
            check_text(query, "query"),
            lens,
            check_limit(limit),
            "composite",
            weights=translate.weights_of(rerank),
            min_similarity=check_share(min_similarity, "min_similarity"),
        )
        return self._answered(asked, explain=explain)

    def search_many(
        self,
        agent: str | None,
        queries: Iterable[str],
        *,
        limit: int = 10,
        min_similarity: float = 0.0,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        rerank: bool | Mapping[str, float] | None = None,
        include_all: bool = False,
        status_filter: Iterable[str] = (Status.ACTIVE,),
        include_superseded: bool = False,
        include_disputed: bool = False,
        include_quarantined: bool = False,
        session_id: str | None = None,
        explain: bool = False,
    ) -> list[GraphHits]:
        """Up to 100 questions at once, each answered as by `search`, in the order asked.

        Options:
            limit: the largest number of results, 1 to 1,000.
            min_similarity: leave out memories less similar than this, 0 to 1.
            before: only memories from before this time.
            after: only memories of this time or later.
            rerank: order by trust, recency and importance too; a mapping gives their weights.
            include_all: show memories of every status.
            status_filter: the statuses to show.
            include_superseded: show memories that others took the place of too.
            include_disputed: show disputed memories too.
            include_quarantined: show memories that wait for review too.
            session_id: prefer memories of this session.
            explain: say how each score came about and what was left out.
        """
        from concurrent.futures import ThreadPoolExecutor

        asked = translate.bounded("queries", queries, translate.MAX_QUERIES)
        statuses = tuple(status_filter)

        def answer(query: str) -> GraphHits:
            return self.search(
                agent,
                query,
                limit=limit,
                min_similarity=min_similarity,
                before=before,
                after=after,
                rerank=rerank,
                include_all=include_all,
                status_filter=statuses,
                include_superseded=include_superseded,
                include_disputed=include_disputed,
                include_quarantined=include_quarantined,
                session_id=session_id,
                explain=explain,
            )

        with ThreadPoolExecutor(_THREADS, thread_name_prefix="memory-graph") as pool:
            return list(pool.map(answer, asked))

    def _answered(self, asked: Query, *, explain: bool) -> GraphHits:
        session = asked.lens.scope.session
        deep = asked if session is None else replace(asked, limit=max(_DEEP_LIMIT, asked.limit))
        found = self._mesh._recall(deep)
        ordered, preferred = translate.session_first(found, session)
        best = ordered[: asked.limit]
        memories = self._shown([hit.memory for hit in best])
        hits = [
            translate.as_hit(
                memory,
                hit.score,
                translate.explained(hit, preferred=hit.id in preferred) if explain else None,
            )
            for memory, hit in zip(memories, best, strict=True)
        ]
        return GraphHits(hits, self._counted(asked, found, len(hits)) if explain else None)

    def _counted(self, asked: Query, found: Hits, returned: int) -> GraphMeta:
        """The search in numbers; what its statuses leave out is looked for once more."""
        hidden = replace(asked.lens, statuses=translate.VISIBLE - asked.lens.statuses)
        left: Counter[str] = Counter()
        if hidden.statuses:
            unseen = self._mesh._recall(
                replace(asked, lens=hidden, limit=_DEEP_LIMIT), recorded=False
            )
            left.update(hit.memory.status.value for hit in unseen)
        explanation = found.explanation
        return GraphMeta(
            returned=returned,
            found_by_keyword=explanation.found_by_keyword,
            found_by_vector=explanation.found_by_vector,
            awaiting_vectors=explanation.pending,
            weights=asked.weights,
            filtered_by_status=dict(left),
            note=explanation.note,
        )
