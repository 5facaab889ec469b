"""What to do about an id that names no visible memory; loaded only to say so."""

import difflib
import re
import shlex
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from memory_mesh.cli import output
from memory_mesh.model import MeshError, NotFound, Scope, Status
from memory_mesh.sync import MemoryMesh

_LIKE_AN_ID = re.compile(r"\S+[_-]\S*\d\S*")
_TIME = re.compile(r"mem_(\d{13})(?!\d)")  # an id begins with the millisecond in which it was made
_ALIKE = 0.95  # a letter lost, added or wrong, not another id
_AROUND = timedelta(seconds=1)


def missing(memory_id: str, reader: Scope, mesh: MemoryMesh, *, why: bool = False) -> NotFound:
    """Returns the error for an id that was not found, with what is most likely meant.

    `why`: what was asked is why a search finds it.
    """
    if not _LIKE_AN_ID.fullmatch(memory_id):
        words = shlex.quote(memory_id)
        then = f"; then ask why: memory-mesh explain ID --query {words}" if why else ""
        return NotFound(
            f"{words} is not an id; ids look like mem_1767225600000_0a1b2c. Find the id by words: "
            f"memory-mesh search {words}{then}"
        )
    hidden = mesh.get(memory_id, scope=reader, include=[Status.DELETED, Status.SUPERSEDED])
    if hidden is not None and hidden.status is Status.DELETED:
        day = hidden.recorded_from.date().isoformat()
        return NotFound(
            f"{memory_id} was deleted on {day}. Look at it: memory-mesh get {memory_id} --deleted; "
            f"bring it back within 30 days: memory-mesh restore {memory_id}"
        )
    if hidden is not None and hidden.status is Status.SUPERSEDED:
        return NotFound(_superseded(memory_id, mesh.view(scope=reader)))
    where = f" for the project {reader.project}" if reader.project else ""
    said = f"there is no memory {memory_id}{where}"
    project = _project_of(memory_id, reader, mesh)
    if project is not None:
        then = "; why it is not found from here: add --see-all" if why else ""
        here = "" if where else " here"
        return NotFound(
            f"{said}{here}, but there is for the project {output.unbroken(project)}. Add --project "
            f"{shlex.quote(project)}{then}"
        )
    near = _near(memory_id, reader, mesh)
    if near is not None:
        return NotFound(f"{said}. Did you mean {near}?")
    other = "; to use another project's memory add --project NAME" if where else ""
    return NotFound(f"{said}. List all memories: memory-mesh list --all-projects{other}")


def _superseded(memory_id: str, mesh: MemoryMesh) -> str:
    """Where to look instead of at a memory that another one superseded."""
    versions = f"what it said: memory-mesh history {memory_id}"
    later = successor(memory_id, mesh)
    if later is None:
        return f"{memory_id} is superseded by another memory; {versions}"
    return (
        f"{memory_id} is superseded by {later}. Look at that: memory-mesh get {later}; {versions}"
    )


def successor(memory_id: str, mesh: MemoryMesh) -> str | None:
    """The memory that superseded this one; None if the reader does not see it."""
    seen = mesh.explain(memory_id).memory
    return None if seen is None else seen.successor


def _project_of(memory_id: str, reader: Scope, mesh: MemoryMesh) -> str | None:
    """The project of a memory that this reader would list with --all-projects."""
    with suppress(MeshError):  # the id is the mistake, whatever else is wrong
        found = mesh.get_all(filter={"id": memory_id}, scope=reader, across=("project",), limit=1)
        return found[0].scope.project if found else None
    return None


def _near(memory_id: str, reader: Scope, mesh: MemoryMesh) -> str | None:
    """The id that somebody most likely meant, among those of the second that it names."""
    named = _TIME.match(memory_id)
    if named is None:
        return None
    at = datetime.fromtimestamp(int(named[1]) / 1000, UTC)
    around = {"$gte": (at - _AROUND).isoformat(), "$lte": (at + _AROUND).isoformat()}
    with suppress(MeshError):  # the id is the mistake, whatever else is wrong
        found = mesh.get_all(filter={"created_at": around}, scope=reader, limit=1_000)
        ids = [memory.id for memory in found]
        return next(iter(difflib.get_close_matches(memory_id, ids, 1, _ALIKE)), None)
    return None
