"""`MemoryContextManager` (RFC-0011 section 4.3) to await; `sync_conversation` does the work.

Each call runs in a thread. A cancelled await lets its call finish: a capture is never half.
"""

from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar, Unpack

from memory_mesh import sync_conversation
from memory_mesh.config import Settings
from memory_mesh.mesh import MemoryMesh
from memory_mesh.model import Hit, Memory, Receipt, Scope
from memory_mesh.model.conversation import FormatOptions, HealthStatus, InteractionContext
from memory_mesh.sync_conversation import ContextManagerConfig

_P = ParamSpec("_P")
_R = TypeVar("_R")


class MemoryContextManager:
    """Captures, recalls and formats memories for an agent; whoever opened the mesh closes it."""

    def __init__(
        self,
        config: ContextManagerConfig | None = None,
        *,
        mesh: MemoryMesh | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Use a mesh, or open one of our own with these settings at the first use."""
        blocking = None if mesh is None else mesh._sync  # noqa: SLF001  # its blocking twin
        self._sync = sync_conversation.MemoryContextManager(config, mesh=blocking, **settings)

    @property
    def refusals(self) -> Sequence[tuple[str, ...]]:
        """Why the latest exchanges that were not kept were not, the newest last."""
        return self._sync.refusals

    @property
    def last_refusal(self) -> tuple[str, ...]:
        """Why the latest exchange that was not kept was not; empty when there was none."""
        return self._sync.last_refusal

    async def initialize(self) -> None:
        """Open the store; every other method does it if needed."""
        await _run(self._sync.initialize)

    async def capture_interaction(
        self, prompt: str, response: str, context: InteractionContext | None = None
    ) -> Receipt | None:
        """Keep an exchange that is worth it, or None; `last_refusal` then says why."""
        return await _run(self._sync.capture_interaction, prompt, response, context)

    async def recall_memories(
        self,
        query: str,
        *,
        limit: int | None = None,
        use_cache: bool = True,
        memory_type: str | None = None,
        skill_name: str | None = None,
        include_lessons: bool = False,
        scope: Scope | None = None,
    ) -> list[Hit]:
        """Memories for the next turn, best first; each counts as used."""
        return await _run(
            self._sync.recall_memories,
            query,
            limit=limit,
            use_cache=use_cache,
            memory_type=memory_type,
            skill_name=skill_name,
            include_lessons=include_lessons,
            scope=scope,
        )

    def format_memories_for_prompt(
        self, memories: Sequence[Hit | Memory], options: FormatOptions | None = None
    ) -> str:
        """The memories fenced and quoted; nothing in them can pose as a part of the prompt."""
        return self._sync.format_memories_for_prompt(memories, options)

    async def health_check(self) -> HealthStatus:
        """Whether the store opens, writes and searches, and what its embedder does."""
        return await _run(self._sync.health_check)

    def dispose(self) -> None:
        """Let go of everything; close the mesh if it is our own. Twice is fine."""
        self._sync.dispose()


async def _run(call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    import asyncio

    return await asyncio.to_thread(call, *args, **kwargs)
