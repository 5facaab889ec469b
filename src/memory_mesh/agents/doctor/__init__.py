"""Proves link by link that memory works here: `examined` runs every check of `memory-mesh doctor`.

::

    Case ──▶ check ──▶ CheckResult(check, ok │ warning │ failed, what was seen, fix)

A check looks at one link, from the store's files to the agent's settings, and says what to do about
what it found. One that cannot look says so; none ends the others.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote

from memory_mesh.agents.doctor import daemon, hooks, host, store, trial
from memory_mesh.agents.doctor.finding import (
    Case,
    CheckResult,
    CheckStatus,
    counted,
    failed,
    ok,
    unseen,
)
from memory_mesh.agents.hosts.undo import BrokenFile
from memory_mesh.base.typed import replace
from memory_mesh.care.key_file import need_key, stated_keys
from memory_mesh.model.errors import MeshError, NetworkError, StoreIsAway
from memory_mesh.platform.store_urls import is_service
from memory_mesh.rules.arguments import shown_namespace

__all__ = ["CHECKS", "TRIALS", "Case", "CheckResult", "CheckStatus", "examined"]

Check = Callable[[Case], Iterator[CheckResult]]
CHECKS: dict[str, Check] = {
    "disk": store.disk,
    "encryption": store.encryption,
    "permissions": store.permissions,
    "key": store.key,
    "store": store.store,
    "chain": store.chain,
    "namespaces": store.namespaces,
    "embedder": store.embedder,
    "index": store.index,
    "daemon": daemon.daemon,
    "hosts": host.others,
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
    checks = {**CHECKS, **(SERVER_CHECKS if case.is_server else {}), **(TRIALS if trials else {})}
    if is_service(case.mesh.config.store or ""):
        checks = {name: check for name, check in checks.items() if name not in _OF_THE_STORE}
        checks = {"service": _service, **checks}
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
    said = f"{error.path} is not valid JSON ({error.why})"
    return failed(name, said, f"mend {error.path}, and run memory-mesh doctor again")


# A store in a database: what is looked at in another way than in a folder.

_STATE_KEY = (
    "set MEMORY_MESH_KEY_FILE, MEMORY_MESH_KEY or MEMORY_MESH_KEY_COMMAND to the key that the "
    "database was set up with"
)


def _server_disk(case: Case) -> Iterator[CheckResult]:
    """Whether this machine has room for its own files; the disk of the server is not seen here."""
    for finding in store.disk(case):
        said = f"{finding.said}, for files of this machine; the disk of the database is not seen"
        yield replace(finding, said=said)


def _server_encryption(_: Case) -> Iterator[CheckResult]:
    """What encrypts the disks of a database is seen on its server alone."""
    yield ok("encryption", "not known: it is that of the disks of the database, which are not seen")


def _server_permissions(case: Case) -> Iterator[CheckResult]:
    """Whether the files of this machine for the database are for its user only."""
    if case.store.exists():
        yield from store.permissions(case)
    else:
        yield ok("permissions", "the database decides: no file of the store is on this machine")


def _server_key(case: Case) -> Iterator[CheckResult]:
    """Whether this machine has the key of the database, and who must state it."""
    try:
        need_key(case.store, case.environment)
        stated = stated_keys(case.environment)
        found = counted(len(stated.keys()), "key") if stated is not None else ""
    except MeshError as error:
        yield failed("key", str(error).partition(". State it")[0], _STATE_KEY)
        return
    if stated is None:
        yield from store.key(case)
        return
    yield ok("key", f"{found} stated by {stated.variable}, which every process of the store needs")


def _server_namespaces(case: Case) -> Iterator[CheckResult]:
    """How many other namespaces the database has; each is checked by `verify`."""
    own = shown_namespace(case.mesh.config.namespace)
    others = sum(1 for name in case.mesh.care.namespaces() if name != own)
    if not others:
        yield ok("namespaces", "there is no other in the database")
        return
    said = f"{counted(others, 'other namespace')} in the database"
    yield ok("namespaces", said, f"to check all: {_verify(case)}")


def _verify(case: Case) -> str:
    """The command; who set the variable need not name the database."""
    named = os.environ.get("MEMORY_MESH_STORE") == case.mesh.config.store
    return f"memory-mesh{'' if named else f' --store {quote(case.where)}'} verify --all"


# A store behind a URL: whoever runs the service looks at it there.

_OF_THE_STORE = frozenset(
    (
        *("disk", "encryption", "permissions", "key", "store", "chain", "namespaces", "embedder"),
        *("index", "erasures"),
    )
)


_NO_SERVICE = (
    "start the service (memory-mesh serve, where the store is), or unset MEMORY_MESH_STORE"
)


def _service(case: Case) -> Iterator[CheckResult]:
    """Whether the service answers, and takes the key."""
    try:
        case.mesh.init()
        found = case.mesh.stats()
    except (NetworkError, StoreIsAway) as error:
        yield failed("service", str(error), _NO_SERVICE)
        return
    yield ok("service", f"{case.where} answers; memories here: {found.memories}")


SERVER_CHECKS: dict[str, Check] = {
    "disk": _server_disk,
    "encryption": _server_encryption,
    "permissions": _server_permissions,
    "key": _server_key,
    "namespaces": _server_namespaces,
}
