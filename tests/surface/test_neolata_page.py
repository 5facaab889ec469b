"""docs/reference/neolata.md: its examples run as shown, and every method is on it."""

import re
from pathlib import Path

import pytest

from memory_mesh.compat.neolata import memory_graph

PAGE = (Path(__file__).parents[2] / "docs/reference/neolata.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", PAGE, re.DOTALL)


@pytest.mark.parametrize(("code", "shown"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(code, shown, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/reference/neolata.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_every_method_is_on_the_page_and_every_method_of_the_page_is_there():
    table = PAGE[PAGE.index("| family") : PAGE.index("`ingest` stores")]
    named = set(re.findall(r"`(\w+)`", table))
    own = {name for name in dir(memory_graph.MemoryGraph) if not name.startswith("_")}
    assert named == own
