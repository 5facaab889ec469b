"""A memory block for LlamaIndex, kept by memory-mesh.

    pip install . llama-index-core
    python examples/agents/llama_index_memory.py [FOLDER]

No key and no network: it prints what an agent with this memory gives its model. Run it twice on one
folder, and the second run knows from the start what the first was told.
"""

import asyncio
import sys
import tempfile

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory

from memory_mesh.agents.adapters.llama_index import MeshMemoryBlock
from memory_mesh.sync import MemoryMesh


async def say(mesh: MemoryMesh, user: str, said: str) -> None:
    """One conversation of a user, in a short-term memory that holds a few words."""
    memory = Memory.from_defaults(
        session_id=user,
        token_limit=40,
        token_flush_size=10,
        chat_history_token_ratio=0.2,
        tokenizer_fn=str.split,
        memory_blocks=[MeshMemoryBlock.over(mesh.for_user(user))],
    )
    await memory.aput(ChatMessage(role="user", content=said))
    given = "\n".join(message.content or "" for message in await memory.aget())
    known = [line[2:] for line in given.splitlines() if line.startswith("| ")]
    print(f"{user}:", "; ".join(known) or "nothing yet")
    for role, text in (("assistant", "All right."), ("user", "Thank you very much for that!")):
        await memory.aput(ChatMessage(role=role, content=text))


def main() -> None:
    """Two users tell and ask."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        MemoryMesh(db_dir=[*sys.argv[1:], temporary][0]) as mesh,
    ):
        for user, said in (
            ("ann", "What do I drink?"),
            ("ann", "Remember that I drink green tea."),
            ("ann", "What do I drink?"),
            ("bob", "What do I drink?"),
        ):
            asyncio.run(say(mesh, user, said))


if __name__ == "__main__":
    main()
