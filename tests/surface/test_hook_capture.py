"""What one session says through the real hook is there in the next one."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.agents import journal
from memory_mesh.model import Kind, Memory, Status
from tests.surface.hooking import PATIENCE, Host

SAID = "in this repo we use pnpm, never npm. I always use tabs. <private>zanzibar</private> fix it"


@pytest.fixture(params=["process", "daemon"])
def host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Host]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))  # the key of the store is the same one
    host = Host(home)
    if request.param == "process":
        yield host
        return
    with host.daemon():
        yield host


def captures(host: Host, count: int) -> None:
    """Waits until so many captures have stored something."""
    end = time.monotonic() + PATIENCE
    while sum(one["what"] == "capture" for one in journal.read(str(host.store))) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_a_prompt_states_is_given_to_the_next_session(host: Host) -> None:
    host.prompt(SAID)
    captures(host, 1)
    next_one = host.prompt("which package manager does this repo use, pnpm?", session="s2")
    assert "in this repo we use pnpm, never npm." in next_one.context
    assert "zanzibar" not in next_one.context
    again = host.prompt("do I use tabs always?")
    assert "stored for all your projects: 1" in (again.line or "")


def test_a_failure_and_its_fix_wait_for_review(host: Host) -> None:
    host(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": "npm start"},
        error="Error: EADDRINUSE",
    )
    captures(host, 1)
    host("Stop", last_assistant_message="I stopped the old container and npm start works now.")
    captures(host, 2)
    host("SessionEnd", reason="other")
    captures(host, 3)
    with host.mesh() as mesh:
        (lesson,) = mesh.awaiting_review()
        assert isinstance(lesson, Memory)
        assert lesson.kind is Kind.LESSON
        assert list(mesh.get_all(include=[Status.QUARANTINED])) == [lesson]
