"""Capture that has stopped is told at a session's start, with the next step: by real hooks."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from memory_mesh.agents import journal
from memory_mesh.agents.doctor import hooks
from memory_mesh.care.key_file import KeyFile
from tests.surface.hooking import PATIENCE, PLANTED, AwayHost, Host
from tests.surface.serving import served

WARNING = "nothing was learned from the last 3 events; to see why, run: memory-mesh doctor"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return Host(home)


def wrote(host: Host, *events: str, ago: float = 600.0, **facts: object) -> None:
    """Leaves lines in the journal, as hooks did some time ago."""
    for event in events:
        line = {"at": journal.stamp(time.time() - ago), "what": "hook", "event": event, **facts}
        path = f"{host.store}/{journal.FOLDER}/{journal.NAME}"
        journal.append(path, json.dumps(line).encode() + b"\n")


def captures(host: Host, count: int) -> list[dict[str, Any]]:
    end = time.monotonic() + PATIENCE
    while True:
        told = [one for one in journal.read(str(host.store)) if one["what"] == "capture"]
        if len(told) >= count:
            return told
        assert time.monotonic() < end, told
        time.sleep(0.01)


def test_every_capture_leaves_a_line_also_where_there_is_nothing_to_learn(host: Host) -> None:
    host.prompt("hello")
    host.prompt("Remember that the staging database of the shop listens on port 6543.")
    told = {line["stored"]: line["outcome"] for line in captures(host, 2)}
    assert told == {0: "done", 1: "done"}


def test_a_capture_that_fails_leaves_a_line_that_says_how(host: Host) -> None:
    host.prompt("Remember that the shop listens on port 6543.")
    captures(host, 1)
    KeyFile.of(host.store, host.environment).path.chmod(0o644)
    said = host.prompt("Remember that the office listens on port 6544.")
    assert said.code == 0
    line = captures(host, 2)[1]
    assert (line["outcome"], line["reason"]) == ("failed", "StoreError")
    assert "6544" not in json.dumps(line)


def test_a_start_tells_that_capture_has_stopped_and_what_to_do(host: Host) -> None:
    with host.mesh() as mesh:
        mesh.add(PLANTED)
    assert WARNING not in (host.start(session="before").line or "")
    wrote(host, "UserPromptSubmit", "Stop", "SessionEnd")
    said = host.start(session="after")
    assert PLANTED in said.context
    assert said.line is not None
    assert said.line.endswith(f"; {WARNING}")
    with host.daemon():
        assert WARNING in (host.start(session="through a daemon").line or "")
    host.variables["MEMORY_MESH_DAEMON"] = "0"
    host.prompt("hello", session="works again")
    captures(host, 1)
    assert WARNING not in (host.start(session="later").line or "")


def test_a_hook_whose_key_may_only_read_says_that_nothing_was_stored(tmp_path: Path) -> None:
    with served(tmp_path / "store", embedder="none") as service:
        key = service.new_key("onlooker", {"lookers": "reader"}, speaks_as="user")
        stated = {"MEMORY_MESH_ACCESS_KEY": key, "MEMORY_MESH_NAMESPACE": "lookers"}
        away = AwayHost(tmp_path / "home", {"MEMORY_MESH_STORE": service.url, **stated})
        away.prompt("Remember: I always deploy to the staging host heron")
        (line,) = captures(away, 1)
        assert line["reason"] == "NotAllowed"
        next_one = away.prompt("Where do I deploy to?")
        assert "was stored: this key may only read" in (next_one.line or "")
    assert "this key may only read" in hooks._capture_fix("NotAllowed")
