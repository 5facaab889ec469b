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
    "how duplicates are detected": ("policy/writing/judge.py", "judge"),
    "when a lesson waits for review": ("policy/writing/judge.py", "_judge_lesson"),
    "a privacy rule": ("policy/privacy/table.py", "RULES"),
    "a command's name and summary": ("cli/parsing.py", "COMMANDS"),
    "the column of a filter field": ("engines/ledgers/sql/rows.py", "FILTERABLE"),
    "a filter field": ("policy/filters.py", "FIELDS"),
    "chunk size": ("policy/scrub/settings.py", "Settings"),
    "the JSON of a memory": ("model/record.py", "metadata"),
    "the RRF constant": ("policy/ranking/rrf.py", "K"),
    "the default order": ("policy/ranking/forest.py", "best"),
    "a half-life": ("policy/ranking/profiles.py", "RECENCY_RATE_PER_DAY"),
    "a text limit": ("policy/writing/limits.py", "MEMORY_CHARS"),
    "stop words": ("policy/text/analyze.py", "STOP_WORDS"),
    "stemming": ("policy/text/analyze.py", "stem"),
    "a synonym": ("policy/text/aliases.py", "expand"),
    "cache lifetime": ("process/cache.py", "LIFETIME"),
    "a setting": ("config.py", "Config"),
    "the id format": ("process/ids.py", "MonotonicIds"),
    "the prompt fence": ("formats/prompt.py", "fenced"),
    "an eval metric": ("evaluation/metrics.py", "value"),
    "health checks": ("flows/health.py", "checkup"),
}
FOLDERS = {
    "a CLI command": ("cli/commands", "search.py"),
    "an embedder": ("engines/embedders", "onnx.py"),
    "a reranker": ("engines/rerankers", "services.py"),
    "a ledger": ("engines/ledgers", "sqlite/ledger.py"),
    "what a ledger must do": ("testing", "ledger_contract.py"),
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
    others = [path for path in PACKAGE.rglob("*.py") if symbol in _defined(path)]
    assert others == [PACKAGE / file]


@pytest.mark.parametrize("task", FOLDERS)
def test_things_of_one_kind_are_in_one_folder(task):
    folder, example = FOLDERS[task]
    assert (PACKAGE / folder / example).is_file()


def test_a_verb_is_in_the_file_of_its_family():
    assert inspect.getsourcefile(inspect.unwrap(MemoryMesh.review)) == str(
        PACKAGE / "verbs/review.py"
    )


def test_only_flows_commit_to_a_ledger():
    callers = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if re.search(r"\bledger\.commit\(", path.read_text(encoding="utf-8"))
    }
    assert callers <= {"flows", "testing"}
    assert "flows" in callers


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
