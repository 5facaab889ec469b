"""A memory service for Google's Agent Development Kit, kept by memory-mesh.

    pip install . google-adk
    python examples/agents/google_adk_memory.py [FOLDER]

No key and no network: the "model" repeats what ADK's tool preloads. Run it twice on one folder, and
the second run knows from the start what the first was told.
"""

import asyncio
import logging
import sys
import tempfile
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.genai.types import Content, Part

from memory_mesh.agents.adapters.google_adk import MeshMemoryService
from memory_mesh.sync import MemoryMesh


class Repeating(BaseLlm):
    """A model that knows what it was given as past conversations."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One turn."""
        given = [part.text or "" for one in llm_request.contents for part in one.parts or ()]
        lines = "\n".join(given).splitlines()
        known = [line.partition(": ")[2] for line in lines if line.startswith("user_")]
        text = "; ".join(known) or "nothing yet"
        yield LlmResponse(content=Content(role="model", parts=[Part(text=text)]))


async def say(mesh: MemoryMesh, user: str, said: str) -> None:
    """One session of a user; what is worth it is kept at its end."""
    sessions, memory = InMemorySessionService(), MeshMemoryService(mesh)
    agent = LlmAgent(name="helper", model=Repeating(model="f"), tools=[preload_memory_tool])
    runner = Runner(agent=agent, app_name="app", session_service=sessions, memory_service=memory)
    session = await sessions.create_session(app_name="app", user_id=user)
    message = Content(role="user", parts=[Part(text=said)])
    async for event in runner.run_async(user_id=user, session_id=session.id, new_message=message):
        if event.content and event.content.parts:
            print(f"{user}:", event.content.parts[0].text)
    ended = await sessions.get_session(app_name="app", user_id=user, session_id=session.id)
    if ended:
        await memory.add_session_to_memory(ended)


def main() -> None:
    """Two users tell and ask."""
    logging.disable()
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
