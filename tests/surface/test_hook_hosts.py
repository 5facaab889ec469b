"""`memory-mesh-hook --host NAME`: each host's events, in the shape that it sends and reads."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.agents.hook import hosts
from memory_mesh.model import Memory, Status
from tests.agents import host_events
from tests.surface.hooking import HOOK, PATIENCE, PLANTED, PROMPT, Host

BUSY = "Error: listen EADDRINUSE: address already in use :::3000"
EACH = [(host, event) for host in host_events.NAMES for event in host_events.EVENTS[host]]
NAMED = {
    name: {ours: theirs for theirs, ours in hosts.EVENTS[name].items()} for name in hosts.EVENTS
}
FAILURES = [
    (host, event) for host, event in EACH if hosts.EVENTS[host][event] in (hosts.FAILED, hosts.RAN)
]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))  # the key of the store is the same one
    return Host(home)


def ran(host: Host, name: str, event: str, **facts: object) -> dict[str, Any]:
    """Runs one hook as a host does; what it printed."""
    done = subprocess.run(
        [*HOOK, "--host", name, event],
        input=host_events.sent(name, event, str(host.folder), **facts),
        stdout=subprocess.PIPE,
        env=host.environment,
        cwd=host.home,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0
    host.runs += 1
    host.lines(host.runs)
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found


def held(host: Host, wanted: Callable[[Memory], bool]) -> Memory:
    """The memory that is wanted, as soon as it is stored: captures run after their hook."""
    end = time.monotonic() + PATIENCE
    while True:
        with host.mesh() as mesh:
            found = [each for each in mesh.get_all(include=[Status.QUARANTINED]) if wanted(each)]
        if found:
            return found[0]
        assert time.monotonic() < end
        time.sleep(0.05)


def test_each_event_that_is_asked_for_was_seen() -> None:
    for name, asked in hosts.EVENTS.items():
        seen = set(host_events.EVENTS[name])
        if name == "opencode":  # of Claude Code's its plugin sends what has no name of its own
            seen |= {hosts.STOP, hosts.COMPACT, hosts.END}
        assert set(asked) == seen, name
        assert seen.issuperset(host_events.read(name)["as published"]), name


@pytest.mark.parametrize(("name", "event"), EACH)
def test_an_event_is_told_in_our_words(name: str, event: str) -> None:
    found = hosts.translated(host_events.EVENTS[name][event], event, name)
    ours, failed = hosts.EVENTS[name][event], hosts.FAILED
    assert found["hook_event_name"] == (failed if ours == hosts.RAN else ours)
    assert found["said_event"] == event
    assert (found["session_id"], found["cwd"]) == ("s1", "/home/you/shop")
    if ours == hosts.PROMPT:
        assert found["prompt"] == PROMPT
    elif name != "opencode":
        assert "prompt" not in found
    if ours == hosts.STOP and name != "copilot":  # it does not say what was answered
        assert found["last_assistant_message"] == "Understood."
    if ours in (hosts.RAN, failed):
        assert found["tool_input"]["command"]
        assert found["error"] == BUSY


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("boom\n<shellId: 0 completed with exit code 3>", "boom"),
        ("fine\n<shellId: 0 completed with exit code 0>", ""),
        ("Output: boom\nExit Code: 127\nProcess Group PGID: 7", "boom"),
        ("Output: what is an exit code?", ""),
        ("", ""),
        (None, ""),
        ({"llmContent": 7}, ""),
    ],
)
def test_a_tool_failed_if_it_ended_with_another_code_than_0(answer: object, error: str) -> None:
    given = {"hook_event_name": "PostToolUse", "tool_response": answer}
    found = hosts.translated(given, None, "qwen")
    assert found.get("error", "") == error
    assert found["hook_event_name"] == (hosts.FAILED if error else hosts.RAN)


@pytest.mark.parametrize("name", host_events.NAMES)
def test_a_start_gives_the_memory_where_the_host_reads_it_and_a_resume_if_it_is_gone(
    host: Host, name: str
) -> None:
    with host.mesh() as mesh:
        mesh.add(PLANTED)
    event = NAMED[name][hosts.START]
    said = ran(host, name, event)
    if name == "copilot":
        assert list(said) == ["additionalContext"]
        context = said["additionalContext"]
    elif name == "cursor":
        assert list(said) == ["additional_context"]
        context = said["additional_context"]
    else:
        assert set(said) == {"hookSpecificOutput", "systemMessage"}
        assert said["hookSpecificOutput"]["hookEventName"] == event
        context = said["hookSpecificOutput"]["additionalContext"]
    assert PLANTED in context
    assert bool(ran(host, name, event, source="resume")) is (name in {"copilot", "gemini"})


@pytest.mark.parametrize("name", host_events.NAMES)
def test_a_prompt_is_given_what_fits_and_teaches_what_it_says(host: Host, name: str) -> None:
    with host.mesh() as mesh:
        mesh.add(PLANTED)
    event = NAMED[name][hosts.PROMPT]
    found = json.dumps(ran(host, name, event))
    assert (PLANTED in found) is (name != "cursor")  # it reads nothing there
    said = "Remember: we always deploy from the main branch."
    ran(host, name, event, prompt=said)
    learned = held(host, lambda memory: "main branch" in memory.text)
    assert (learned.source.channel, learned.scope.project) == ("hook", host.project)


@pytest.mark.parametrize(("name", "event"), FAILURES)
def test_a_failed_tool_becomes_a_candidate_for_a_lesson(host: Host, name: str, event: str) -> None:
    assert ran(host, name, event) == {}
    assert held(host, lambda memory: "failed" in memory.text).status is Status.QUARANTINED


@pytest.mark.parametrize("name", hosts.SHELLS)
def test_what_a_hosts_own_shell_tool_sends_teaches_nothing(host: Host, name: str) -> None:
    host.variables[hosts.SHELLS[name]] = "1"
    ran(host, name, NAMED[name][hosts.PROMPT], prompt="Remember: we use yarn, never npm.")
    del host.variables[hosts.SHELLS[name]]
    ran(host, name, NAMED[name][hosts.PROMPT], prompt="Remember: we deploy from main.")
    held(host, lambda memory: "main" in memory.text)
    with host.mesh() as mesh:
        assert not any("yarn" in each.text for each in mesh.get_all())
