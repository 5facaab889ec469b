"""docs/agents/adapters.md and examples/agents: they run, and print what they show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.fake_openai import fake_openai

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/agents/adapters.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def fake(monkeypatch):
    with fake_openai() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield running


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("code", "shown"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(code, shown, capsys, elsewhere, fake):
    exec(compile(code, "docs/agents/adapters.md", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == shown
    if fake.asked:
        memories, _ = fake.asked[-1]["messages"]
        pattern = r"<memories-\w+>\n.*?</memories-\w+>"
        (of_page,) = re.findall(pattern, PAGE, re.DOTALL)
        (sent,) = re.findall(pattern, memories["content"], re.DOTALL)
        assert _plain(sent) == _plain(of_page)


def _plain(text: str) -> str:
    """Without the fence word and the date."""
    return re.sub(r"memories-\w+|\d{4}-\d\d-\d\d", "", text)


def test_every_block_of_python_is_run():
    assert PAGE.count("```python") == len(EXAMPLES) == 2


def test_the_graph_of_the_examples_knows_its_users_in_the_second_run(tmp_path):
    script = ROOT / "examples/agents/langgraph_memory.py"
    command = [sys.executable, str(script), str(tmp_path / "store")]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(2)
    ]
    assert runs[0][2:] == ["ann: ['I drink green tea']", "bob: ['I drink black coffee']"]
    assert runs[1][0] == runs[0][2]
    assert runs[1][1] == runs[0][3]
