"""What a hook loads: it runs at every prompt, and each module is paid for at every prompt."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surface.hooking import PLANTED, PROMPT, Host

LIGHT = {
    "memory_mesh.base",
    "memory_mesh.base.masking",
    "memory_mesh",
    "memory_mesh._version",
    "memory_mesh.agents",
    "memory_mesh.agents.daemon",
    "memory_mesh.agents.daemon.client",
    "memory_mesh.agents.daemon.place",
    "memory_mesh.agents.hook",
    "memory_mesh.agents.hook.worker",
    "memory_mesh.agents.hook.hosts",
    "memory_mesh.agents.hook.main",
    "memory_mesh.agents.journal",
    "memory_mesh.agents.request",
    "memory_mesh.base.typed",
    "memory_mesh.platform",
    "memory_mesh.platform.system",
}
AFTERWARDS = {"memory_mesh.agents.sessions"}  # when the host has its answer
NEEDLESS = {
    "argparse", "ast", "asyncio", "dataclasses", "inspect", "logging", "random", "shutil", "signal",
    "socket", "subprocess", "tempfile", "tomllib", "typing", "uuid", "numpy", "onnxruntime",
    "memory_mesh.sync", "memory_mesh.mesh.async_mesh", "memory_mesh.write.add",
    "memory_mesh.text.scrub", "memory_mesh.write.claims", "memory_mesh.write.rules.drafts",
    "memory_mesh.models.embedders", "memory_mesh.models.lance.index",
}  # fmt: skip
HEAVY_STANDARD = {"collections", "enum", "functools", "json", "pathlib", "re", "threading"}
SHOW = """
import os, sys
real = os._exit
def shown(code):
    with open({file!r}, "a") as file:
        file.write(" ".join(sys.modules) + "\\n")
    real(code)
os._exit = shown
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    host = Host(home)
    with host.mesh() as mesh:
        mesh.add(PLANTED)
    return host


def test_through_a_daemon_a_hook_loads_its_light_modules_alone(host: Host, tmp_path: Path) -> None:
    with host.daemon():
        host.start(session="first")  # the daemon has its modules now
        folder, file = tmp_path / "show", tmp_path / "modules"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(SHOW.format(file=str(file)))
        host.variables["PYTHONPATH"] = str(folder)
        assert PLANTED in host.start(session="second").context
        assert host.lines(2)[1]["through"] == "daemon"
    loaded = [set(line.split()) for line in _lines(file, 2)]  # the hook itself and its worker
    front, worker = sorted(loaded, key=len)
    assert {name for name in front if name.startswith("memory_mesh")} <= LIGHT
    assert {name for name in worker if name.startswith("memory_mesh")} == LIGHT | AFTERWARDS
    bare = set(_modules("pass"))
    assert sorted((worker - bare) & (HEAVY_STANDARD | NEEDLESS)) == []


def test_without_a_daemon_a_recall_loads_what_it_uses_alone(host: Host) -> None:
    given = {"event": "UserPromptSubmit", "prompt": PROMPT, "session_id": "s", "part": "recall"}
    code = f"""
from memory_mesh.agents import request
from memory_mesh.agents.hook import alone, worker
asked = request.made("hook", {given!r}, cwd={str(host.folder)!r})
assert {PLANTED!r} in alone.answer(alone.stores(), asked)["context"]
"""
    loaded = set(_modules(code, host)) - set(_modules("pass"))
    assert sorted(loaded & NEEDLESS) == []
    assert len(loaded) < 260, sorted(loaded)  # 252: statements of their own for both ledgers


def _modules(code: str, host: Host | None = None) -> list[str]:
    show = "\nimport sys, json; print(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code + (show if host else show.replace(", json", "").replace(
            "json.dumps(list(sys.modules))", "repr(list(sys.modules)).replace(chr(39), chr(34))"))],
        stdout=subprocess.PIPE, env=None if host is None else host.environment, check=True,
    )  # fmt: skip
    found: list[str] = json.loads(done.stdout)
    return found


def _lines(file: Path, count: int) -> list[str]:
    import time

    for _ in range(6_000):
        if file.exists() and len(lines := file.read_text().splitlines()) >= count:
            return lines[:count]
        time.sleep(0.01)
    raise AssertionError(file.read_text() if file.exists() else "nobody ended")
