"""The example of docs/truth.md prints what the page shows."""

import re
import sys
from pathlib import Path

import pytest

from tests.surface.command import CommandLine

PAGE = (Path(__file__).parent.parent.parent / "docs/truth.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?ms)^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE)


def test_every_block_of_the_page_is_run_here() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == PAGE.count("```text") > 0


@pytest.mark.parametrize(("code", "shown"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(cli: CommandLine, code: str, shown: str) -> None:
    python = CommandLine(cli.home, start=(sys.executable,), variables=cli.variables)
    done = python("-c", code)
    assert (done.out, done.err, done.code) == (shown, "", 0)
