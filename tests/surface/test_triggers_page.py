"""The open questions of specification 001 have answers, and the code of docs/triggers.md runs."""

import re
from pathlib import Path

import pytest

from memory_mesh.config import SETTINGS
from memory_mesh.search.ranking.points import SPECIALTIES
from tests.surface.test_docs_config import blocks

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "triggers.md").read_text(encoding="utf-8")
RECORD = (DOCS / "decisions/0037-triggers-in-the-default-order.md").read_text(encoding="utf-8")
ROWS = [f"R-001-{number:03}" for number in range(88, 94)]


def answer(row):
    (line,) = re.findall(rf"^\| {row} \|(.*)\|$", RECORD, re.MULTILINE)
    question, said, settings = (cell.strip() for cell in line.split("|"))
    return question, said, re.findall(r"`([a-z_]+)`", settings)


@pytest.mark.req(
    "R-001-088", "R-001-089", "R-001-090", "R-001-091", "R-001-092", "R-001-093"
)  # fmt: skip
@pytest.mark.parametrize("row", ROWS)
def test_an_open_question_is_answered_and_its_setting_exists(row):
    question, said, settings = answer(row)
    assert question.endswith("?")
    assert len(said) > 40
    assert settings
    assert set(settings) <= set(SETTINGS)


@pytest.mark.req("R-001-093")
@pytest.mark.parametrize("agent", SPECIALTIES)
def test_the_specialties_of_the_page_are_those_of_the_code(agent):
    (listed,) = re.findall(rf"^\| {agent} \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(listed.split(", ")) == SPECIALTIES[agent]


def test_the_example_of_the_page_runs(tmp_path, capsys):
    (example,) = blocks(PAGE, "python")
    names: dict[str, object] = {}
    exec(compile(example, "docs/triggers.md", "exec"), names)
    assert capsys.readouterr().out == "40 Authentication module auth|login|security\n"
    assert "### Authentication module\n*Importance: HIGH*" in str(names["prompt"])
