"""The reference names every command, option, setting, error and public name, and is right."""

import inspect
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import memory_mesh
from memory_mesh import care, evaluation, mirror, testing, traces
from memory_mesh.base.typed import fields
from memory_mesh.cli import command_table
from memory_mesh.compat.neolata import memory_graph
from memory_mesh.config import Config
from memory_mesh.config.tables import ENVIRONMENT, VARIABLES
from memory_mesh.mesh import conversation, mesh as sync
from memory_mesh.model import errors
from memory_mesh.model.errors import NotAllowed, NotFound
from memory_mesh.sync import MemoryMesh
from tests.operations import operations, reach
from tests.surface.test_cli_operating import FOR_TESTS
from tools.reference import notes

ROOT = Path(__file__).parent.parent.parent
REFERENCE = ROOT / "docs/reference"
NOWHERE = "mem_1700000000000_abcdef"
CLASSES = {
    sync.MemoryMesh: None,  # over several pages
    conversation.MemoryContextManager: "conversation",
    memory_graph.MemoryGraph: "graph-face",
}
GIVEN = {  # arguments without a default, for a call with an id
    "approve": True,
    "changes": [{"id": NOWHERE, "content": "other words"}],
    "helpful": True,
    "heritage": {"intentChain": ["a reason"]},
    "name": "shop",
    "resolution": "keep_both",
    "schemas": {"likes": {}},
    "source": "web",
    "success": True,
}
BY_ID = {"memory_id", "id", "ids", "episode_id", "source_id", "conflict_id", "trace_id", "changes"}


@cache
def sections(page: str) -> dict[str, str]:
    """The parts of a page by their headings, whatever their level."""
    text = (REFERENCE / f"{page}.md").read_text(encoding="utf-8")
    parts = re.split(r"(?m)^#+ (.+)$", text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(section: str) -> set[str]:
    """The first cells of the tables in a section, without marks."""
    cells = re.findall(r"(?m)^\| (.+?) \|", section)
    return {re.sub(r"</?code>|`", "", cell).replace("&#124;", "|") for cell in cells}


def documented() -> Iterator[tuple[str, inspect.Signature, str]]:
    """Each public method: its name, its signature and the section about it."""
    pages = [f"python/{path.stem}" for path in sorted((REFERENCE / "python").glob("*.md"))]
    verbs = {"mesh", "memories", "search", "review", "learning", "graph", "upkeep"}
    of_mesh = {
        heading: text
        for page in pages
        if page.removeprefix("python/") in verbs
        for heading, text in sections(page).items()
    }
    for owner, page in CLASSES.items():
        found = of_mesh if page is None else sections(f"python/{page}")
        for name, method in operations(owner).items():
            assert name in found, f"{owner.__name__}.{name} is not in docs/reference/python"
            yield name, inspect.signature(method), found[name]


def test_every_public_method_is_described_with_every_argument() -> None:
    missing = [
        f"{name}({argument})"
        for name, signature, text in documented()
        for argument in signature.parameters
        if argument != "self" and argument not in rows(text)
    ]
    assert missing == []


@pytest.mark.parametrize(
    "page", ["mesh", "memories", "search", "review", "learning", "graph", "upkeep", "values"]
)
def test_a_link_to_a_method_finds_it(page: str) -> None:
    text = (REFERENCE / f"python/{page}.md").read_text(encoding="utf-8")
    anchors = [heading.lower() for heading in re.findall(r"(?m)^##+ (.+)$", text)]
    assert len(anchors) == len(set(anchors))


def test_every_argument_is_explained() -> None:
    silent = [
        f"{name}: {line}"
        for name, _, text in documented()
        for line in text.splitlines()
        if line.startswith("| `") and line.endswith("|  |")
    ]
    assert silent == []


@pytest.mark.parametrize(
    "name", ["Receipt", "Hit", "Memory", "Scope", "Skill", "LessonBlock", "LessonContext"]
)
def test_every_field_of_a_public_value_is_explained(name: str) -> None:
    table = re.findall(r"(?m)^\| `(\w+)` \|.*\| (.*) \|$", sections("python/values")[name])
    own = {field.name for field in fields(getattr(memory_mesh, name))}
    assert {field for field, about in table if about.strip()} == own


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (memory_mesh, memory_mesh.__all__),
        (care, list(care._FUNCTIONS)),
        (mirror, mirror.__all__),
        (traces, traces.__all__),
        (evaluation, evaluation.__all__),
        (testing, testing.__all__),
    ],
    ids=lambda value: value.__name__ if inspect.ismodule(value) else "",
)
def test_every_public_name_has_a_place(module: object, names: list[str]) -> None:
    pages = ("errors", *(f"python/{path.stem}" for path in (REFERENCE / "python").glob("*.md")))
    found = {heading for page in pages for heading in sections(page)}
    assert {name for name in names if name not in found} <= {"__version__", "SEED"}


