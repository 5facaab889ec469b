"""A session and tools for the OpenAI Agents SDK, kept by memory-mesh.

    pip install . openai-agents
    python examples/agents/openai_agents_memory.py [FOLDER]

No key and no network: the "model" calls a tool and repeats its answer. Run it twice on one folder,
and the second run goes on with the conversation of the first.
"""

import asyncio
import json
import sys
import tempfile
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from memory_mesh.agents.adapters.openai_agents import MeshSession, memory_tools
from memory_mesh.sync import MemoryMesh


class Repeating(Model):
    """Calls the tool that fits what the user says, and repeats what it answers."""

    async def get_response(self, *_: Any, **given: Any) -> ModelResponse:
        """One turn."""
        last = given["input"][-1]
        if last.get("type") == "function_call_output":
            known = [line[2:] for line in last["output"].splitlines() if line.startswith("| ")]
            text = ResponseOutputText(
                type="output_text", text="; ".join(known) or last["output"], annotations=[]
            )
            answer: Any = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            said = last["content"]
            tool, name = (
                ("recall_memories", "query") if "?" in said else ("remember_memory", "text")
            )
            answer = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call-{len(given['input'])}",
                name=tool,
                arguments=json.dumps({name: said}),
            )
        return ModelResponse(output=[answer], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError


async def talk(mesh: MemoryMesh) -> None:
    """Ann tells and asks."""
    ann = mesh.for_user("ann")
    agent = Agent(name="helper", model=Repeating(), tools=memory_tools(ann))
    session = MeshSession(ann, "chat")
    print("items from before:", len(await session.get_items()))
    for said in ("I drink green tea.", "What do I drink?"):
        print("ann:", (await Runner.run(agent, said, session=session)).final_output)


def main() -> None:
    """Talk in a folder."""
    set_tracing_disabled(True)
    with (
        tempfile.TemporaryDirectory() as temporary,
        MemoryMesh(db_dir=[*sys.argv[1:], temporary][0]) as mesh,
    ):
        asyncio.run(talk(mesh))


if __name__ == "__main__":
    main()
