"""An option of an operation is declared once, and stands wherever people look for it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memory_mesh

ROOT = Path(__file__).resolve().parents[2]
PLACE = "mesh/operations/search.py"
CHANGES = (  # the declaration, what it does in one line, and where it acts
    (
        "        record: bool = True,\n    ) -> Hits:\n",
        ("        record: bool = True,\n        newest_first: bool = False,\n    ) -> Hits:\n"),
    ),
    (
        "        Options:\n            use_cache:",
        (
            "        Options:\n            newest_first: put the newest memory first.\n"
            "            use_cache:"
        ),
    ),
    (
        "            span.answered(hits)\n        return hits\n",
        (
            "            span.answered(hits)\n        if newest_first:\n"
            "            found = sorted(hits, key=lambda hit: hit.id)[::-1]\n"
            "            hits = Hits(found, hits.explanation)\n"
            "        return hits\n"
        ),
    ),
)
SHOWN = """
import inspect, json, sys, tempfile
import memory_mesh
from memory_mesh.agents.mcp import tools
from memory_mesh.cli import command_table
from memory_mesh.sync import MemoryMesh
from tools.reference import python_api

parser = command_table.Parser(prog="memory-mesh search")
command_table.load("search").add_arguments(parser)
with MemoryMesh(db_dir=tempfile.mkdtemp(), embedder="none") as mesh:
    for text in ("tea is green", "green tea, and tea again, and tea", "tea"):
        mesh.add(text)
    found = [hit.id for hit in mesh.search("tea", newest_first=True)]
print(json.dumps({
    "acts": found == sorted(found, reverse=True) and len(found) == 3,
    "python": str(inspect.signature(MemoryMesh.search)),
    "help": MemoryMesh.search.__doc__,
    "async": str(inspect.signature(memory_mesh.MemoryMesh.search)),
    "command": parser.format_help(),
    "mcp": json.dumps(tools.SEARCH["inputSchema"]["properties"]),
    "reference": dict(python_api.pages())["search.md"],
}))
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | bool]:
    copy = tmp_path_factory.mktemp("copy") / "memory_mesh"
    shutil.copytree(
        Path(memory_mesh.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    source = (copy / PLACE).read_text(encoding="utf-8")
    for before, after in CHANGES:
        assert source.count(before) == 1, before
        source = source.replace(before, after)
    (copy / PLACE).write_text(source, encoding="utf-8")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy.parent), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", SHOWN],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=copy.parent,
    )
    found: dict[str, str | bool] = json.loads(done.stdout)
    return found


def test_it_acts(shown: dict[str, str | bool]) -> None:
    assert shown["acts"] is True


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("python", "newest_first: bool = False"),
        ("help", "newest_first: put the newest memory first."),
        ("async", "newest_first: bool = False"),
        ("command", "--newest-first"),
        ("mcp", '"newest_first": {"type": "boolean", "description": "Put the newest memory first'),
        ("reference", "| `newest_first` | `bool` | `False` | put the newest memory first |"),
    ],
)
def test_one_declaration_puts_it_everywhere(
    shown: dict[str, str | bool], where: str, words: str
) -> None:
    assert words in str(shown[where])
