"""Ask why: of a memory, of a block, of a place among the hits, of what entered a prompt."""

from collections.abc import Iterable
from datetime import timedelta

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.context.prompt import fence_word
from memory_mesh.mesh import flows
from memory_mesh.mesh.operations.search import SearchVerbs
from memory_mesh.mesh.options import Across, AsOf, Condition, Limit, Reader, Statuses, ValidAt
from memory_mesh.model import Lens, Query, Scope
from memory_mesh.model.errors import NotFound
from memory_mesh.rules.arguments import check_limit, check_text
from memory_mesh.search.ranking import profiles

if TYPE_CHECKING:
    from memory_mesh.context.explain_rank import ExplainedSearch
    from memory_mesh.model.why import Why


class ExplainVerbs(SearchVerbs):
    """Methods that say why."""

    def explain(
        self,
        id: str,
        *,
        query: str | None = None,
        limit: Limit = 10,
        filter: Condition = None,
        include: Statuses = (),
        across: Across = (),
        as_of: AsOf = None,
        valid_at: ValidAt = None,
        profile: str = "mesh",
        keyword_only: bool = False,
        min_similarity: float | None = None,
        min_relevance: float | None = None,
        max_tokens: int | None = None,
        scope: Reader = None,
        see_across: Iterable[str] = (),
    ) -> "Why":
        """Says why a memory or block is as it is, or why a search found a memory where it did.

        Without a query: how it came in, what became of it and why, with its versions, trust, votes,
        links, conflicts and blocks. Of a prompt, named by the id of its record
        (`Pack.injection_id`) or by the fence word around its memories, such as
        memories-5f0c1b9a77d2: what entered it, when, at how many tokens, and what became of it
        since; only for its own reader. With a query: the memory's place and each feature's share
        of it, or the first gate that kept it out. A memory that this mesh does not see is as one
        that does not exist: NotFound, with a query the gate `namespace`. Nothing is recorded.

        Options:
            query: the question of a search, whose other options are those of `search`.
            profile: how to rank: mesh, rrf, composite, lane or points.
            keyword_only: search by words alone, without vectors.
            min_similarity: with composite and lane, leave out less similar memories, 0 to 1.
            min_relevance: the threshold of the search or pack (default 0.08).
            max_tokens: explain a pack of `context` with this budget instead of the search.
            see_across: parts of its own scope that the one who asks why may ignore.
        """
        named = check_text(id, "id")
        if query is None:
            return self._why_kept(named, self._sight(scope, see_across))
        lens = self._lens(
            scope,
            filter=filter,
            across=across,
            include=include,
            as_of=as_of,
            valid_at=valid_at,
        )
        question = Query(
            check_text(query, "query"),
            lens,
            check_limit(limit),
            profile,
            keyword_only,
            {},
            min_similarity,
            profiles.named(profile).threshold(min_relevance),
            self._points_rules(profile, lens.scope.agent, limit),
        )
        asked = flows.explain_rank.ExplainedSearch(
            named, question, self._sight(None, see_across), self._reranking(None)
        )
        if max_tokens is None:
            return flows.explain_rank.why_found(self._access(), asked)
        floor = profiles.MIN_RELEVANCE if min_relevance is None else question.min_relevance
        return self._why_packed(asked, max_tokens, floor)

    def _why_kept(self, named: str, sight: Lens) -> "Why":
        """Explains a memory, a block or a prompt; an id that looks like a fence word goes first."""
        if named.startswith("inj_"):
            return flows.explain.explain_injection(self._access(), named, sight)
        try:
            return flows.explain.explain(
                flows.similar_links.caught_up(self._access()), named, sight
            )
        except NotFound:
            if fence_word(named) is None:
                raise
        return flows.explain.explain_injection(self._access(), named, sight)

    def _sight(self, scope: Scope | None, across: Iterable[str]) -> Lens:
        """What may be looked at for an explanation."""
        return flows.explain.sight_of(self._lens(scope, across=across))

    def _why_packed(self, asked: "ExplainedSearch", max_tokens: int, min_relevance: float) -> "Why":
        """Explains the pack that `context` makes with this budget."""
        from memory_mesh.context.packing.fit import PackRules, budget

        rules = PackRules(
            max_tokens=budget(max_tokens, None),
            profile=asked.query.profile,
            min_relevance=min_relevance,
            lesson_confidence=self._config.lesson_min_confidence,
            lessons_since=asked.query.lens.now - timedelta(days=self._config.lesson_retention_days),
        )
        return flows.explain_pack.why_packed(self._access(), asked, rules)
