"""Give a prompt the memories that it needs, under a budget of tokens; and ask why.

Why of a memory, of a block, of a place among the hits, of what entered a prompt.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta

from memory_mesh.base.typed import TYPE_CHECKING, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.operation import reads
from memory_mesh.mesh.operations.projects import code_of
from memory_mesh.mesh.operations.search import SearchVerbs
from memory_mesh.mesh.options import Across, AsOf, Condition, Limit, Reader, Statuses, ValidAt
from memory_mesh.mesh.view import View
from memory_mesh.model import InvalidInput, Lens, NotFound, Query, Scope
from memory_mesh.model.errors import shown
from memory_mesh.model.trigger import MatchContext, RelevantMemory
from memory_mesh.platform import telemetry
from memory_mesh.rules.arguments import check_limit, check_share, check_text, moment
from memory_mesh.search.ranking import profiles
from memory_mesh.search.ranking.profiles import MIN_RELEVANCE

if TYPE_CHECKING:
    from memory_mesh.context.bisection import Judge
    from memory_mesh.context.explain_rank import ExplainedSearch
    from memory_mesh.context.pack import PackRequest
    from memory_mesh.context.packing.token_budget import PackRules
    from memory_mesh.model.pack import Injection, Pack, StandingProfile
    from memory_mesh.model.why import Bisection, Why
    from memory_mesh.search.triggered import TriggerRequest


class ContextVerbs(SearchVerbs):
    """Methods that fill a prompt."""

    @reads
    def context(
        self,
        question: str | None = None,
        *,
        max_tokens: int | None = None,
        window: int | None = None,
        format: str = "markdown",
        compact: bool = False,
        max_memories: int | None = None,
        filter: Condition = None,
        min_relevance: float = MIN_RELEVANCE,
        count_tokens: Callable[[str], int] | None = None,
        scope: Reader = None,
        across: Across = (),
        as_of: AsOf = None,
        record: bool = True,
        exclude: Iterable[str] = (),
    ) -> "Pack":
        """Returns the memories that a prompt should have, as fenced text under a budget.

        `str(pack)` goes into the prompt; it never has more than `max_tokens` tokens by the counter
        that was used. `pack.items` says what is in it and why, `pack.left_out` what is not. Where
        nothing is relevant enough, the pack is empty. Without a question, as at the start of a
        session: pinned memories, the profile, lessons, then the newest and the most used.

        Options:
            max_tokens: the most tokens of the text; default 2,000, or 5 % of a smaller window.
            window: the size of the model's window in tokens.
            format: how it is written: markdown, xml or json.
            compact: show id, first line and tokens of each memory; `get` reads the rest.
            max_memories: the largest number of memories, 1 to 1,000.
            min_relevance: the score that the best hit must reach; others need a hundredth of it.
            count_tokens: the tokenizer's own count of a text; default: an estimate that errs high.
            record: keep a record of what entered the prompt; it counts as use.
            exclude: ids of memories that the reader has been given already.
        """
        lens = self._lens(scope, filter=filter, across=across, as_of=as_of)
        from memory_mesh.context.packing import choice, token_budget

        wanted = token_budget.PackRules(
            max_tokens=token_budget.budget(max_tokens, window),
            max_memories=None if max_memories is None else check_limit(max_memories),
            min_relevance=check_share(min_relevance, "min_relevance"),
            format=token_budget.format_of(format),
            compact=compact,
            count=token_budget.checked(count_tokens) if count_tokens else choice.token_bound,
            counted_by=choice.NAME if count_tokens is None else token_budget.CALLER,
            lesson_confidence=self._config.lesson_min_confidence,
            lessons_since=lens.now - timedelta(days=self._config.lesson_retention_days),
            exclude=frozenset(exclude),
            checks=None if lens.as_of is not None else code_of(self, lens.scope),
        )
        return self._packed(question, lens, wanted, record=record)

    @reads
    def profile(
        self,
        *,
        of: str | None = None,
        max_tokens: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        scope: Reader = None,
    ) -> "StandingProfile":
        """Returns the short, stable part of what is known: what a session should start with.

        Lines are memories in their own words: what is pinned, then the user's roles, preferences,
        standing decisions and conventions, then what others said of them, as far as the budget
        goes. Those are memories of kind preference, decision, role or convention, and claims such
        as "I work for …", "I prefer …", "My dentist is …", "We use …"; none that a newer statement
        updates or turns round. Nothing is recorded: `context` without a question begins with
        the same, fenced for a prompt.

        Options:
            of: user or project; by default both.
            max_tokens: the most tokens of the text; default 200.
            count_tokens: the tokenizer's own count of a text; default: an estimate that errs high.
        """
        if of not in {None, flows.pack.USER, flows.pack.PROJECT}:
            raise InvalidInput(f"of is user or project, not {shown(of)}")
        lens = self._lens(scope)
        return flows.pack.profile(self._access(), lens, of, max_tokens, count_tokens)

    def _packed(
        self, question: str | None, lens: Lens, rules: "PackRules", *, record: bool
    ) -> "Pack":
        """Runs a ready request."""
        text = None if question is None else check_text(question, "question")
        asked: PackRequest = flows.pack.PackRequest(text, lens, rules)
        with self._span(telemetry.SEARCH) as span:
            span.asked(text)
            pack = flows.pack.pack(
                self._access(), asked, record=record, reranking=self._reranking(None)
            )
            span.answered([item.memory for item in pack.items])
        return pack


# Give an agent the memories that its task calls up.


class InjectionVerbs(View):
    """Methods that select memories by their triggers."""

    def find_relevant_memories(
        self,
        task: str,
        *,
        agent_name: str = "",
        current_plan: str | None = None,
        max_memories: int | None = None,
        min_importance: str | None = None,
        scope: Reader = None,
    ) -> "list[RelevantMemory]":
        """Returns the memories whose triggers a task meets, those with the most points first.

        The answer holds title, tags and points of each, not its text; `get` reads that.

        Options:
            agent_name: the agent that will do the task; its setting and its specialty count.
            current_plan: the plan of the task; triggers are looked for in it as well.
            max_memories: in place of the agent's max_injected, which is 5 by default.
            min_importance: in place of the agent's: low, medium, high or critical.
        """
        asked = self._asked(task, agent_name, current_plan, scope)
        rules = asked.rules
        if max_memories is not None:
            rules = replace(rules, max_memories=check_limit(max_memories))
        if min_importance is not None:
            from memory_mesh.search.triggers.selection import level

            rules = replace(rules, min_importance=level(min_importance))
        return flows.injection.relevant(self._access(), replace(asked, rules=rules))

    def build_agent_prompt(
        self,
        agent: str,
        *,
        task: str,
        current_plan: str | None = None,
        prompt: str = "",
        scope: Reader = None,
    ) -> str:
        """Returns the system prompt of an agent with the memories that its task calls up.

        What is shown counts as used. Nothing relevant, nothing added.

        Options:
            task: what the agent is about to do.
            current_plan: the plan of the task; triggers are looked for in it as well.
            prompt: the agent's own system prompt; the memories follow it.
        """
        asked = self._asked(task, agent, current_plan, scope)
        own = check_text(prompt, "prompt")
        known = flows.injection.prompt(self._access(), asked, self._config.injection_max_tokens)
        return f"{own.rstrip()}\n\n{known}" if own.strip() and known else own + known

    def _asked(
        self, task: str, agent: str, plan: str | None, scope: Scope | None
    ) -> "TriggerRequest":
        context = MatchContext(
            check_text(task, "task"),
            check_text(agent, "agent_name"),
            None if plan is None else check_text(plan, "current_plan"),
        )
        return flows.triggered.TriggerRequest(
            context, self._lens(scope), self._injection_rules(agent)
        )


class ExplainVerbs(SearchVerbs):
    """Methods that say why."""

    @reads
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
            query: the question; its options are those of `search`.
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
        floor = MIN_RELEVANCE if min_relevance is None else question.min_relevance
        return self._why_packed(asked, max_tokens, floor)

    @reads
    def bisect(
        self,
        complaint: str,
        *,
        judge: Callable[["Pack"], bool | None] | None = None,
        prompt: str | None = None,
        question: str | None = None,
        session: str | None = None,
        right_at: AsOf = None,
        wrong_at: AsOf = None,
        max_tokens: int | None = None,
        scope: Reader = None,
        across: Across = (),
    ) -> "Bisection":
        """Finds the write that turned a right answer wrong, as `git bisect` finds a commit.

        The complaint tells which of the latest prompts is meant; else it is the question. The pack
        of that prompt is made anew as it was after earlier writes, and the judge says of each
        whether it is right: at most 12 of them. Nothing is recorded or changed;
        `review.take_back` takes the write of the answer back.

        Options:
            judge: called with a Pack: True is right, False wrong; without it a model is asked.
            prompt: the id of the record of a prompt, or its fence word.
            question: ask this, as of now, and look for no prompt; of a prompt the whole question.
            session: only a prompt of this session.
            right_at: a time when the answer was right; default: before the first write.
            wrong_at: a time when it was wrong; default: that of the prompt, else now.
            max_tokens: the budget of the pack; default: that of the prompt, else 2,000.
        """
        said, lens = self._redacted(check_text(complaint, "complaint")), self._lens(scope)
        access, sight = self._access(), flows.explain.sight_of(self._lens(scope, across=across))
        meant = None
        if prompt is not None:
            meant = flows.bisection.prompt_named(access, sight, check_text(prompt, "prompt"))
        elif question is None:
            meant = flows.bisection.prompt_meant(access, sight, said, session=session)
        if meant is not None:
            lens = replace(lens, now=meant.at, scope=self._reader(meant.reader))
        asked = (meant.question or None) if meant else said
        if question is not None:
            asked = self._redacted(check_text(question, "question"))
        request = flows.pack.PackRequest(asked, lens, self._rules_then(lens, meant, max_tokens))
        judge = judge or self._model_judge(said, asked or "")
        return flows.bisection.bisect(
            access,
            flows.bisection.BisectRequest(
                request, judge, meant, moment("right_at", right_at), moment("wrong_at", wrong_at)
            ),
            self._reranking(None),
        )

    def _rules_then(
        self, lens: Lens, prompt: "Injection | None", max_tokens: int | None
    ) -> "PackRules":
        """How the pack of a prompt was made; of a question without one, as `context` does."""
        given = None if prompt is None else prompt.max_tokens
        rules = self._pack_rules(lens, max_tokens or given)
        if prompt is None:
            return rules
        before = flows.bisection.given_before(self._access(), prompt)
        return replace(rules, format=prompt.format, exclude=before)

    def _pack_rules(self, lens: Lens, max_tokens: int | None) -> "PackRules":
        """The rules of a pack of which only the budget is stated."""
        from memory_mesh.context.packing.token_budget import PackRules, budget

        return PackRules(
            max_tokens=budget(max_tokens, None),
            lesson_confidence=self._config.lesson_min_confidence,
            lessons_since=lens.now - timedelta(days=self._config.lesson_retention_days),
        )

    def _model_judge(self, complaint: str, question: str) -> "Judge":
        llm = self._metered_llm("bisect")
        if llm is None:
            raise InvalidInput(
                "nobody can judge: give judge, a function that takes a pack; or set a language "
                "model (MEMORY_MESH_LLM_PROVIDER)"
            )
        return flows.bisection.by_model(llm, complaint, question)

    def _why_kept(self, named: str, sight: Lens) -> "Why":
        """Explains a memory, a block or a prompt; an id that looks like a fence word goes first."""
        if named.startswith("inj_"):
            return flows.explain.explain_injection(self._access(), named, sight)
        try:
            return flows.explain.explain(
                flows.similar_links.caught_up(self._access()), named, sight
            )
        except NotFound:
            from memory_mesh.context.fence import fence_word  # a search needs none

            if fence_word(named) is None:
                raise
        return flows.explain.explain_injection(self._access(), named, sight)

    def _sight(self, scope: Scope | None, across: Iterable[str]) -> Lens:
        """What may be looked at for an explanation."""
        return flows.explain.sight_of(self._lens(scope, across=across))

    def _why_packed(self, asked: "ExplainedSearch", max_tokens: int, min_relevance: float) -> "Why":
        """Explains the pack that `context` makes with this budget."""
        rules = replace(
            self._pack_rules(asked.query.lens, max_tokens),
            profile=asked.query.profile,
            min_relevance=min_relevance,
            checks=code_of(self, asked.query.lens.scope),
        )
        return flows.explain_pack.why_packed(self._access(), asked, rules)
