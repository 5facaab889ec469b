"""Write `agents/mcp/tools.json`, which the MCP front lists, from `agents/mcp/tools.py`.

The alias sets in `agents/mcp/aliases` get a file of their own each.

    python tools/generate_tools.py            write it
    python tools/generate_tools.py --check    exit 1 when the written one is not what this makes

What a host puts into its prompt is in this file; the version of the package is not.
"""

import argparse
import json
import sys
from pathlib import Path

from memory_mesh.agents.mcp import tools
from memory_mesh.agents.mcp.aliases import lane, server_memory

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src/memory_mesh/agents/mcp"


def main() -> int:
    """Write or check the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when stale")
    check = parser.parse_args().check
    stale = []
    for path, text in made().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not check:
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{'STALE' if check else 'written'}: {path.relative_to(ROOT)}")
    if stale and check:
        print("run: just generate", file=sys.stderr)
        return 1
    return 0


def made() -> dict[Path, str]:
    """The files and their texts."""
    own = {
        "name": tools.NAME,
        "title": tools.TITLE,
        "instructions": tools.INSTRUCTIONS,
        "tools": tools.TOOLS,
        "resources": tools.RESOURCES,
        "resourceTemplates": tools.TEMPLATES,
        "prompts": tools.PROMPTS,
    }
    nothing: dict[str, object] = {"resources": [], "resourceTemplates": [], "prompts": []}
    graph = {"instructions": server_memory.INSTRUCTIONS, "tools": server_memory.TOOLS}
    lanes = {"instructions": lane.INSTRUCTIONS, "tools": lane.TOOLS}
    documents = {
        "tools.json": own,
        "aliases/server_memory.json": own
        | nothing
        | graph
        | {"resources": server_memory.RESOURCES},
        "aliases/lane.json": own | nothing | lanes,
    }
    return {
        FOLDER / name: json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        for name, document in documents.items()
    }


if __name__ == "__main__":
    sys.exit(main())
