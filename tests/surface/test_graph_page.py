"""The example of docs/graph.md prints what the page shows, and its commands run."""

import re
import sys
from pathlib import Path

from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/graph.md").read_text(encoding="utf-8")


def _block(language: str) -> str:
    (found,) = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)
    return str(found)


def test_the_example_prints_what_the_page_shows(cli: CommandLine) -> None:
    python = CommandLine(cli.home, start=(sys.executable,), variables=cli.variables)
    done = python("-c", _block("python"))
    assert (done.out, done.err, done.code) == (_block("text"), "", 0)


def test_the_commands_of_the_page_run(cli: CommandLine) -> None:
    lines = re.findall(r"(?m)^\$ (memory-mesh .+)$", PAGE)
    assert len(lines) == 6
    named = {
        "mem_1767225600000_0a1b2c": cli.stored("Tea"),
        "mem_1767225600000_0a1b2d": cli.stored("Milk"),
    }
    for line in lines:
        for shown, made in named.items():
            line = line.replace(shown, made)  # noqa: PLW2901
        done = cli.shell(line)
        assert done.code == 0, line
        assert not done.err or "has no memories" in done.err, line  # nothing is of that week here
