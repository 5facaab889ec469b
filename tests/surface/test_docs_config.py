"""Every configuration example of the README and the docs is loaded by the product itself."""

import ast
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh import config
from memory_mesh.agents.hook.main import BUDGET, BUDGET_MS
from memory_mesh.care import key_file
from memory_mesh.care.key_file import KEY_FOLDER, KeyFile
from memory_mesh.cli import command_table
from memory_mesh.config.tables import CHOICES, ENVIRONMENT
from memory_mesh.mesh.store import service
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import store_urls
from tests.surface.command import CommandLine
from tests.surface.hooking import HOOK, Host

ROOT = Path(__file__).parent.parent.parent
# The requirements quote settings of other people.
_NOT_OURS = {"spec", "conformance.md"}
_WRONG = "answers.md"  # shows mistakes, on purpose
OBJECTS = {
    "custom_embedder",
    "custom_llm",
    "storage",
}  # arguments that are no settings: no file can hold them
FITTING = {  # variables that 1 is no value of
    "MEMORY_MESH_PHONE_COUNTRY": "DE",
    "MEMORY_MESH_KEEP": "email",
    "MEMORY_MESH_PRIVACY_KINDS": "birth_date",
    **{ENVIRONMENT[name]: words[-1] for name, words in CHOICES.items()},
}
_CALL = re.compile(r"(?:\$ )?(?:[A-Z_]+=\S* )*memory-mesh(?![\w-])")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.relative_to(ROOT / "docs").parts[0] not in _NOT_OURS and page.name != _WRONG
    ),
]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language, also those inside a list."""
    fence = rf"(?ms)^ *(```+|~~~+) *{language}\b[^\n]*\n(.*?)^ *\1 *$"
    return [textwrap.dedent(body) for _, body in re.findall(fence, text)]


def commands(text: str) -> list[str]:
    """The lines of a page's console blocks that call the command, without the prompt."""
    lines = [line for block in blocks(text, "(?:console|sh|bash)") for line in _typed(block)]
    return [line.removeprefix("$ ") for line in lines if re.match(_CALL, line)]


def _typed(block: str) -> list[str]:
    """The lines behind a prompt; all lines of a block that shows no prompt."""
    lines = block.splitlines()
    return [line for line in lines if line.startswith("$ ")] or lines


def variables(text: str) -> set[tuple[str, str]]:
    """The variables that a page names, each with the value it shows, else one that fits."""
    named = re.findall(r"\b(MEMORY_MESH_[A-Z_]+)\b(?:=([^\s`]+))?", text)
    return {(name, value.strip("'\"") or FITTING.get(name, "1")) for name, value in named}


def calls(text: str) -> Iterator[str]:
    """The ways in which a page opens a mesh with settings; `db_dir=` alone counts as one."""
    yield from re.findall(r"\b(?:MemoryMesh|create_memory)\(\w+=[^)]*\)", text)
    yield from (f"MemoryMesh({name}='1')" for name in re.findall(r"`([a-z_]+)=`", text))


def settings_of(call: str) -> dict[str, object]:
    """The keyword arguments of a call that is written out."""
    (statement,) = ast.parse(call).body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    found = {
        str(each.arg): _value(each.value)
        for each in statement.value.keywords
        if each.arg not in OBJECTS
    }
    more = found.pop("settings", {})
    assert isinstance(more, dict)
    return found | more


def _value(node: ast.expr) -> object:
    """A value that is written out; a variable of the example stands for a text."""
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def loaded(text: str, folder: Path) -> config.Config:
    """What the product's loader makes of a configuration file with this text."""
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    found = config.load({}, {config.CONFIG_FILE: str(path), "HOME": str(folder)})
    assert f"file {path}" in found.origins.values()
    return found


