"""Fill a prompt with memories, under a budget of tokens."""

from datetime import datetime

from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.graph_view import GraphView
from memory_mesh.compat.neolata.model import (
    GraphContext,
    GraphExcluded,
    GraphPacked,
    GraphPacking,
)
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Status
from memory_mesh.model.pack import Pack, PackItem
from memory_mesh.policy.arguments import check_limit, check_text


class GraphPrompting(GraphView):
    """Methods that fill a prompt."""

    def context(
        self,
        agent: str | None,
        query: str,
        *,
        max_memories: int = 15,
        before: datetime | str | None = None,
        after: datetime | str | None = None,
        max_tokens: int | None = None,
        explain: bool = False,
    ) -> GraphContext:
        """The memories of an agent that a prompt should have, as fenced text under a budget.

        What `search` finds and what is linked to it compete by composite score per estimated token.
        Only active memories that the agent sees take part. The text never has more than
        `max_tokens`, by a count that errs high.

        Options:
            max_memories: the largest number of memories, 1 to 1,000.
            before: only memories from before this time.
            after: only memories of this time or later.
            max_tokens: the most tokens of the text; by default 2,000.
            explain: say how each score came about and what was left out.
        """
        from memory_mesh.policy.packing import rules

        lens = replace(
            self._view(agent, None, {Status.ACTIVE}), where=translate.between(after, before)
        )
        wanted = rules.PackRules(
            max_tokens=rules.budget(max_tokens, None),
            profile="composite",
            max_memories=check_limit(max_memories),
            min_relevance=0.0,
            price=translate.estimate_tokens,
        )
        pack = self._mesh._packed(check_text(query, "query"), lens, wanted, record=True)
        shown = self._shown([item.memory for item in pack])
        return GraphContext(
            pack.text,
            tuple(
                translate.as_hit(memory, item.score or 0.0)
                for memory, item in zip(shown, pack, strict=True)
            ),
            pack.tokens,
            _decisions(pack) if explain else None,
        )


def _decisions(pack: Pack) -> GraphPacking:
    return GraphPacking(
        tuple(map(_packed, pack)),
        tuple(GraphExcluded(one.id, one.by.value, one.score, one.because) for one in pack.left_out),
        pack.max_tokens,
        pack.counted_by,
        pack.injection_id,
    )


def _packed(item: PackItem) -> GraphPacked:
    tokens = translate.estimate_tokens(item.memory.text)
    density = None if item.score is None else item.score / tokens
    return GraphPacked(
        item.id, item.section.value, item.score, tokens, density, item.because, item.cut
    )
