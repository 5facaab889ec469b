"""The page about explanations: its example runs, and its tables are complete."""

import re
from pathlib import Path

import pytest

from memory_mesh.model.why import Gate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explain.md"


def test_the_example_runs_and_says_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    told = capsys.readouterr().out
    assert "It is superseded, replaced by" in told
    assert "The block records a retain" in told
    assert "is hit 1 of 1" in told
    assert told.endswith("\nstatus\n")


def test_every_gate_is_on_the_page_in_its_order() -> None:
    listed = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert listed == list(Gate)