def on_every_page(find: object) -> list[object]:
    """What `find` finds, as parameters named after the page."""
    assert callable(find)
    return [
        pytest.param(found, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, found in enumerate(find(page.read_text(encoding="utf-8")))
    ]


FILES = on_every_page(lambda text: blocks(text, "toml"))


def test_examples_are_found_on_the_pages() -> None:
    assert FILES
    assert on_every_page(commands)
    assert on_every_page(calls)
    assert ("MEMORY_MESH_DIR", "1") in variables((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", ["```toml\n{}\n```", "- so:\n\n  ~~~toml\n  {}\n  ~~~\n"])
def test_an_example_that_does_not_load_is_noticed(page: str, tmp_path: Path) -> None:
    (good,) = blocks(page.format("redact = false"), "toml")
    assert loaded(good, tmp_path).redact is False
    (bad,) = blocks(page.format("redaction = false"), "toml")
    with pytest.raises(InvalidInput, match="redaction"):
        loaded(bad, tmp_path)


@pytest.mark.parametrize("example", FILES)
def test_a_documented_file_loads_and_its_privacy_rules_act(
    example: str, cli: CommandLine, tmp_path: Path
) -> None:
    rules = loaded(example, tmp_path).privacy_rules
    assert len(rules) == len(tomllib.loads(example).get("privacy", {}).get("rules", ()))
    path = cli.home / ".config/memory-mesh/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(example, encoding="utf-8")
    shown = cli("config")
    assert (shown.err, shown.code) == ("", 0)
    for rule in rules:
        secret = str(rule["example"])  # a documented rule shows what it finds
        kept = cli("get", "--id", cli.stored(f"It is about {secret} again")).out
        assert secret not in kept
        assert f"It is about [{rule.get('label', str(rule['name']).upper())}_" in kept


@pytest.mark.parametrize(
    ("variable", "value"),
    sorted({pair for page in PAGES for pair in variables(page.read_text(encoding="utf-8"))}),
)
def test_a_documented_variable_is_read(variable: str, value: str, tmp_path: Path) -> None:
    if variable == KEY_FOLDER:
        found = KeyFile.of(tmp_path / "store", {KEY_FOLDER: str(tmp_path / "keys")})
        assert found.path.parent == tmp_path / "keys"
    elif variable in {key_file.FILE, key_file.VALUE, key_file.COMMAND}:
        of_database = tmp_path / store_urls.SERVERS / "memories"
        assert isinstance(KeyFile.of(of_database, {variable: value}), key_file.StatedKeys)
    elif variable == "MEMORY_MESH_ACCESS_KEY":
        assert service("https://memory.example.com", None, {variable: value}).url
    elif variable == config.CONFIG_FILE:
        assert config.config_path({variable: value}) == Path(value)
    elif variable == "MEMORY_MESH_LOG":  # a setting of the command line, not of a store
        level = "info" if value == "1" else value
        done = CommandLine(tmp_path, variables={variable: level})("store", "--content", "tea")
        assert "INFO write" in done.err
    elif variable == "MEMORY_MESH_DEBUG":  # of the command line, too: what a crash prints
        crash = "from memory_mesh.cli import main; main._crash(ValueError('a bug'))"
        crashed = subprocess.run(
            [sys.executable, "-c", crash],
            env={variable: value, "HOME": str(tmp_path)},
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
        assert crashed.stderr.count("ValueError: a bug") == 2
    elif variable == BUDGET:  # a setting of the hook, which reads no settings of a store
        budget = BUDGET_MS * 3 if value == "1" else int(value)
        assert _late_after(budget, tmp_path) >= budget * 0.9
    else:
        read = config.load({}, {variable: value, "HOME": str(tmp_path)})
        assert f"environment {variable}" in read.origins.values()


def _late_after(budget: int, home: Path) -> int:
    """The milliseconds after which a hook with this budget gave up: its input never ends."""
    host = Host(home, {BUDGET: str(budget)})
    source, held = os.pipe()
    subprocess.run(HOOK, stdin=source, env=host.environment, cwd=host.folder, check=True)
    os.close(source)
    os.close(held)
    [line] = host.lines(1)
    assert line["outcome"] == "late"
    return int(line["ms"])


@pytest.mark.parametrize("call", on_every_page(calls))
def test_a_documented_call_takes_these_settings(call: str, tmp_path: Path) -> None:
    settings = settings_of(call)
    read = config.load(settings, {"HOME": str(tmp_path)})
    assert {name for name, origin in read.origins.items() if origin == "option"} == set(settings)


@pytest.mark.parametrize("line", on_every_page(commands))
def test_a_documented_command_line_is_understood(line: str) -> None:
    words = shlex.split(line.partition(" > ")[0], comments=True)
    words = words[words.index("memory-mesh") + 1 :]
    if words == ["--version"]:
        return
    command, _ = command_table.read(words)
    assert callable(command.run)
