"""Memory for Pydantic AI: `Agent(model, capabilities=[MeshCapability(mesh.for_user("ada"))])`.

Memories for the question are a part of the instructions, so no message history collects them; after
the run, what the user said is kept if it is worth it. Two tools let the model ask and keep itself.
"""

from typing import Any

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.run import AgentRunResult

from memory_mesh.agents.adapters.exchange_memory import Exchange
from memory_mesh.agents.adapters.user_memory import UserMemory
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh


class MeshCapability(AbstractCapability[Any]):
    """Recall before a run, capture after it, and two tools; for an agent or one run."""

    def __init__(
        self,
        mesh: "MemoryMesh | AsyncMesh",
        *,
        max_tokens: int | None = None,
        tools: bool = True,
        remember: bool = True,
    ) -> None:
        """Keep the mesh; whoever opened it closes it.

        Options:
            max_tokens: the most tokens of memories in a prompt; default 2,000.
            tools: offer the two tools.
            remember: False only recalls.
        """
        self._mesh, self._memory = mesh, UserMemory(mesh, max_tokens)
        self._tools, self._remembers = tools, remember
        self._exchange: Exchange | None = None
        self._recalled: str | None = None

    async def for_run(self, ctx: RunContext[Any]) -> "MeshCapability":
        """A capability of this run alone: it knows what the run was given."""
        run = MeshCapability(self._mesh, tools=self._tools, remember=self._remembers)
        run._memory = self._memory
        run._exchange = self._memory.exchange(_text(ctx.prompt))
        return run

    def get_instructions(self) -> Any:
        """The memories for the question of the run; the same ones for each of its requests."""
        return self._memories

    def get_toolset(self) -> Any:
        """The tools `recall_memories` and `remember_memory`."""
        tools = [self._memory.recall_memories, self._memory.remember_memory]
        return FunctionToolset(tools) if self._tools else None

    async def after_run(
        self, ctx: RunContext[Any], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Keeps what is worth it."""
        if self._remembers:
            await self._memory.remember(self._exchange, str(result.output))
        return result

    async def _memories(self, ctx: RunContext[Any]) -> str:
        if self._recalled is None:
            self._recalled = await self._memory.recall(self._exchange)
        return self._recalled


def _text(prompt: Any) -> str:
    """The words of a prompt: a text, or the texts among its parts."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(part for part in prompt or () if isinstance(part, str))
