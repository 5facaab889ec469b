"""The example of docs/filters.md prints what the page shows, and its commands run."""

import re
import sys
from pathlib import Path

from memory_mesh.policy.filter_mapping import JOINS, OPERATORS
from memory_mesh.policy.filters import ALIASES, FIELDS
from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/filters.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    (found,) = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return str(found)


def test_the_example_prints_what_the_page_shows(cli: CommandLine) -> None:
    python = CommandLine(cli.home, start=(sys.executable,), variables=cli.variables)
    done = python("-c", _block("python"))
    assert (done.out, done.err, done.code) == (_block("text"), "", 0)


def test_the_commands_of_the_page_run(cli: CommandLine) -> None:
    cli("store", "--content", "The index is new", "--metadata", '{"team": "core", "priority": 4}')
    cli("store", "--content", "The index is old", "--metadata", '{"team": "ops", "priority": 1}')
    lines = re.findall(r"(?m)^\$ (memory-mesh .+)$", PAGE)
    assert len(lines) == 2
    for line in lines:
        done = cli.shell(line)
        assert (done.code, done.err) == (0, ""), line
        assert "The index is new" in done.out, line
        assert "The index is old" not in done.out, line


def test_every_field_and_operator_is_on_the_page() -> None:
    names = set(re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```$", "", PAGE)))
    assert names >= {*FIELDS, *ALIASES}
    assert all(word in PAGE for word in (*OPERATORS, *JOINS))
