"""The background process of hooks and MCP."""

import os
import time
from collections.abc import Iterator

from memory_mesh._version import __version__
from memory_mesh.agents import request as requests
from memory_mesh.agents.daemon import client, place
from memory_mesh.agents.doctor.finding import Case, CheckResult, ago, failed, ok, warning
from memory_mesh.agents.hook.main import BUDGET
from memory_mesh.agents.hosts import places

_SECONDS = 3.0
_START = "memory-mesh daemon start"
_MORE_MS = 1_000  # a budget for hooks on a busy machine


def daemon(case: Case) -> Iterator[CheckResult]:
    """Whether a daemon runs, of which version, and whether it answers."""
    asking = requests.made("status", environment=case.environment, cwd=str(case.here))
    asking["store"] = str(case.store)
    try:
        reply = client.ask(asking, seconds=_SECONDS)
    except client.NoDaemon as refusal:
        yield _without(case, refusal)
        return
    known = reply.get("answer") or {}
    said = (
        f"process {reply['pid']}, version {reply['version']}, started "
        f"{ago(time.time() - float(known.get('since') or 0))}, {known.get('requests')} requests"
    )
    if reply["version"] == __version__:
        yield ok("daemon", said)
    else:
        fix = "memory-mesh daemon stop (the next hook starts one of this version)"
        yield warning("daemon", f"{said}; this command is of version {__version__}", fix)


def runs(case: Case) -> bool:
    """Whether a daemon of this store answers."""
    asking = requests.made("ping", environment=case.environment, cwd=str(case.here))
    return client.answers(asking | {"store": str(case.store)}, seconds=_SECONDS)


def more_time(case: Case) -> str:
    """What helps hooks that are late although a daemon runs."""
    settings = places.user_place(case.environment).settings
    return (
        f"close what keeps the machine busy; or give hooks more time, which a prompt may then "
        f'wait: {{"env": {{"{BUDGET}": "{_MORE_MS}"}}}} in {settings}'
    )


def _without(case: Case, refusal: client.NoDaemon) -> CheckResult:
    """Why there is none; one that is not there is no fault: hooks start it when they need it."""
    holder = place.recorded(str(case.store))
    if refusal.reason == "switched off":
        said = "switched off by the setting daemon: hooks open the store themselves, by words only"
        return ok("daemon", said, "to allow it, unset MEMORY_MESH_DAEMON and the setting daemon")
    if refusal.reason == "timeout":
        pid = holder[0] if holder else "PROCESS"
        return failed(
            "daemon",
            f"process {pid} holds the socket and does not answer within {_SECONDS:.0f} seconds",
            f"kill -9 {pid} (nothing is lost), then {_START}",
        )
    if refusal.reason in {"wrong user", "platform"}:
        return warning("daemon", str(refusal), "hooks work without one, by words only")
    if refusal.reason == "not there" and not (holder and holder[1] and os.path.lexists(holder[1])):
        return ok(
            "daemon",
            "none runs; the next hook or MCP server starts one",
            f"{_START} (to have one now)",
        )
    return warning("daemon", f"a stale socket was left behind: {refusal}", _START)
