"""Decides what a project is called in a store, and under which other names it is read.

A store keeps four kinds of small values, each under a name:

- of a clone (a repository at a path): the project it was seen as last, and its root commit;
- of a path: the clone that took over what was stored under it, which is the first that came;
- of a project: its further names. What is stored under one that is the `same` is for the same
  audience, as after a remote was renamed; what was merged is only `read`;
- of a folder outside of git: the name that the user has set.
"""

import json
from collections.abc import Iterable, Mapping

from memory_mesh.fastdataclass import dataclass, replace

CLONE, PLACE, NAMES, FOLDER = (
    "project.clone:",
    "project.place:",
    "project.names:",
    "project.folder:",
)
STARTS = "project."
MAX_NAMES = 100  # further names of one project


@dataclass(frozen=True, slots=True)
class Names:
    """The further names of a project."""

    same: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every further name, those of the same audience first."""
        return (*self.same, *self.read)


@dataclass(frozen=True, slots=True)
class Clone:
    """What a store knows of a repository at a path."""

    project: str
    root: str | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A repository as it was found, with every name as the store would keep it."""

    clone: str
    place: str
    name: str
    how: str
    others: tuple[str, ...] = ()  # names of the repositories that its further remotes lead to
    root: str | None = None
    moved_from: str | None = None  # the name of the same clone when it was at another path


@dataclass(frozen=True, slots=True)
class Settled:
    """What a project is called, and the small values that are to change."""

    name: str
    changes: Mapping[str, str]


def settle(seen: Sighting, states: Mapping[str, str]) -> Settled:
    """Decides the name of a repository and what the store takes note of."""
    known = clone_of(states.get(f"{CLONE}{seen.clone}"))
    owner = states.get(f"{PLACE}{seen.place}")
    name = seen.name
    if seen.how == "path" and owner not in {None, seen.clone}:
        name = seen.clone  # another repository was at this path before
    before = known.project if known is not None else seen.moved_from
    changes: dict[str, str] = {}
    root = seen.root or (known.root if known is not None else None)
    if known != (now := Clone(name, root)):
        changes[f"{CLONE}{seen.clone}"] = _clone_text(now)
    gained: list[str] = []
    if owner is None:
        changes[f"{PLACE}{seen.place}"] = seen.clone
        gained.append(seen.place)
    if before is not None and before not in seen.others:  # else it is a fork of that
        gained.append(before)
    if known is None:
        changes |= _only_read(name, states)
    names = names_of(changes.get(f"{NAMES}{name}", states.get(f"{NAMES}{name}")))
    more = _with(name, names, gained, states)
    if more != names:
        changes[f"{NAMES}{name}"] = names_text(more)
    return Settled(name, changes)


def merged(name: str, other: str, states: Mapping[str, str]) -> Names:
    """Returns the further names of a project that reads another one from now on."""
    names = names_of(states.get(f"{NAMES}{name}"))
    theirs = names_of(states.get(f"{NAMES}{other}"))
    held = {name, *names.all}
    added = [each for each in dict.fromkeys((other, *theirs.all)) if each not in held]
    return replace(names, read=(*names.read, *added)[:MAX_NAMES])


def split(names: Names, other: str) -> Names:
    """Returns the further names of a project without one of them."""
    return Names(
        *(tuple(each for each in held if each != other) for held in (names.same, names.read))
    )


def names_of(text: str | None) -> Names:
    """Reads the further names of a project."""
    if not text:
        return Names()
    held = json.loads(text)
    return Names(tuple(held.get("same", ())), tuple(held.get("read", ())))


def names_text(names: Names) -> str:
    """Writes the further names of a project."""
    return json.dumps({"same": names.same, "read": names.read}, ensure_ascii=False)


def clone_of(text: str | None) -> Clone | None:
    """Reads what is known of a clone."""
    if not text:
        return None
    held = json.loads(text)
    return Clone(held["project"], held.get("root"))


def folder_project(folder: str, states: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns the name set for a folder or the nearest one above it, and that folder."""
    while True:
        found = states.get(f"{FOLDER}{folder}")
        if found is not None:
            return found, folder
        above = folder.rpartition("/")[0]
        if not above or above == folder:
            return None
        folder = above


def _clone_text(clone: Clone) -> str:
    held = {"project": clone.project} | ({"root": clone.root} if clone.root else {})
    return json.dumps(held, ensure_ascii=False)


def _only_read(name: str, states: Mapping[str, str]) -> dict[str, str]:
    """The projects of which this one is a former name: it lives, so they only read it."""
    changed: dict[str, str] = {}
    for key, text in states.items():
        if key.startswith(NAMES) and name in (names := names_of(text)).same:
            kept = tuple(each for each in names.same if each != name)
            changed[key] = names_text(Names(kept, (*names.read, name)))
    return changed


def _with(name: str, names: Names, gained: Iterable[str], states: Mapping[str, str]) -> Names:
    """The names with those gained: of the same audience unless another clone still has one."""
    lived_in = [clone_of(text) for key, text in states.items() if key.startswith(CLONE)]
    for each in gained:
        theirs = names_of(states.get(f"{NAMES}{each}"))
        count = sum(one is not None and one.project == each for one in lived_in)
        for other in (each, *theirs.all):
            if other == name or other in names.all:
                continue
            if other in theirs.read or count > 1:
                names = replace(names, read=(*names.read, other)[:MAX_NAMES])
            else:
                names = replace(names, same=(*names.same, other)[:MAX_NAMES])
    return names
