"""Proves link by link that memory works here: `examined` runs every check of `memory-mesh doctor`.

::

    Case ──▶ check ──▶ Finding(check, ok │ warning │ failed, what was seen, fix)

A check looks at one link, from the store's files to the agent's settings, and says what to do about
what it found. One that cannot look says so; none ends the others.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from memory_mesh.agents.claude_code.changes import BrokenFile
from memory_mesh.agents.doctor import daemon, hooks, host, server, store, trial
from memory_mesh.agents.doctor.finding import Case, CheckResult, CheckStatus, failed, unseen
from memory_mesh.model.errors import MeshError

__all__ = ["CHECKS", "TRIALS", "Case", "CheckResult", "CheckStatus", "examined"]

Check = Callable[[Case], Iterator[CheckResult]]
CHECKS: dict[str, Check] = {
    "disk": store.disk,
    "permissions": store.permissions,
    "key": store.key,
    "store": store.store,
    "chain": store.chain,
    "namespaces": store.namespaces,
    "embedder": store.embedder,
    "index": store.index,
    "daemon": daemon.daemon,
    "Claude Code": host.claude,
    "plugin": host.plugin,
    "commands": host.commands,
    "versions": host.versions,
    "own memory": host.own_memory,
    "hooks": hooks.fired,
    "budget": hooks.budget,
    "capture": hooks.capture,
    "project": store.project,
}
TRIALS: dict[str, Check] = {
    "hook trial": trial.hook,
    "MCP trial": trial.mcp,
    "daemon trial": trial.daemon,
}


def examined(case: Case, *, trials: bool = True) -> Iterator[CheckResult]:
    """Yields what each check finds, as soon as it is found."""
    broken: dict[Path, str] = {}  # a file that cannot be read: the check that said why
    told: dict[str, str] = {}  # what was said, and by which check
    checks = {**CHECKS, **(server.CHECKS if case.is_server else {}), **(TRIALS if trials else {})}
    for name, check in checks.items():
        try:
            for finding in check(case):
                told[finding.said] = name
                yield finding
        except BrokenFile as error:
            first = broken.setdefault(error.path, name)
            yield _unreadable(name, error, "" if first == name else first)
        except MeshError as error:
            yield _refused(name, str(error), told)
        except OSError as error:
            what = f"{error.strerror or error}: {error.filename or case.store}"
            yield failed(name, what, f"make it readable for this user: ls -ld '{case.store}'")


def _refused(name: str, why: str, told: dict[str, str]) -> CheckResult:
    """Says once why something cannot be looked at, and then only who said it."""
    if first := next((check for said, check in told.items() if why in said), None):
        return unseen(name, first)
    told[why] = name
    return failed(name, why, "mend what it says, and run memory-mesh doctor again")


def _unreadable(name: str, error: BrokenFile, first: str) -> CheckResult:
    """Says once what is wrong with a file of the host, and then only who said it."""
    if first:
        return failed(name, f"cannot be looked at, see {first}", f"mend {error.path}")
    said = f"{error.path} is not valid JSON ({error.why}); Claude Code cannot read it either"
    return failed(name, said, f"mend {error.path}, and run memory-mesh doctor again")
