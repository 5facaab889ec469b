"""Search memories, and the cache of recent answers."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh import flows, telemetry
from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import replace
from memory_mesh.formats import rfc11
from memory_mesh.model import (
    Hit,
    Hits,
    Query,
    Scope,
    Status,
)
from memory_mesh.policy.arguments import check_limit, check_text
from memory_mesh.policy.ranking import profiles
from memory_mesh.ports import Reranker
from memory_mesh.process.cache import CacheStats
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.verbs.users import known_options
from memory_mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.flows.reranking import Reranking
    from memory_mesh.model.trigger import InjectionRules
    from memory_mesh.sync import MemoryMesh


class SearchVerbs(View):
    """Methods that search."""

    @known_options
    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        filter: str | Mapping[str, object] | None = None,
        use_cache: bool = True,
        scope: Scope | None = None,
        also: Sequence["MemoryMesh"] = (),
        across: Iterable[str] = (),
        include: Iterable[Status | str] = (),
        as_of: datetime | str | None = None,
        valid_at: datetime | str | None = None,
        profile: str = "mesh",
        keyword_only: bool = False,
        weights: Mapping[str, float] | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        rerank: bool | Reranker | None = None,
    ) -> Hits:
        """Returns the best memories for a question, best first, each with the parts of its score.

        A score estimates how likely the memory answers; a question that nothing answers gets an
        empty list, and with `min_relevance=0` all that was found. The list's `explanation` says
        which legs answered, how many memories still wait for their vector or for current keyword
        terms, whether an embedder was down, and how many hits a threshold left out (`below`,
        `best_below`).

        With `also`, each view reads as it always does: `scope`, `across` and `include` are those
        of this view alone. `hit.view` says which view a hit came from.

        Options:
            limit: the largest number of results, 1 to 1,000.
            filter: a condition, such as "team = 'core' AND priority >= 3", or a mapping.
            use_cache: allow an answer from the cache of recent searches.
            scope: who reads; by default the project, agent and session of this mesh.
            also: further views to ask; hits are merged by score: profile mesh, no reranker.
            across: parts of the scope to ignore: project, agent, session.
            include: further statuses to show beside active, such as quarantined.
            as_of: answer from what was recorded at this time.
            valid_at: show what is true at this time.
            profile: how to rank: mesh, rrf, composite, lane or points.
            keyword_only: search by words alone, without vectors.
            weights: weights of the parts of the score, for profiles that take them.
            min_similarity: with composite and lane, leave out less similar memories, 0 to 1.
            min_relevance: the score that the best hit must reach (0.08); others need 0.15 of it.
            rerank: False: without a reranker; or an object with rank(query, texts) to use once.
        """
        lens = self._lens(
            scope, filter=filter, across=across, include=include, as_of=as_of, valid_at=valid_at,
            named=False,
        )  # fmt: skip
        question = Query(
            check_text(query, "query"),
            lens,
            check_limit(limit),
            profile,
            bool(keyword_only),
            dict(weights or {}),
            min_similarity,
            profiles.named(profile).threshold(min_relevance),
            self._points_rules(profile, lens.scope.agent, limit),
            read_names=lens.scope.project is not None,
        )
        with self._span(telemetry.SEARCH) as span:
            span.asked(question.text)
            if also:
                hits = self._of_several(also, question, filter, use_cache=use_cache, rerank=rerank)
            else:
                hits = self._recall(question, use_cache=use_cache, rerank=rerank)
            span.answered(hits)
        return hits

    def _of_several(
        self,
        also: Sequence["MemoryMesh"],
        question: Query,
        filter: str | Mapping[str, object] | None,
        *,
        use_cache: bool,
        rerank: bool | Reranker | None,
    ) -> Hits:
        """Asks this view and others."""
        from memory_mesh.verbs.search_views import search_views  # most searches ask one view

        return search_views(self, also, question, filter=filter, use_cache=use_cache, rerank=rerank)

    def _points_rules(self, profile: str, agent: str | None, limit: int) -> "InjectionRules | None":
        """Of a profile that finds by triggers the rules of the agent that reads, for its limit."""
        if not profiles.named(profile).by_triggers:
            return None
        return replace(self._injection_rules(agent or ""), max_memories=limit)

    def format_results(self, results: Sequence[Hit]) -> str:
        """Formats hits as RFC-0011's prompt text."""
        return rfc11.results(results)

    def clear_cache(self) -> None:
        """Clears the search cache."""
        self._opened().cache.clear()

    def get_cache_stats(self) -> CacheStats:
        """Returns size, hits and misses of the search cache."""
        return self._opened().cache.stats()

    def _reranking(self, asked: bool | Reranker | None) -> "Reranking | None":  # noqa: FBT001
        """The store's reranker, or the one that a search brings; None for none."""
        if asked is False:
            return None
        opened, config = self._opened(), self._config
        if asked is None or asked is True:
            reranker = opened.reranker()
            if reranker is None and asked:
                raise InvalidInput(
                    "there is no reranker to ask: set MEMORY_MESH_RERANKER (docs/ranking.md), or "
                    "pass an object with a method rank(query, texts) as rerank"
                )
        elif callable(getattr(asked, "rank", None)):
            reranker = opened.guarded(asked)
        else:
            raise InvalidInput("rerank must be True, False or an object with rank(query, texts)")
        if reranker is None:
            return None
        return flows.reranking.Reranking(
            reranker,
            config.reranker_candidates,
            config.reranker_chars,
            may_be_kept=asked is None or asked is True,
        )

    def _recall(
        self,
        query: Query,
        *,
        use_cache: bool = True,
        recorded: bool = True,
        rerank: bool | Reranker | None = False,
    ) -> Hits:
        """Runs a ready query; if it is not recorded, it leaves no recall block."""
        reranking = self._reranking(rerank)
        access = self._access()
        if not recorded:
            access = replace(access, yamo=False)
        return flows.recall.recall(access, query, use_cache=use_cache, reranking=reranking)
