"""Programs of agent frameworks with their real packages, as the contract drives them.

    python -m tests.agents.adapters.in_framework KIND FOLDER [USER TEXT ...]

It tells the texts, then does what each line of JSON on standard input says, and answers each with a
line. It runs in the environment of the framework (.ci/frameworks), where there is no pytest. What a
model is given is all that it can know.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from memory_mesh.sync import MemoryMesh


def wants(text: str) -> bool:
    """Whether a user asks a model with tools to remember."""
    return text.startswith("Remember")


class InFramework:
    """A program that opens one store for all users."""

    def __init__(self, mesh: MemoryMesh) -> None:
        self.mesh = mesh

    def tell(self, user: str, text: str) -> None:
        """A run of an agent in which the user says this."""
        asyncio.run(self.run(user, text))

    def ask(self, user: str, question: str) -> str:
        """What the model is given in a run, or what the tool answers it."""
        return asyncio.run(self.run(user, question))

    async def run(self, user: str, text: str) -> str:
        raise NotImplementedError

    def forget(self, user: str, text: str) -> None:
        """Delete what the user said."""
        own = self.mesh.for_user(user)
        for memory in own.get_all():
            if memory.text == text:
                own.delete(memory.id)


class InOpenAIAgents(InFramework):
    """The model calls one of the two tools; the session holds the conversation."""

    async def run(self, user: str, text: str) -> str:
        from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
        from openai.types import responses

        from memory_mesh.agents.adapters.openai_agents import MeshSession, memory_tools

        set_tracing_disabled(True)
        said: list[Any] = []

        class Scripted(Model):
            async def get_response(self, *_: Any, **given: Any) -> Any:
                said.append(items := given["input"])
                if items[-1].get("type") == "function_call_output":
                    output = message(items[-1]["output"])
                else:
                    name = "remember_memory" if wants(text) else "recall_memories"
                    argument = {"text" if wants(text) else "query": text}
                    output = responses.ResponseFunctionToolCall(
                        type="function_call", call_id=f"c{id(items)}", name=name,
                        arguments=json.dumps(argument),
                    )  # fmt: skip
                return ModelResponse(output=[output], usage=Usage(), response_id=None)

            def stream_response(self, *_: Any, **__: Any) -> Any:
                raise NotImplementedError

        def message(words: str) -> Any:
            part = responses.ResponseOutputText(type="output_text", text=words, annotations=[])
            return responses.ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[part]
            )

        own = self.mesh.for_user(user)
        agent = Agent(name="helper", model=Scripted(), tools=memory_tools(own))
        session = MeshSession(own, f"chat {os.getpid()}")
        before = await session.get_items()
        done = await Runner.run(agent, text, session=session)
        after = await session.get_items()
        if after[: len(before)] != before or after[len(before)]["content"] != text:
            raise AssertionError(after)
        if said[0] != after[: len(before) + 1]:
            raise AssertionError(said[0])
        return "" if wants(text) else str(done.final_output)


class InPydanticAI(InFramework):
    """The capability recalls before the run and captures after it."""

    async def run(self, user: str, text: str) -> str:
        from pydantic_ai import Agent, ModelResponse, TextPart
        from pydantic_ai.models.function import FunctionModel

        from memory_mesh.agents.adapters.pydantic_ai import MeshCapability

        given: list[str] = []

        def model(messages: Any, info: Any) -> ModelResponse:
            given.append(info.instructions or "")
            given.append(" ".join(tool.name for tool in info.function_tools))
            return ModelResponse(parts=[TextPart("Okay.")])

        agent = Agent(FunctionModel(model), capabilities=[MeshCapability(self.mesh.for_user(user))])
        await agent.run(text)
        if given[1] != "recall_memories remember_memory":
            raise AssertionError(given)
        return given[0]


class InAnthropic(InFramework):
    """The model writes a file for what it is told, and looks through all files when asked."""

    def tell(self, user: str, text: str) -> None:
        name = "".join(letter for letter in text.casefold() if letter.isalnum())
        self._call(user, command="create", path=f"/memories/notes/{name}.md", file_text=text)

    def ask(self, user: str, question: str) -> str:
        listed = self._call(user, command="view", path="/memories")
        paths = [line.split("\t")[1] for line in listed.splitlines() if line.endswith(".md")]
        return "\n".join(self._call(user, command="view", path=path) for path in paths)

    def forget(self, user: str, text: str) -> None:
        name = "".join(letter for letter in text.casefold() if letter.isalnum())
        self._call(user, command="delete", path=f"/memories/notes/{name}.md")

    def _call(self, user: str, **command: Any) -> str:
        from anthropic.lib.tools import ToolError

        from memory_mesh.agents.adapters.anthropic_memory import MeshMemoryTool

        try:
            return str(MeshMemoryTool(self.mesh.for_user(user)).call(command))
        except ToolError as error:
            return f"error: {error}"


class InLlamaIndex(InFramework):
    """The block is a part of a memory whose short-term part holds nothing for long."""

    async def run(self, user: str, text: str) -> str:
        from llama_index.core.base.llms.types import ChatMessage
        from llama_index.core.memory import Memory

        from memory_mesh.agents.adapters.llama_index import MeshMemoryBlock

        block = MeshMemoryBlock.over(self.mesh.for_user(user), priority=0)
        memory = Memory.from_defaults(
            session_id=user, token_limit=60, chat_history_token_ratio=0.2, token_flush_size=10,
            memory_blocks=[block], tokenizer_fn=str.split,
        )  # fmt: skip
        await memory.aput(ChatMessage(role="user", content=text))
        said = [one.content or "" for one in await memory.aget()]
        await memory.aput(ChatMessage(role="assistant", content="Okay."))
        for filler in ("Thanks a lot for all of it.", "You are welcome, I am glad to help here."):
            role = "user" if filler.startswith("Thanks") else "assistant"
            await memory.aput(ChatMessage(role=role, content=filler))
        return "\n".join(one for one in said if one != text)


class InGoogleADK(InFramework):
    """A runner with ADK's own tool that loads memories before each question."""

    async def run(self, user: str, text: str) -> str:
        from google.adk.agents import LlmAgent
        from google.adk.models import BaseLlm, LlmResponse
        from google.adk.runners import Runner
        from google.adk.sessions import InMemorySessionService
        from google.adk.tools.preload_memory_tool import preload_memory_tool
        from google.genai.types import Content, Part

        from memory_mesh.agents.adapters.google_adk import MeshMemoryService

        given: list[str] = []

        class Scripted(BaseLlm):
            async def generate_content_async(self, llm_request: Any, *_: Any, **__: Any) -> Any:
                parts = [part.text or "" for one in llm_request.contents for part in one.parts]
                given.append("\n".join(part for part in parts if part != text))
                yield LlmResponse(content=Content(role="model", parts=[Part(text="Okay.")]))

        sessions, memory = InMemorySessionService(), MeshMemoryService(self.mesh)
        agent = LlmAgent(name="helper", model=Scripted(model="f"), tools=[preload_memory_tool])
        runner = Runner(
            agent=agent, app_name="app", session_service=sessions, memory_service=memory
        )
        session = await sessions.create_session(app_name="app", user_id=user)
        said = Content(role="user", parts=[Part(text=text)])
        async for _ in runner.run_async(user_id=user, session_id=session.id, new_message=said):
            pass
        ended = await sessions.get_session(app_name="app", user_id=user, session_id=session.id)
        for _ in range(2):  # a session that grows is added again
            await memory.add_session_to_memory(ended)
        return given[0]

    def forget(self, user: str, text: str) -> None:
        from memory_mesh.agents.adapters.google_adk import MeshMemoryService

        service = MeshMemoryService(self.mesh)

        async def found_and_deleted() -> None:
            found = await service.search_memory(app_name="app", user_id=user, query=text)
            for one in found.memories:
                if one.content.parts[0].text == text:
                    await service.delete_memory(app_name="app", user_id=user, memory_id=one.id)

        asyncio.run(found_and_deleted())


KINDS: dict[str, type[InFramework]] = {
    "openai-agents": InOpenAIAgents,
    "pydantic-ai": InPydanticAI,
    "anthropic": InAnthropic,
    "llama-index": InLlamaIndex,
    "google-adk": InGoogleADK,
}


def main(kind: str, folder: Path, told: list[str]) -> None:
    """Tell, and then do what standard input says."""
    with MemoryMesh(db_dir=folder) as mesh:
        adapted = KINDS[kind](mesh)
        for user, text in zip(told[::2], told[1::2], strict=True):
            adapted.tell(user, text)
        if told:
            return
        for line in sys.stdin:
            name, user, text = json.loads(line)
            print(json.dumps(getattr(adapted, name)(user, text)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
