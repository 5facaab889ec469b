"""What one session says through the real hook is there in the next one."""

import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.agents import journal
from memory_mesh.model import Kind, Memory, Status
from tests.surface.hooking import HOOK, PATIENCE, Host

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


def known(host: Host) -> list[Memory]:
    with host.mesh() as mesh:
        return mesh.get_all()


def test_what_a_prompt_states_is_given_to_the_next_session(host: Host) -> None:
    host.prompt(SAID)
    captures(host, 1)
    next_one = host.prompt("which package manager does this repo use, pnpm?", session="s2")
    assert "in this repo we use pnpm, never npm." in next_one.context
    assert "zanzibar" not in next_one.context
    again = host.prompt("do I use tabs always?")
    assert "stored for all your projects: 1" in (again.line or "")


def test_an_event_that_an_agents_shell_sends_is_not_the_users_word(host: Host) -> None:
    """As Claude Code 2.1.197 and 2.1.326 mark the shell of their Bash tool and their hooks."""
    host.variables["AI_AGENT"] = "claude-code_2-1-326_agent"
    host.prompt(SAID)
    captures(host, 1)
    assert known(host) == []
    host.variables["AI_AGENT"] = "claude-code_2-1-326_harness"
    host.prompt(SAID)
    captures(host, 2)
    assert len(known(host)) == 2


def test_an_event_from_below_the_snapshot_of_an_agents_shell_is_not_the_users_word(
    host: Host,
) -> None:
    event = host.input("UserPromptSubmit", prompt=SAID).decode()
    command = f"echo {shlex.quote(event)} | {shlex.join(HOOK)}"
    snapshot = host.home / ".claude/shell-snapshots/snapshot-bash-1-a.sh"
    shell = f"source {snapshot} 2>/dev/null || true && eval {shlex.quote(command)} && pwd"
    subprocess.run(["bash", "-c", shell], env=host.environment, check=True, cwd=host.folder)
    captures(host, 1)
    assert known(host) == []


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
        (lesson,) = mesh.review.waiting()
        assert isinstance(lesson, Memory)
        assert lesson.kind is Kind.LESSON
        assert list(mesh.get_all(include=[Status.QUARANTINED])) == [lesson]
