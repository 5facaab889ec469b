"""Anthropic's memory tool on a memory-mesh store.

    pip install . anthropic
    python examples/agents/anthropic_memory_tool.py [FOLDER]

No key and no network: here stand the calls that a model makes. With a key it is
`client.beta.messages.run_tools(tools=[MeshMemoryTool(mesh)], ...)`. Run it twice on one folder: the
second run finds the file of the first.
"""

import sys
import tempfile

from anthropic.lib.tools import ToolError

from memory_mesh.agents.adapters.anthropic_memory import MeshMemoryTool
from memory_mesh.sync import MemoryMesh

CALLS = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/ann.md", "file_text": "Ann drinks black tea.\n"},
    {"command": "str_replace", "path": "/memories/ann.md", "old_str": "black", "new_str": "green"},
)


def main() -> None:
    """The model looks, writes and edits; a search of the mesh finds it."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        MemoryMesh(db_dir=[*sys.argv[1:], temporary][0]) as mesh,
    ):
        tool = MeshMemoryTool(mesh)
        for call in CALLS:
            try:
                print(str(tool.call(call)).splitlines()[-1])
            except ToolError as error:
                print(error)
        hit = mesh.search("what does Ann drink")[0]
        print(hit.memory.source.ref, "says:", hit.memory.text)
        print("versions:", len(mesh.history(hit.id)))


if __name__ == "__main__":
    main()
