"""Every example of docs/traces.md prints what the page shows, and every command runs."""

import re
import sys
from pathlib import Path

import pytest

from memory_mesh.formats import trace_file
from tests.surface.command import CommandLine

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/traces.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE)
COMMANDS = re.findall(r"(?m)^\$ (memory-mesh .+)$", PAGE)


def test_every_block_of_the_page_is_run_here() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == PAGE.count("```text") == 3
    assert len(COMMANDS) == 8


@pytest.mark.parametrize(("code", "shown"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(cli: CommandLine, code: str, shown: str) -> None:
    python = CommandLine(cli.home, start=(sys.executable,), variables=cli.variables)
    done = python("-c", code)
    assert (done.out, done.err, done.code) == (shown, "", 0)


def test_the_commands_of_the_page_run(cli: CommandLine) -> None:
    shown = [cli.shell(line) for line in COMMANDS]
    assert [(done.code, done.err) for done in shown] == [(0, "")] * len(shown)
    assert "Fix the flaky login test" in shown[2].out
    assert shown[6].out == "[MemoryMesh] Imported 0 traces, 2 already known.\n"
    assert (cli.home / "projects/default/memory/short_term/execution_log.md").is_file()


def test_the_file_of_the_page_is_read_and_written_as_it_stands() -> None:
    (text,) = re.findall(r"(?ms)^```markdown\n(.*?)^```$", PAGE)
    assert trace_file.render(trace_file.parse(text)) == text
