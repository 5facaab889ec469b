"""Each row of the page of messages is tried: its situation is made, and its message compared."""

import inspect
import re
from pathlib import Path

import pytest

from tests.surface import operating, operating_copies, operating_keeping
from tests.surface.command import CommandLine

PAGE = Path(__file__).parent.parent.parent / "docs/reference/messages.md"
_ROW = re.compile(r'^\| <a id="([a-z-]+)"></a>(`+)(.+?)\2 \| ([^|]+) \| ([^|]+) \|$', re.MULTILINE)
ROWS = {name: message.strip() for name, _, message, *_ in _ROW.findall(PAGE.read_text("utf-8"))}
SITUATIONS = {
    name.replace("_", "-"): found
    for module in (operating, operating_copies, operating_keeping)
    for name, found in vars(module).items()
    if inspect.isfunction(found) and found.__module__ == module.__name__ and name[0] != "_"
}


def test_every_row_has_a_situation_and_every_situation_a_row() -> None:
    assert ROWS
    assert set(ROWS) == set(SITUATIONS)
    assert PAGE.read_text("utf-8").count('<a id="') == len(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_the_message_of_a_row_is_what_an_operator_sees(name: str, cli: CommandLine) -> None:
    said = SITUATIONS[name](cli)
    parts = map(re.escape, ROWS[name].split("…"))
    assert re.search(".*?".join(parts), said, re.DOTALL), said