def test_every_command_is_there_with_every_option() -> None:
    page = sections("cli")  # docs/reference/cli.md
    missing = []
    for name in command_table.COMMANDS:
        parser = command_table.Parser(prog=name)
        command_table.load(name).add_arguments(parser)
        own = page[command_table.place(name)]
        shown = " ".join(rows(own))
        missing += [
            f"{name} {option}"
            for action in parser._actions
            for option in action.option_strings
            if option not in {"-h", "--help"} and not re.search(rf"{option}(?![\w-])", shown)
        ]
        assert command_table.load(name).example.splitlines()[0] in own
    assert missing == []
    old = {name for name, place in command_table.PLACES.items() if name != place}
    assert {*command_table.ALIASES, *old} <= rows(page["Other names"])
    common = command_table.Parser(prog="x")
    command_table.add_common(common)
    options = {option for action in common._actions for option in action.option_strings}
    shown = " ".join(rows(page["Common options"]))
    assert {option for option in options if option not in shown} == {"-h", "--help"}


def test_every_setting_and_variable_is_there() -> None:
    text = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    names = {field.name for field in fields(Config)} - {"origins"}
    assert {name for name in names if f"| `{name}`" not in text} == set()
    read = {
        variable
        for path in (ROOT / "src").rglob("*.py")
        for variable in re.findall(r"MEMORY_MESH_[A-Z_]+[A-Z]", path.read_text(encoding="utf-8"))
    }
    assert read >= {*ENVIRONMENT.values(), *VARIABLES}
    assert {name for name in read - FOR_TESTS if f"`{name}`" not in text} == set()


def test_every_error_is_there_with_what_to_do() -> None:
    page = sections("errors")
    classes = [
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.MeshError)
    ]
    assert [name for name in classes if "What to do: " not in page.get(name, "")] == []


def test_every_table_of_the_database_is_there(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add("The user prefers dark themes")
    with sqlite3.connect(tmp_path / "namespaces/default.db") as db:
        found = {
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        }
    found = {name for name in found if not re.search(r"^sqlite_|_(data|idx|docsize|config)$", name)}
    named = " ".join(rows(sections("file-formats")["The database"])).replace(",", "").split()
    assert found == set(named) - {"table"}


def methods(owner: type = MemoryMesh) -> dict[str, inspect.Signature]:
    """The methods whose first argument names something that is stored."""
    return {name: inspect.signature(method) for name, method in operations(owner).items()}


def called(mesh: MemoryMesh, name: str, memory_id: str, other: str = NOWHERE) -> object:
    """Call a method with an id for each argument that has no default."""
    changes = [{"id": memory_id, "content": "other words"}]
    given = {**GIVEN, "changes": changes, "ids": [memory_id], "target_id": other}
    signature = methods()[name]
    needed = [each for each in signature.parameters.values() if each.default is each.empty]
    arguments = {each.name: given.get(each.name, memory_id) for each in needed[1:]}
    if name in {"review.propose_update", "update"}:
        arguments["content"] = "other words"
    if name == "care.access_keys.add":
        arguments["grants"] = {"*": "reader"}
    if name == "erase":
        arguments["memory_id"] = memory_id
    return reach(mesh, name)(**arguments)


def test_methods_raise_not_found_where_the_reference_says_so(tmp_path: Path) -> None:
    raised = set()
    named = {
        name
        for name, signature in methods().items()
        if [*signature.parameters, "", ""][1] in BY_ID and name != "care.vectors"
    }
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        there = mesh.add("The user prefers dark themes").id
        for name in named:
            try:
                called(mesh, name, NOWHERE, there or "")
            except NotFound:
                raised.add(name)
        with pytest.raises(NotFound):
            mesh.care.projects.split("other", project="shop")
    assert raised | {"care.projects.split"} == notes.RAISES["NotFound"]


def test_methods_raise_not_allowed_where_the_reference_says_so(tmp_path: Path) -> None:
    raised = set()
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        agent = mesh.view(channel="mcp")
        words = ("likes tea", "walks to work", "left the club", "has a cat")
        mine, other, gone, linked = [_stored(mesh, f"The user {each}") for each in words]
        mesh.graph.link(mine, linked)
        mesh.delete(gone)
        for name in sorted(set(methods()) - {"close", "init", "care.upkeep"}):
            target = linked if name == "graph.unlink" else other
            try:
                called(agent, name, gone if name == "restore" else mine, target)
            except NotAllowed:
                raised.add(name)
            except Exception:  # noqa: BLE001  # what else a strange argument raises
                continue
    assert raised == notes.RAISES["NotAllowed"]


def test_methods_raise_the_other_errors_that_the_reference_names(tmp_path: Path) -> None:
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        there = _stored(mesh, "The user likes tea")
        mesh.add("The office is in Berlin", key="first")
        with pytest.raises(errors.NotRestorable):
            mesh.restore(there)
        for call in (mesh.add, mesh.ingest, mesh.evolve):
            with pytest.raises(errors.IdempotencyConflict):
                call("The office is in Bremen", key="first")
    assert notes.RAISES["NotRestorable"] == {"restore"}
    assert notes.RAISES["IdempotencyConflict"] == {"add", "ingest", "evolve"}


def _stored(mesh: MemoryMesh, text: str) -> str:
    memory_id = mesh.add(text, role="user").id
    assert memory_id is not None
    return memory_id


def test_the_examples_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        names: dict[str, object] = {"mesh": mesh}
        for line in notes.EXAMPLES.values():
            exec(line, names)  # as the page shows it
        assert "The user prefers" in str(names["prompt"])
        assert len(names["hits"]) == 1  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines()[-1] == "3"
