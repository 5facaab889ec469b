"""Memory for the OpenAI Agents SDK: `MeshSession` keeps a conversation, tools reach what lasts.

    agent = Agent(name="helper", tools=memory_tools(mesh.for_user("ada")))
    await Runner.run(agent, "hello", session=MeshSession(mesh, "chat-1"))

A session of the SDK is a protocol: this module imports the package agents for the tools only.
"""

import asyncio
from typing import Any

from memory_mesh.agents.adapters.exchange_memory import blocking
from memory_mesh.agents.adapters.user_memory import Records, UserMemory, quoted
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model import Memory
from memory_mesh.rules.arguments import user_of
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh

_KIND = "conversation item"
_TEXT = "An item of a conversation."  # not searched: `memory_tools` reach what lasts


class MeshSession:
    """The history of one conversation, as the SDK's `Session`; two processes may share it.

    Secrets and personal data in an item are replaced before it is stored, as in all that a mesh
    keeps: open the mesh with `redact=False` if the model must read them again to the letter.
    """

    session_settings: Any = None

    def __init__(self, mesh: "MemoryMesh | AsyncMesh", session_id: str) -> None:
        """Keep the mesh; of a user's mesh, the history goes when the user is deleted."""
        self.session_id = session_id
        own = blocking(mesh)
        of_user = user_of(own.config.namespace) is not None
        name = None if of_user else f"{own.config.namespace}.conversations"
        self._records = Records(own, _KIND, namespace=name)
        self._test = f"source_ref = {quoted(self._ref)}"

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The latest items, in the order they were said."""
        most = getattr(self.session_settings, "limit", None) if limit is None else limit
        items = [memory.extra["value"]["item"] for memory in await asyncio.to_thread(self._listed)]  # type: ignore[index,call-overload]  # as written below
        return items if most is None else items[len(items) - min(most, len(items)) :]

    async def add_items(self, items: list[Any]) -> None:
        """Adds items behind those that are there."""
        records = [(self._ref, _TEXT, {"n": n, "item": item}) for n, item in enumerate(items)]
        await asyncio.to_thread(self._records.add, records)

    async def pop_item(self) -> Any | None:  # what was added
        """Takes the latest item out."""
        listed = await asyncio.to_thread(self._listed)
        await asyncio.to_thread(self._records.delete, listed[-1:])
        return listed[-1].extra["value"]["item"] if listed else None  # type: ignore[index,call-overload]

    async def clear_session(self) -> None:
        """Deletes the history; memories that were made of it stay."""
        await asyncio.to_thread(lambda: self._records.delete(self._listed()))

    @property
    def _ref(self) -> str:
        return f"conversation:{self.session_id}"

    def _listed(self) -> list[Memory]:
        """All items: by transaction, and in the order of each."""
        return sorted(self._records.find(self._test), key=_place)


def _place(memory: Memory) -> tuple[object, ...]:
    value = memory.extra["value"]
    return memory.recorded_from, value["n"] if isinstance(value, dict) else 0, memory.id


def memory_tools(mesh: "MemoryMesh | AsyncMesh", *, max_tokens: int | None = None) -> list[Any]:
    """Two tools for an agent: `recall_memories` and `remember_memory`.

    What the model stores has the trust of an inference. Memories come back as fenced text.

    Options:
        max_tokens: the most tokens of memories in an answer; default 2,000.
    """
    from agents import function_tool

    memory = UserMemory(blocking(mesh), max_tokens)
    return [function_tool(memory.recall_memories), function_tool(memory.remember_memory)]
