"""Give a prompt the memories that it needs, under a budget of tokens."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from memory_mesh import flows, telemetry
from memory_mesh.model import Lens, Scope
from memory_mesh.policy.arguments import check_limit, check_share, check_text
from memory_mesh.policy.ranking.profiles import MIN_RELEVANCE
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.verbs.search import SearchVerbs
from memory_mesh.verbs.users import known_options

if TYPE_CHECKING:
    from memory_mesh.flows.context import Asked
    from memory_mesh.model.pack import Pack
    from memory_mesh.policy.packing.rules import PackRules


class ContextVerbs(SearchVerbs):
    """Methods that fill a prompt."""

    @known_options
    def context(
        self,
        question: str | None = None,
        *,
        max_tokens: int | None = None,
        window: int | None = None,
        format: str = "markdown",
        compact: bool = False,
        max_memories: int | None = None,
        filter: str | Mapping[str, object] | None = None,
        min_relevance: float = MIN_RELEVANCE,
        count_tokens: Callable[[str], int] | None = None,
        scope: Scope | None = None,
        across: Iterable[str] = (),
        as_of: datetime | str | None = None,
        record: bool = True,
        exclude: Iterable[str] = (),
    ) -> "Pack":
        """Returns the memories that a prompt should have, as fenced text under a budget.

        `str(pack)` goes into the prompt; it never has more than `max_tokens` tokens by the counter
        that was used. `pack.items` says what is in it and why, `pack.left_out` what is not. Where
        nothing is relevant enough, the pack is empty. Without a question, as at the start of a
        session: pinned memories, lessons, then the newest and the most used.

        Options:
            max_tokens: the most tokens of the text; default 2,000, or 5 % of a smaller window.
            window: the size of the model's window in tokens.
            format: how it is written: markdown, xml or json.
            compact: show id, first line and tokens of each memory; `get` reads the rest.
            max_memories: the largest number of memories, 1 to 1,000.
            filter: a condition, such as "team = 'core' AND priority >= 3", or a mapping.
            min_relevance: the score that the best hit must reach; others need a hundredth of it.
            count_tokens: the tokenizer's own count of a text; default: an estimate that errs high.
            scope: who reads; by default the project, agent and session of this mesh.
            across: parts of the scope to ignore: project, agent, session.
            as_of: answer from what was recorded at this time.
            record: keep a record of what entered the prompt; it counts as use.
            exclude: ids of memories that the reader has been given already.
        """
        lens = self._lens(scope, filter=filter, across=across, as_of=as_of)
        from memory_mesh.policy.packing import counting, rules

        wanted = rules.PackRules(
            max_tokens=rules.budget(max_tokens, window),
            max_memories=None if max_memories is None else check_limit(max_memories),
            min_relevance=check_share(min_relevance, "min_relevance"),
            format=rules.format_of(format),
            compact=compact,
            count=counting.count if count_tokens is None else rules.checked(count_tokens),
            counted_by=counting.NAME if count_tokens is None else rules.CALLER,
            lesson_confidence=self._config.lesson_min_confidence,
            lessons_since=lens.now - timedelta(days=self._config.lesson_retention_days),
            exclude=frozenset(exclude),
        )
        return self._packed(question, lens, wanted, record=record)

    def _packed(
        self, question: str | None, lens: Lens, rules: "PackRules", *, record: bool
    ) -> "Pack":
        """Runs a ready request."""
        text = None if question is None else check_text(question, "question")
        asked: Asked = flows.context.Asked(text, lens, rules)
        with self._span(telemetry.SEARCH) as span:
            span.asked(text)
            pack = flows.context.pack(
                self._access(), asked, record=record, reranking=self._reranking(None)
            )
            span.answered([item.memory for item in pack.items])
        return pack
