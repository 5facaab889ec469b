"""Memory for LlamaIndex: `Memory.from_defaults(memory_blocks=[MeshMemoryBlock.over(mesh)])`.

The block gives the memories for the last question of the user, and keeps what leaves the short-term
memory if it is worth it.
"""

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from memory_mesh.agents.adapters.user_memory import Said, UserMemory
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.sync import MemoryMesh

if TYPE_CHECKING:
    from memory_mesh import MemoryMesh as AsyncMesh


class MeshMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of one user as a block."""

    name: str = "memory_mesh"
    description: str | None = "Memories from earlier conversations."
    _memory: UserMemory = PrivateAttr()

    @classmethod
    def over(
        cls, mesh: "MemoryMesh | AsyncMesh", *, max_tokens: int | None = None, **fields: Any
    ) -> "MeshMemoryBlock":
        """A block over a mesh; whoever opened the mesh closes it.

        Options:
            max_tokens: the most tokens of memories in a prompt; default 2,000.
            fields: fields of a LlamaIndex block, such as priority.
        """
        block = cls(**fields)
        block._memory = UserMemory(mesh, max_tokens)
        return block

    async def _aget(self, messages: list[ChatMessage] | None = None, **_block: Any) -> str:
        """The memories for the last question."""
        said = [one.content or "" for one in messages or () if one.role == MessageRole.USER]
        return await self._memory.recall(self._memory.exchange(said[-1]) if said else None)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keeps what the user said, if it is worth it."""
        talk = (MessageRole.USER, MessageRole.ASSISTANT)
        await self._memory.remember_all(
            [Said(one.role == talk[0], one.content or "") for one in messages if one.role in talk]
        )
