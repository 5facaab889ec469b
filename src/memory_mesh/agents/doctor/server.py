"""A store in a database: what is looked at in another way than in a folder."""

import os
from collections.abc import Callable, Iterator
from shlex import quote

from memory_mesh.agents.doctor import store
from memory_mesh.agents.doctor.finding import Case, CheckResult, counted, failed, ok
from memory_mesh.base.fastdataclass import replace
from memory_mesh.care.key_file import need_key, stated_keys
from memory_mesh.model.errors import MeshError
from memory_mesh.rules.users import shown_namespace

_STATE = (
    "set MEMORY_MESH_KEY_FILE, MEMORY_MESH_KEY or MEMORY_MESH_KEY_COMMAND to the key that the "
    "database was set up with"
)


def disk(case: Case) -> Iterator[CheckResult]:
    """Whether this machine has room for its own files; the disk of the server is not seen here."""
    for finding in store.disk(case):
        said = f"{finding.said}, for files of this machine; the disk of the database is not seen"
        yield replace(finding, said=said)


def permissions(case: Case) -> Iterator[CheckResult]:
    """Whether the files of this machine for the database are for its user only."""
    if case.store.exists():
        yield from store.permissions(case)
    else:
        yield ok("permissions", "the database decides: no file of the store is on this machine")


def key(case: Case) -> Iterator[CheckResult]:
    """Whether this machine has the key of the database, and who must state it."""
    try:
        need_key(case.store, case.environment)
        stated = stated_keys(case.environment)
        found = counted(len(stated.keys()), "key") if stated is not None else ""
    except MeshError as error:
        yield failed("key", str(error).partition(". State it")[0], _STATE)
        return
    if stated is None:
        yield from store.key(case)
        return
    yield ok("key", f"{found} stated by {stated.variable}, which every process of the store needs")


def namespaces(case: Case) -> Iterator[CheckResult]:
    """How many other namespaces the database has; each is checked by `verify`."""
    own = shown_namespace(case.mesh.config.namespace)
    others = sum(1 for name in case.mesh.namespaces() if name != own)
    if not others:
        yield ok("namespaces", "there is no other in the database")
        return
    said = f"{counted(others, 'other namespace')} in the database"
    yield ok("namespaces", said, f"to check all: {_verify(case)}")


CHECKS: dict[str, Callable[[Case], Iterator[CheckResult]]] = {
    "disk": disk,
    "permissions": permissions,
    "key": key,
    "namespaces": namespaces,
}


def _verify(case: Case) -> str:
    """The command; who set the variable need not name the database."""
    named = os.environ.get("MEMORY_MESH_STORE") == case.mesh.config.store
    return f"memory-mesh{'' if named else f' --store {quote(case.where)}'} verify --all"
