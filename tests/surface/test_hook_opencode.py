"""`memory-mesh-hook --host opencode`: OpenCode's events as its plugin passes them on."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest

from memory_mesh.agents import journal
from memory_mesh.model import Kind, Memory, Status
from tests.surface.hooking import HOOK, PATIENCE, Host

BUSY = "Error: listen EADDRINUSE: address already in use :::3000"
FIXED = "The fix was to stop the old server first; it works now."
IDLE = {"type": "session.idle", "properties": {"sessionID": "ses_1"}}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))  # the key of the store is the same one
    return Host(home)


def told(host: Host, given: dict[str, object], *words: str) -> None:
    """Runs one hook as OpenCode's plugin does, from a folder that is no project."""
    done = subprocess.run(
        [*HOOK, "--host", "opencode", *words],
        input=json.dumps(given).encode(),
        stdout=subprocess.PIPE,
        env=host.environment,
        cwd=host.home,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    host.runs += 1
    host.lines(host.runs)


def held(host: Host, wanted: Callable[[Memory], bool]) -> Memory:
    """The one memory of the store, as soon as it is as wanted: captures run after their hook."""
    end = time.monotonic() + PATIENCE
    while True:
        with host.mesh() as mesh:
            found = list(mesh.get_all(include=[Status.QUARANTINED]))
        if len(found) == 1 and wanted(found[0]):
            return found[0]
        assert time.monotonic() < end, found
        time.sleep(0.05)


@pytest.mark.req("R-004-055")
@pytest.mark.parametrize("named", [True, False])
def test_an_idle_and_a_deleted_session_are_learned_from(host: Host, *, named: bool) -> None:
    folder = str(host.folder)
    failure = {"session_id": "ses_1", "cwd": folder, "tool_name": "bash", "error": BUSY}
    told(host, failure | {"tool_input": {"command": "npm start"}}, "PostToolUseFailure")
    held(host, lambda memory: "EADDRINUSE" in memory.text)
    answered: dict[str, object] = {"directory": folder, "last_assistant_message": FIXED}
    ended: dict[str, object] = {"properties": {"info": {"id": "ses_1", "directory": folder}}}
    if named:  # the event says what it is
        told(host, answered | IDLE)
    else:  # the command line does
        told(host, answered | {"session_id": "ses_1"}, "session.idle")
    held(host, lambda memory: "stop the old server" in memory.text)
    told(host, ended | ({"type": "session.deleted"} if named else {}), "session.deleted")
    lesson = held(host, lambda memory: memory.kind is Kind.LESSON)
    assert lesson.status is Status.QUARANTINED
    assert lesson.scope.project == host.project
    events = [line["event"] for line in journal.read(str(host.store)) if line["what"] == "hook"]
    assert events == ["PostToolUseFailure", "Stop", "SessionEnd"]


@pytest.mark.req("R-004-055")
@pytest.mark.parametrize("event", ["session.idle", "session.deleted"])
def test_what_the_user_said_is_stored_as_a_prompt_of_claude_code_is(host: Host, event: str) -> None:
    said = "Remember: we always deploy from the main branch."
    given: dict[str, object] = {"type": event, "directory": str(host.folder), "prompt": said}
    told(host, given | {"properties": {"sessionID": "ses_1", "info": {"id": "ses_1"}}})
    found = held(host, lambda memory: "main branch" in memory.text)
    assert (found.source.channel, found.scope.project) == ("hook", host.project)


TURN = """
import { MemoryMesh } from "./plugin.mjs"
const plugin = await MemoryMesh({ client: {}, directory: "." })
const parts = [{ id: "p", type: "text", text: "which port does the database use?" }]
await plugin["chat.message"]({ sessionID: "s" }, { message: { id: "m" }, parts })
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
console.log(parts.length)
process.exit(0)
"""


@pytest.mark.parametrize("hangs", ["trap '' TERM; sleep 600", "sleep 600 &"])
def test_a_prompt_goes_on_where_a_hook_or_what_it_started_does_not_end(
    tmp_path: Path, hangs: str
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node was not found")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\n{hangs}\n")
    hook.chmod(0o700)
    plugin = resources.files("memory_mesh.agents.hosts").joinpath("files/opencode.js").read_text()
    named = plugin.replace('HOOK = "memory-mesh-hook"', f"HOOK = {json.dumps(str(hook))}")
    (tmp_path / "plugin.mjs").write_text(named.replace("MOST_MS = 3000", "MOST_MS = 100"))
    (tmp_path / "turn.mjs").write_text(TURN)
    turn = subprocess.Popen(
        [node, "turn.mjs"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        said, _ = turn.communicate(timeout=PATIENCE)
    finally:
        os.killpg(turn.pid, signal.SIGKILL)  # what the hook left running
    assert (turn.returncode, said) == (0, "1\n")


@pytest.mark.parametrize(
    "given",
    [
        {"type": "session.created", "properties": {"info": {"id": "ses_1"}}},
        {"type": 7, "properties": "x"},
        {"type": "session.idle", "properties": None},
        {},
    ],
)
def test_other_events_of_opencode_store_nothing(host: Host, given: dict[str, object]) -> None:
    told(host, given)
    with host.mesh() as mesh:
        assert list(mesh.get_all(include=[Status.QUARANTINED])) == []
