"""Search memories, and the cache of recent answers."""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.typed import TYPE_CHECKING, Any, replace
from memory_mesh.formats import rfc11
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import reads
from memory_mesh.mesh.options import Across, AsOf, Condition, Limit, Reader, Statuses, ValidAt
from memory_mesh.mesh.view import View
from memory_mesh.model import Hit, Hits, InvalidInput, Query, ViewName
from memory_mesh.model.ports import Reranker
from memory_mesh.platform import telemetry
from memory_mesh.platform.cache import CacheStats
from memory_mesh.rules.arguments import check_limit, check_text, user_of
from memory_mesh.search.ranking import profiles

if TYPE_CHECKING:
    from memory_mesh.mesh.async_mesh import AsyncMemoryMesh
    from memory_mesh.mesh.mesh import MemoryMesh
    from memory_mesh.model.trigger import InjectionRules
    from memory_mesh.search.recall import Reranking

_WOKEN = "the namespace was cold, and was brought back from object storage in {:.1f} s"


class SearchVerbs(View):
    """Methods that search."""

    @reads
    def search(
        self,
        query: str,
        *,
        limit: Limit = 10,
        filter: Condition = None,
        use_cache: bool = True,
        scope: Reader = None,
        also: Sequence["MemoryMesh | AsyncMemoryMesh"] = (),
        across: Across = (),
        include: Statuses = (),
        as_of: AsOf = None,
        valid_at: ValidAt = None,
        profile: str = "mesh",
        keyword_only: bool = False,
        weights: Mapping[str, float] | None = None,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        rerank: bool | Reranker | None = None,
        record: bool = True,
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
            use_cache: allow an answer from the cache of recent searches.
            also: further views to ask; hits are merged by score: profile mesh, no reranker.
            profile: how to rank: mesh, rrf, composite, lane or points.
            keyword_only: search by words alone, without vectors.
            weights: weights of the parts of the score, for profiles that take them.
            min_similarity: with composite and lane, leave out less similar memories, 0 to 1.
            min_relevance: the score that the best hit must reach (0.08); others need 0.15 of it.
            rerank: False: without a reranker; or an object with rank(query, texts) to use once.
            record: False: the search leaves no record, as a look at the store does.
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
                hits = self._recall(question, use_cache=use_cache, recorded=record, rerank=rerank)
            span.answered(hits)
        return hits

    def _of_several(
        self,
        also: Sequence["MemoryMesh | AsyncMemoryMesh"],
        question: Query,
        filter: str | Mapping[str, object] | None,
        *,
        use_cache: bool,
        rerank: bool | Reranker | None,
    ) -> Hits:
        """Asks this view and others."""
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
        """Returns size, hits and misses of the search cache.

        `size` answers are kept in this process, at most `max_size` (500), each for 5 minutes.
        `hits` counts searches that the cache answered, `misses` those that looked there in vain;
        `clear_cache` sets both to 0.
        """
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
        return flows.recall.Reranking(
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
        hits = flows.recall.recall(access, query, use_cache=use_cache, reranking=reranking)
        seconds = self._opened().woken.pop(access.namespace, None)
        return hits if seconds is None else _noted(hits, _WOKEN.format(seconds))


# Asks one question of several views: the option `also` of `search`.


def search_views(
    asking: View,
    also: Sequence[object],
    query: Query,
    *,
    filter: Condition,
    use_cache: bool,
    rerank: object,
) -> Hits:
    """Returns the best hits of the asking view and of others, each under its own lens.

    Filter and times hold for all of them. Who reads, what is ignored of the scope and which
    statuses are shown is said by the query for the asking view only.

    Options:
        use_cache: allow an answer from the cache of recent searches.
        rerank: None or False: hits are merged by score, and no reranker is asked.
    """
    others = checked_views(also)
    if rerank is not None and rerank is not False:
        raise InvalidInput(
            "rerank and also cannot be combined: hits of several views are merged by score, and a "
            "reranker's order would be lost; leave out one of the two, or search each view"
        )
    if not profiles.named(query.profile).weighs:
        raise InvalidInput(
            f"also merges hits by score, and a score of the profile {query.profile!r} cannot be "
            "compared with that of another view; use the profile 'mesh', or search each view"
        )
    queries = {asking: query}
    for view in others:
        lens = view._lens(  # noqa: SLF001  # what a view may see is no public method
            None, filter=filter, as_of=query.lens.as_of, valid_at=query.lens.valid_at
        )
        queries.setdefault(view, replace(query, lens=lens))
    asked = [_asked(view, own) for view, own in queries.items()]
    hits = flows.recall.recall_views(asked, use_cache=use_cache)
    return _without_reranker(hits) if rerank is None and any(map(_reranks, queries)) else hits


def _reranks(view: View) -> bool:
    return view._opened().reranker() is not None  # noqa: SLF001


def _without_reranker(hits: Hits) -> Hits:
    """Says that a configured reranker was not asked."""
    return _noted(hits, "hits of several views are merged by score, without a reranker")


def _noted(hits: Hits, told: str) -> Hits:
    how = hits.explanation
    return Hits(hits, replace(how, note=told if how.note is None else f"{how.note}; {told}"))


def checked_views(given: object) -> list[View]:
    """Returns the views given as `also`, blocking ones or async ones; refuses everything else."""
    if isinstance(given, str | View) or not isinstance(given, Iterable):
        shown = type(given).__name__
        raise InvalidInput(f"also takes a list of views, such as also=[team], not {shown}")
    views: list[Any] = [getattr(one, "_sync", one) for one in given]
    for one in views:
        if not isinstance(one, View):
            raise InvalidInput(
                "also takes views, such as mesh.for_user('bob') or mesh.view(namespace='team'), "
                f"not {type(one).__name__}"
            )
    return views


def _asked(view: View, query: Query) -> "flows.recall.ViewQuestion":
    access, scope = view._access(), query.lens.scope  # noqa: SLF001  # as every verb does
    folder = view._opened().folder.resolve()  # noqa: SLF001
    name = ViewName(
        str(folder),
        access.namespace,
        user_of(access.namespace),
        scope.project,
        scope.agent,
        scope.session,
    )
    return flows.recall.ViewQuestion(access, query, name)
