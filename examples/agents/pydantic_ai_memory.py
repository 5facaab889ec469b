"""Long-term memory for a Pydantic AI agent, kept by memory-mesh.

    pip install . pydantic-ai-slim
    python examples/agents/pydantic_ai_memory.py [FOLDER]

No key and no network: the "model" repeats the instructions that it was given. Run it twice on one
folder, and the second run knows from the start what the first was told.
"""

import sys
import tempfile

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memory_mesh.agents.adapters.pydantic_ai import MeshCapability
from memory_mesh.sync import MemoryMesh


def repeat(_messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that knows what its instructions say."""
    known = [line[2:] for line in (info.instructions or "").splitlines() if line.startswith("| ")]
    return ModelResponse(parts=[TextPart("; ".join(known) or "nothing yet")])


def main() -> None:
    """Two users tell and ask."""
    agent = Agent(FunctionModel(repeat))
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
            memory = MeshCapability(mesh.for_user(user))
            print(f"{user}:", agent.run_sync(said, capabilities=[memory]).output)


if __name__ == "__main__":
    main()
