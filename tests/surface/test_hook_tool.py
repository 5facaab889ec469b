"""The hook before a tool runs: a call that a lesson warns of is held once, a rule refuses it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.agents import journal
from tests.surface.hooking import Host
from tests.until import until

RULE = "`rm -rf build` removed the fixtures: use `just clean`."
HELD, DONE = "rm -fr ./build", "just clean"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    host = Host(home)
    with host.mesh() as mesh:
        mesh.lessons.record(RULE)
    yield host
    host.stop_daemon()


def asked(host: Host, command: str, **facts: Any) -> dict[str, str]:
    said = host("PreToolUse", tool_name="Bash", tool_input={"command": command}, **facts)
    assert said.code == 0
    found: dict[str, str] = said.whole.get("hookSpecificOutput", {})
    return found


def captured(host: Host, count: int) -> None:
    """Waits until so many events were learned from: that goes on after the hook has ended."""

    def lines() -> int:
        told = journal.read(str(host.store))
        return sum(one["what"] == "capture" for one in told)

    until(lambda: lines() >= count)


def test_a_call_is_held_once_in_a_session(host: Host) -> None:
    held = asked(host, HELD)
    assert held["hookEventName"] == "PreToolUse"
    assert held["permissionDecision"] == "deny"
    assert RULE in held["permissionDecisionReason"]
    assert "repeat it" in held["permissionDecisionReason"]
    assert asked(host, HELD) == {}
    assert asked(host, "rm -rf build && ls") == {}  # the lesson was told, whatever the spelling
    assert asked(host, HELD, session="s2") != {}


def test_a_call_that_no_lesson_is_about_goes_on_in_silence(host: Host) -> None:
    for command in (DONE, "git status", "echo 'rm -rf build'"):
        assert asked(host, command) == {}
    assert host("PreToolUse", tool_name="Read", tool_input={"file_path": "build/x"}).raw == b""


def test_a_lesson_that_the_user_enforces_refuses_each_time(host: Host) -> None:
    with host.mesh() as mesh:
        mesh.lessons.record("Never `git push --force` here.", enforce=True)
    for _ in range(2):
        held = asked(host, "git push -f origin main")
        assert "made this a rule" in held["permissionDecisionReason"]


def test_an_agent_cannot_make_a_rule(host: Host) -> None:
    with host.mesh(channel="mcp") as mesh:
        block = mesh.lessons.record("Never `git status` here.", enforce=True)
    with host.mesh() as mesh:
        mesh.review.decide(block.memory_id, approve=True)
    asked(host, "git status")
    assert asked(host, "git status") == {}


def test_a_failure_warns_once_it_is_confirmed(host: Host) -> None:
    """What a hook learned waits for review; a second session that learns it confirms it, too."""
    call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make release"}}
    for round_, session in enumerate(("a", "b")):
        host("PostToolUseFailure", session=session, error="error: tag v1 exists already", **call)
        captured(host, 3 * round_ + 1)
        fix = "The release works now: delete the tag first with `git tag -d v1`."
        host("Stop", session=session, last_assistant_message=fix)
        captured(host, 3 * round_ + 2)
        host("SessionEnd", session=session)
        captured(host, 3 * round_ + 3)
        warned = asked(host, "make release", session=f"after {session}")
        assert bool(warned) is (session == "b")
    assert "git tag -d" in warned["permissionDecisionReason"]


def test_an_edit_of_a_file_is_held(host: Host) -> None:
    with host.mesh() as mesh:
        mesh.lessons.record("src/api.ts is generated: change `openapi.yaml` instead.")
    path = str(host.folder / "src/api.ts")
    edit = {"file_path": path, "new_string": "x"}
    said = host("PreToolUse", tool_name="Edit", tool_input=edit)
    assert "openapi.yaml" in str(said.whole)


def test_changed_and_gone_code_reaches_a_prompt_as_such(host: Host) -> None:
    """The worker of the hook, without a daemon, in the folder of the session."""
    folder = host.folder
    (folder / ".git").rmdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name in ("push", "pop"):
        (folder / f"{name}.py").write_text(f"def {name}(queue):\n    return queue.{name}()\n")
    with host.mesh() as mesh:
        mesh._folder = str(folder)
        mesh.add("The push of the queue never waits", evidence="push.py#push")
        mesh.add("The pop of the queue always waits", evidence="pop.py#pop")
    (folder / "push.py").write_text("def push(queue):\n    return queue.put()\n")
    (folder / "pop.py").unlink()
    said = host("UserPromptSubmit", prompt="do push and pop of the queue ever wait for a job?")
    assert "the code changed since" in said.context
    assert "always waits" not in said.context


def test_the_end_of_a_session_puts_changed_code_up_for_review(host: Host) -> None:
    folder = host.folder
    (folder / ".git").rmdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "pop.py").write_text("def pop(queue):\n    return queue.pop()\n")
    host("UserPromptSubmit", prompt="Remember that pop.py never waits for a job.")
    captured(host, 1)
    (folder / "pop.py").unlink()
    host("SessionEnd")
    captured(host, 2)
    with host.mesh() as mesh:
        [asked] = mesh.review.proposals()
        assert asked.verb == "delete"
        assert "pop.py" in asked.reason


def test_what_a_learned_lesson_recommends_goes_on(host: Host) -> None:
    call: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "npm run worker"}}
    fix = "REDIS_URL=redis://localhost npm run worker"
    host("PostToolUseFailure", error="Error: REDIS_URL is not set", **call)
    captured(host, 1)
    host("Stop", last_assistant_message=f"Running `{fix}` fixed it.")
    captured(host, 2)
    host("SessionEnd")
    captured(host, 3)
    with host.mesh() as mesh:
        [waiting] = mesh.review.waiting()
        mesh.review.decide(waiting.id, approve=True)
    assert asked(host, fix, session="s2") == {}
    assert asked(host, "export REDIS_URL=x; npm run worker", session="s2") == {}
    assert asked(host, "npm run worker", session="s2") != {}
