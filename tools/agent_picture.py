"""Records what one session of Claude Code tells the next, and draws it.

    python tools/agent_picture.py    writes docs/pictures/agent.svg (needs .ci/agents)

Claude Code and its hooks are real; the model is a script on this machine, so that nothing leaves
it. The script knows no answer: it repeats the line of the memory that stands in the request.
"""

import re
import sys
import tempfile
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.agents.fake_api import FakeApi, Json, ToolUse  # noqa: E402  # of this checkout
from tests.agents.real_claude import RealClaude, binaries  # noqa: E402
from tools.terminal_picture import PICTURES, Piece, drawn, typed  # noqa: E402

PICTURE, TITLE = PICTURES / "agent.svg", "Claude Code remembers in a new session"
TOLD, ASKED = "Remember that we deploy on Fridays.", "On which day do we deploy?"
_RECALLED = re.compile(r"\d+\. (\d{4}-\d\d-\d\d)[^|]*\| ([^\\]*Fridays)")


class Repeating(FakeApi):
    """A model that says what the memory in the request says, and whose words these are."""

    def answer(self, path: str, body: Json) -> str | ToolUse:
        """Read the request for what was recalled."""
        said = super().answer(path, body)
        recalled = _RECALLED.search(self.requests[-1].text)
        if recalled is None:
            return said
        day = date.fromisoformat(recalled[1]).strftime("%A")
        return f"{recalled[2]}.\n(from memory: you, {day})"


def session(agent: RealClaude) -> list[list[Piece]]:
    """Two sessions that share nothing but the memory."""
    changes = agent.mesh("init", "--yes").splitlines()[-1]
    lines = typed("memory-mesh init", changes)
    with Repeating() as api:
        for prompt in (TOLD, ASKED):
            said = agent.claude("-p", prompt, api=api.url)
            lines += [[], *typed(f'claude -p "{prompt}"', said)]
            if prompt == TOLD:
                agent.stored("Fridays")
    return lines


def main() -> int:
    """Writes the picture."""
    found = list(binaries().values())
    if not found:
        print("Claude Code is not installed here: run .ci/agents")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        agent = RealClaude.in_empty_home(found[-1], Path(folder), patient=True)
        try:
            lines = session(agent)
        finally:
            agent.close()
    picture = drawn(lines, TITLE, moving=True)
    PICTURE.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
