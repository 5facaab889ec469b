"""Where a newcomer looks for a thing is where it is: the table of docs/architecture.md."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import memory_mesh
from memory_mesh.sync import MemoryMesh

PACKAGE = Path(memory_mesh.__file__).parent
DOCS = Path(__file__).resolve().parents[2] / "docs/architecture.md"
SYMBOLS = {
    "an MCP tool": ("agents/mcp/tools.py", "TOOLS"),
    "how duplicates are detected": ("write/rules/judge.py", "judge"),
    "when a lesson waits for review": ("write/rules/judge.py", "_judge_lesson"),
    "a privacy rule": ("privacy/table.py", "RULES"),
    "a command's name and summary": ("cli/command_table.py", "COMMANDS"),
    "the column of a filter field": ("ledgers/shared/rows.py", "FILTERABLE"),
    "a filter field": ("rules/filter_fields.py", "FIELDS"),
    "chunk size": ("text/scrub/tokens.py", "ScrubSettings"),
    "the JSON of a memory": ("model/record.py", "record"),
    "the RRF constant": ("search/ranking/fusion.py", "K"),
    "the default order": ("search/ranking/scales.py", "best"),
    "a half-life": ("search/ranking/profiles.py", "RECENCY_RATE_PER_DAY"),
    "a text limit": ("rules/arguments.py", "MEMORY_CHARS"),
    "stop words": ("text/analyzer.py", "STOP_WORDS"),
    "stemming": ("text/analyzer.py", "stem"),
    "a synonym": ("text/synonyms.py", "expand"),
    "cache lifetime": ("platform/cache.py", "LIFETIME"),
    "a setting": ("config/__init__.py", "Config"),
    "the id format": ("platform/ids.py", "MonotonicIds"),
    "the prompt fence": ("context/fence.py", "fenced"),
    "an eval metric": ("evaluation/metrics.py", "value"),
    "health checks": ("learn/health.py", "checkup"),
}
FOLDERS = {
    "a CLI command": ("cli/commands", "search.py"),
    "an embedder": ("models/embedders", "onnx.py"),
    "a reranker": ("models/rerankers", "services.py"),
    "a ledger": ("ledgers", "sqlite/ledger.py"),
}
NAMED_ONCE = (
    "a command's name and summary",
    "the column of a filter field",
    "a half-life",
    "a text limit",
    "stop words",
    "a synonym",
    "cache lifetime",
    "a setting",
    "the id format",
    "health checks",
)


@pytest.mark.parametrize("task", SYMBOLS)
def test_a_thing_is_defined_where_a_newcomer_looks_for_it(task):
    file, symbol = SYMBOLS[task]
    assert symbol in _defined(PACKAGE / file)


@pytest.mark.parametrize("task", NAMED_ONCE)
def test_a_name_that_says_it_all_is_defined_once(task):
    file, symbol = SYMBOLS[task]
    saying = (path for path in PACKAGE.rglob("*.py") if symbol in path.read_text(encoding="utf-8"))
    others = [path for path in saying if symbol in _defined(path)]
    assert others == [PACKAGE / file]


@pytest.mark.parametrize("task", FOLDERS)
def test_things_of_one_kind_are_in_one_folder(task):
    folder, example = FOLDERS[task]
    assert (PACKAGE / folder / example).is_file()


def test_a_verb_is_in_the_file_of_its_family():
    assert inspect.getsourcefile(inspect.unwrap(MemoryMesh.review)) == str(
        PACKAGE / "mesh/operations/review.py"
    )


def test_only_flows_commit_to_a_ledger():
    callers = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bledger\.commit\(", path.read_text(encoding="utf-8"))
    }
    assert callers <= {"care", "learn", "testing", "write"}
    assert "write" in callers


def test_the_documentation_has_the_same_table():
    rows = re.findall(r"^\| ([^|]+?) \| `([^`|]+)`", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    told = dict(rows)
    for task, (file, _) in SYMBOLS.items():
        assert told.get(task) == file, task
    for task, (folder, _) in FOLDERS.items():
        assert told.get(task) == f"{folder}/", task


@cache
def _defined(path: Path) -> set[str]:
    """The names that a module defines at its top."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                names.add(name)
    return names
