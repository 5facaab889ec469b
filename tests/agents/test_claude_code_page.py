"""Every command of docs/agents/claude-code.md prints what the page shows, with a real agent."""

import re
import shlex
from pathlib import Path

import pytest

from tests.agents.fake_api import FakeApi
from tests.agents.real_claude import RealClaude, binaries, versions_for

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/agents/claude-code.md").read_text(encoding="utf-8")
STEPS = re.findall(r"(?ms)^```console\n\$ ([^\n]+)\n(.*?)^```$", PAGE)
(CONTEXT,) = re.findall(r"(?ms)^```text\n(.*?)^```$", PAGE)
pytestmark = pytest.mark.slow


def _shows(text, shown):
    """The parts of a shown text between its gaps stand in the text, in this order."""
    place = 0
    for part in re.split(r"(?m)^…$|…", shown):
        place = text.find(part.strip("\n"), place)
        assert place >= 0, f"{part!r} is not in {text!r}"


@pytest.mark.parametrize("version", versions_for("the page"))
def test_the_steps_of_the_page_print_what_it_shows(version, tmp_path):
    if version not in binaries():
        pytest.skip(f"no Claude Code ({version}): run .ci/agents, which needs npm")
    agent = RealClaude.in_empty_home(binaries()[version], tmp_path, patient=True)
    requests = []
    try:
        for line, shown in STEPS:
            name, *words = shlex.split(line)
            if name == "uv":
                continue
            if words[0] == "-p":
                with FakeApi([shown.strip()]) as api:
                    printed = agent.claude(*words, api=api.url)
                    requests.append(api.turns[0])
                if "Remember" in line:
                    agent.stored("6543")
            else:
                printed = agent.mesh(*words) if name == "memory-mesh" else agent.claude(*words)
            ours = printed.replace(str(agent.binary), "/home/ada/bin/claude")
            _shows(ours.replace(str(agent.home), "/home/ada"), shown)
    finally:
        agent.close()
    today = re.sub(r"\d{4}-\d\d-\d\d", "…", CONTEXT)
    _shows(requests[1].text.replace("\\n", "\n"), today)


def test_every_block_of_the_page_is_a_step():
    assert len(STEPS) == PAGE.count("```console") == 8
