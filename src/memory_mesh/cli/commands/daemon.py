"""`memory-mesh daemon`."""

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import client, place
from memory_mesh.cli import output, stated_store
from memory_mesh.config import load
from memory_mesh.errors import NotAllowed, StoreError
from memory_mesh.model import Json
from memory_mesh.typed import Any

EXAMPLE = "memory-mesh daemon status"
_ASK_SECONDS = 2.0
_START_SECONDS = 15.0
_STOP_SECONDS = 60.0  # that it may take to finish what it has begun


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        "action", nargs="?", choices=("status", "start", "stop", "run"), default="status",
        help="show whether a daemon runs, start one, stop it, or run it in the foreground",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Shows, starts, stops or runs the daemon of the store."""
    variables = {**os.environ, **stated_store.variables(options)}
    config = load({}, variables)  # says what is wrong with the settings
    asking = requests.made("status", environment=variables)
    if options.action == "run":
        return _run(asking["store"], config.daemon_idle_seconds)
    if options.action == "stop":
        return _stop(asking, as_json=options.json)
    if options.action == "start":
        _start(asking["store"], variables)
    return _status(asking, as_json=options.json)


def _status(asking: dict[str, Any], *, as_json: bool) -> int:
    try:
        reply = client.ask(asking, seconds=_ASK_SECONDS)
    except client.NoDaemon as refusal:
        plain: dict[str, Json] = {"running": False, "store": asking["store"], "why": refusal.reason}
        line = f"[MemoryMesh] No daemon answers for {output.named(asking['store'])}: {refusal}."
        return output.answer(
            plain, line, as_json=as_json, remark=_next_step(refusal, asking["store"])
        )
    known = reply["answer"]
    since = datetime.fromtimestamp(known["since"], UTC).isoformat(timespec="seconds")
    plain = {
        "running": True,
        "store": known["store"],
        "pid": reply["pid"],
        "version": reply["version"],
        "since": since.replace("+00:00", "Z"),
        "requests": known["requests"],
        "memory_mb": known["memory_mb"],
        "socket": known["socket"],
    }
    line = (
        f"[MemoryMesh] The daemon of {output.named(known['store'])} runs: process {reply['pid']}, "
        f"version {reply['version']}, {known['requests']} requests since {plain['since']}, "
        f"{known['memory_mb']} MB."
    )
    return output.answer(plain, line, as_json=as_json)


def _next_step(refusal: client.NoDaemon, store: str) -> str:
    if refusal.reason == "switched off":
        return "to allow it, unset MEMORY_MESH_DAEMON and take `daemon` out of the settings file"
    if refusal.reason == "timeout":
        return f"it hangs or was stopped; nothing is lost if you end it: kill -9 {_holder(store)}"
    return "hooks and MCP start one when they need it; to start it now: memory-mesh daemon start"


def _holder(store: str) -> str:
    known = place.recorded(store)
    return "PROCESS" if known is None else str(known[0])


def _start(store: str, variables: dict[str, str]) -> None:
    try:
        client.ensure(store, variables, seconds=_START_SECONDS)
    except client.NoDaemon as refusal:
        if refusal.reason == "switched off":
            raise NotAllowed(f"{refusal}; {_next_step(refusal, store)}") from None
        raise StoreError(
            f"the daemon did not start ({refusal}); to see why, run: memory-mesh daemon run"
        ) from None


def _stop(asking: dict[str, Any], *, as_json: bool) -> int:
    asking["environment"].pop("MEMORY_MESH_DAEMON", None)  # one that is not wanted can be stopped
    try:
        reply = client.ask(asking | {"do": "stop"}, seconds=_ASK_SECONDS)
    except client.NoDaemon as refusal:
        if refusal.reason in {"timeout", "wrong user"}:
            raise StoreError(f"{refusal}; {_next_step(refusal, asking['store'])}") from None
        done = f"[MemoryMesh] No daemon runs for {output.named(asking['store'])}."
        return output.answer({"stopped": False}, done, as_json=as_json)
    end = time.monotonic() + _STOP_SECONDS
    while _lives(reply["pid"]):
        if time.monotonic() > end:
            raise StoreError(f"process {reply['pid']} still works on requests; wait, or kill it")
        time.sleep(0.02)
    done = f"[MemoryMesh] Stopped the daemon, process {reply['pid']}."
    return output.answer({"stopped": True, "pid": reply["pid"]}, done, as_json=as_json)


def _run(store: str, idle: float) -> int:
    from memory_mesh.agents.daemon.running import serve

    output.note(f"[MemoryMesh] Serving {output.named(store)}; stop with Ctrl-C.")
    if not serve(store, idle):
        raise StoreError(
            f"another daemon serves {store} already; see it: memory-mesh daemon status"
        )
    return 0


def _lives(pid: int) -> bool:
    """Whether a process still runs; one that ended and that nobody has asked about does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except OSError:
        return not Path("/proc/self/stat").exists()  # no such list: the signal has told
    return state.rpartition(")")[2].split()[:1] != ["Z"]
