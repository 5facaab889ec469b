"""Every example of docs/which-wall.md prints what the page shows."""

import re
import sys
from pathlib import Path

import pytest

from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/which-wall.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE)
COMMANDS = re.findall(r"(?m)^\$ (memory-mesh .+)$", PAGE)


def test_every_block_of_the_page_is_run_here() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == PAGE.count("```text") > 0
    assert len(COMMANDS) > 0
    assert PAGE.count("```") == 2 * (2 * len(EXAMPLES) + 2)  # the two more hold the commands


@pytest.mark.parametrize(("code", "shown"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(cli: CommandLine, code: str, shown: str) -> None:
    python = CommandLine(cli.home, start=(sys.executable,), variables=cli.variables)
    done = python("-c", code)
    assert (done.out, done.err, done.code) == (shown, "", 0)


def test_the_commands_find_what_they_stored(cli: CommandLine) -> None:
    for line in COMMANDS:
        done = cli.shell(line)
        told = done.err.startswith("[MemoryMesh] From user alice: mem_")
        assert (told or done.err == "", done.code) == (True, 0)
    assert done.out.endswith("\nI live in Oslo\n")


def test_the_readme_leads_to_the_page() -> None:
    assert "(docs/which-wall.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
