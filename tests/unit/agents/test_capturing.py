"""When hooks count as having stopped to learn: told from lines of the journal."""

import pytest

from memory_mesh.agents import journal
from memory_mesh.agents.hook import events
from memory_mesh.base.typed import Any

NOW = 1_800_000_000.0


def hook(event: str, *, ago: float = 600.0) -> dict[str, Any]:
    return {"at": journal.stamp(NOW - ago), "what": "hook", "event": event, "outcome": "answered"}


def capture(outcome: str, *, reason: str | None = None) -> dict[str, Any]:
    told = {"at": journal.stamp(NOW - 500), "what": "capture", "outcome": outcome}
    return told | ({"reason": reason} if reason else {})


PROMPT, STOP, START = hook("UserPromptSubmit"), hook("Stop"), hook("SessionStart")
DONE = capture("done")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([], None),
        ([PROMPT, STOP], None),
        ([PROMPT, STOP, PROMPT], (3, "no capture ended")),
        ([PROMPT, DONE, STOP, DONE, PROMPT, DONE], None),
        ([DONE, PROMPT, STOP, PROMPT, STOP], (4, "no capture ended")),
        ([PROMPT, STOP, PROMPT, STOP, DONE], None),
        ([PROMPT, capture("failed", reason="StoreError")] * 3, (3, "StoreError")),
        ([START] * 4, None),
        ([START] * 5, (5, "sessions start, but no prompt reaches the hook")),
        ([*[START] * 9, DONE], None),
        ([hook("UserPromptSubmit", ago=5)] * 9, None),
    ],
)
def test_hooks_without_captures_mean_that_capture_has_stopped(lines, found):
    assert events.missed(lines, NOW) == found


def test_a_later_time_is_the_greater_text():
    assert journal.stamp(NOW) < journal.stamp(NOW + 0.5) < journal.stamp(NOW + 90_000)
