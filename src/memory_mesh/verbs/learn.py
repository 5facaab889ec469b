"""Reflect on memories and make skills of them."""

from memory_mesh import flows
from memory_mesh.model import (
    Scope,
)
from memory_mesh.policy.arguments import check_text
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.model.learning import Reflection, Synthesis


class LearnVerbs(View):
    """Methods that derive reflections and skills from memories."""

    def reflect(
        self,
        *,
        topic: str | None = None,
        lookback: int | None = None,
        store: bool = True,
        scope: Scope | None = None,
    ) -> "Reflection":
        """Summarizes the memories on a topic, or the newest: what several say, and how many.

        Each statement names its ids. What only one memory says is counted, not repeated, unless all
        of it fits. The reflection is stored unless `store` is False. A configured language model
        writes the text; if it fails, the words of the memories are used. Without `lookback`, 50
        memories are looked at, or 10 if a model writes.

        Options:
            topic: what the memories are about; by default the newest are taken.
            lookback: the number of memories to look at.
            store: keep the reflection as a memory.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return flows.learn.reflect(
            self._access(),
            self._lens(scope),
            topic=None if topic is None else check_text(topic, "topic"),
            lookback=lookback,
            store=store,
            llm=self._opened().llm(),
            max_tokens=self._config.llm_max_tokens,
        )

    def synthesize(
        self, *, topic: str | None = None, lookback: int = 20, scope: Scope | None = None
    ) -> "Synthesis":
        """Makes a skill from steps that recur in memories; it is used after `review` approves it.

        Two memories with the same steps are enough, or three that tell them in different words.

        Options:
            topic: what the memories are about; by default the newest are taken.
            lookback: the number of memories to look at.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return flows.learn.synthesize(
            self._access(),
            self._lens(scope),
            topic=None if topic is None else check_text(topic, "topic"),
            lookback=lookback,
        )
