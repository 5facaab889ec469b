"""Use the library, the command line and MCP over stdio once; exit 1 if one does not work.

CI runs it on Linux, macOS and Windows. It needs no test framework and no model.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from memory_mesh.sync import MemoryMesh

TEXT = "The user prefers dark themes"
TIMEOUT = 300


def main() -> int:
    """Print what failed, or that all of it works."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        failures = [
            name
            for name, check in (("library", library), ("command line", command_line), ("MCP", mcp))
            if not check(Path(folder) / name)
        ]
    print(f"{sys.platform}: {', '.join(failures) + ' failed' if failures else 'all works'}")
    return 1 if failures else 0


def library(folder: Path) -> bool:
    """Store, change, find, delete and verify, in two instances one after the other."""
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        first = mesh.add(TEXT).id
        mesh.add("Deploys run on Fridays")
        mesh.update(str(first), "The user prefers light themes")
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        found = [hit.content for hit in mesh.search("themes")]
        mesh.delete(str(first))
        left = [hit.content for hit in mesh.search("themes")]
        return (
            found[:1] == ["The user prefers light themes"] and left == [] and mesh.care.verify().ok
        )


def command_line(folder: Path) -> bool:
    """Store in one process and find in another."""
    _run(folder, "memory_mesh.cli.main", "store", "--content", TEXT)
    return TEXT in _run(folder, "memory_mesh.cli.main", "search", "themes")


def mcp(folder: Path) -> bool:
    """Open a connection, list the tools, and store with one of them."""
    opening: dict[str, object] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "check", "version": "1"},
    }
    calls: list[tuple[str, dict[str, object]]] = [
        ("initialize", opening),
        ("tools/list", {}),
        ("tools/call", {"name": "memory_store", "arguments": {"content": TEXT}}),
    ]
    lines = "".join(
        json.dumps({"jsonrpc": "2.0", "id": at, "method": method, "params": given}) + "\n"
        for at, (method, given) in enumerate(calls)
    )
    said = _run(folder, "memory_mesh.agents.mcp.front", stdin=lines)
    answers = {line["id"]: line for line in map(json.loads, said.splitlines())}
    stored = answers[2]["result"]
    return bool(answers[1]["result"]["tools"]) and not stored.get("isError", False)


def _run(folder: Path, module: str, *words: str, stdin: str = "") -> str:
    """What a module prints; its errors go to the log."""
    code = f"import sys; from {module} import main; sys.exit(main())"
    variables = os.environ | {
        "MEMORY_MESH_DIR": str(folder),
        "MEMORY_MESH_EMBEDDER": "none",
        "MEMORY_MESH_DAEMON": "off",
    }
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        input=stdin, stdout=subprocess.PIPE, encoding="utf-8", env=variables, timeout=TIMEOUT,
        check=True,
    ).stdout  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
