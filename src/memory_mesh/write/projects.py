"""What a store takes note of about projects: which clone is which project, and their names.

::

    folder ──▶ Sighting ──▶ settle ──▶ name, and changes where something is new
                 (platform/projects.py)      └── one commit; nothing where all is known
"""

from collections.abc import Callable, Mapping

from memory_mesh.base.typed import replace
from memory_mesh.model import Commit, InvalidInput, MeshError, NotFound, Standing, Wanted
from memory_mesh.model.ports import Ledger, Relations
from memory_mesh.platform import projects
from memory_mesh.platform.projects import (
    CLONE,
    FOLDER,
    NAMES,
    PLACE,
    STARTS,
    KnownClone,
    ProjectNames,
    Settled,
    Sighting,
)
from memory_mesh.write.access import Access

_COUNT = f"{STARTS}count"  # counts the changes, so that two processes do not overwrite each other


def names(ledger: Ledger, namespace: str, project: str) -> ProjectNames:
    """The further names of a project."""
    with ledger.read(namespace) as snapshot:
        return names_in(snapshot, project)


def names_in(snapshot: Relations, project: str) -> ProjectNames:
    """The further names of a project at the moment of a snapshot."""
    wanted = f"{NAMES}{project}"
    return projects.names_of(snapshot.states(wanted).get(wanted))


def about(access: Access, clone: str, place: str) -> dict[str, str]:
    """What is known of a clone and of its path."""
    with access.ledger.read(access.namespace) as snapshot:
        return {**snapshot.states(f"{CLONE}{clone}"), **snapshot.states(f"{PLACE}{place}")}


def clone(known: Mapping[str, str], name: str) -> KnownClone | None:
    """What is known of a clone."""
    return projects.clone_of(known.get(f"{CLONE}{name}"))


def clones(access: Access, birth: str) -> dict[str, KnownClone]:
    """Every clone that was made at one moment, by its path."""
    with access.ledger.read(access.namespace) as snapshot:
        held = snapshot.states(CLONE)
    return {
        name.removeprefix(CLONE).removesuffix(f"#{birth}"): found
        for name, text in held.items()
        if name.endswith(f"#{birth}") and (found := projects.clone_of(text)) is not None
    }


def named_folder(access: Access, folder: str) -> tuple[str, str] | None:
    """The name that is set for a folder or the nearest one above it, and that folder."""
    with access.ledger.read(access.namespace) as snapshot:
        return projects.folder_project(folder, snapshot.states(FOLDER))


def states(access: Access) -> dict[str, str]:
    """All that the namespace holds about projects."""
    with access.ledger.read(access.namespace) as snapshot:
        return snapshot.states(STARTS)


def is_empty(access: Access) -> bool:
    """True for a namespace that nothing was written to."""
    with access.ledger.read(access.namespace) as snapshot:
        return snapshot.head().seq == 0


def settled(access: Access, seen: Sighting, known: Mapping[str, str]) -> Settled:
    """Decides what a repository is called and takes note of what is new; what is left to note.

    Nothing is written to an empty namespace, nor where a write is refused: a read must not fail
    for it, and the next one takes note.
    """
    found = projects.settle(seen, known)
    if not found.changes:
        return found
    found = projects.settle(seen, states(access))
    if is_empty(access):
        return found
    try:
        return replace(_noted(access, lambda now: projects.settle(seen, now)), changes={})
    except MeshError:
        return found


def merge(access: Access, project: str, other: str) -> ProjectNames:
    """Lets a project read the memories of another one from now on."""
    if other == project:
        raise InvalidInput(f"{project} is this project already; name another one")

    def change(now: Mapping[str, str]) -> dict[str, str | None]:
        return {f"{NAMES}{project}": projects.names_text(projects.merged(project, other, now))}

    return projects.names_of(_changed(access, change).get(f"{NAMES}{project}"))


def split(access: Access, project: str, other: str) -> ProjectNames:
    """Lets a project read the memories of another one no longer."""

    def change(now: Mapping[str, str]) -> dict[str, str | None]:
        held = projects.names_of(now.get(f"{NAMES}{project}"))
        if other not in held.all:
            raise NotFound(f"{project} does not read {other}. What it reads: memory-mesh project")
        return {f"{NAMES}{project}": projects.names_text(projects.split(held, other, now))}

    return projects.names_of(_changed(access, change).get(f"{NAMES}{project}"))


def name_folder(access: Access, folder: str, name: str | None) -> None:
    """Sets the project of a folder outside of git, or removes it."""
    _changed(access, lambda _now: {f"{FOLDER}{folder}": name})


def _noted(access: Access, decide: Callable[[Mapping[str, str]], Settled]) -> Settled:
    found: list[Settled] = []

    def change(now: Mapping[str, str]) -> dict[str, str | None]:
        found.append(decide(now))
        return {**found[-1].changes}

    _changed(access, change)
    return found[-1]


def _changed(
    access: Access, change: Callable[[Mapping[str, str]], dict[str, str | None]]
) -> dict[str, str]:
    """Changes small values by what they are at the moment of writing; what they are then."""
    while True:
        before = states(access)
        changes = change({name: value for name, value in before.items() if name != _COUNT})
        if not changes or _wrote(access, before.get(_COUNT, "0"), changes):
            now = {**before, **changes}
            return {name: value for name, value in now.items() if value is not None}


def _wrote(access: Access, count: str, changes: Mapping[str, str | None]) -> bool:
    """Writes unless another process was faster."""

    def decide(standing: Standing) -> Commit:
        if standing.states.get(_COUNT, "0") != count:
            return Commit()
        return Commit(states={**changes, _COUNT: str(int(count) + 1)})

    return bool(access.ledger.commit(access.namespace, Wanted(states=(_COUNT,)), decide).states)
