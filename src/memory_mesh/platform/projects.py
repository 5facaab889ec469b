"""Which project a folder belongs to: its repository's remote, else its root commit, else its path.

::

    folder ──▶ repository_of ──▶ Repository ──▶ identity ──▶ Identity(name, former)
               reads git's files  (no process)    asks git only for a root commit

A linked work tree has a file `.git` that leads, by `gitdir` and `commondir`, to the repository that
all its work trees share; a submodule is a repository of its own. Nothing of a repository is run.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.platform import git_files

CLONE, PLACE, NAMES, FOLDER = (
    "project.clone:",
    "project.place:",
    "project.names:",
    "project.folder:",
)
STARTS = "project."
MAX_NAMES = 100  # further names of one project

SECTION, KEY = "memory-mesh", "project"  # of git's configuration: a name that the user has set
ROOT = "commit:"  # begins the name of a project that is known by its root commit
_MAX_NAME = 200  # characters of a name that the user sets
_FOLLOWED = 4  # repositories on this machine that are followed from one to the next
_BASES = "insteadof"


@dataclass(frozen=True, slots=True)
class Repository:
    """What git's files say of the repository that a folder belongs to."""

    place: str  # the main work tree's path, or that of a repository without one
    files: str  # the folder that its work trees share
    birth: str  # tells it from another repository at the same path
    stated: str | None = None  # the name that the user has set
    remotes: tuple[tuple[str, str], ...] = ()  # each with the name of the repository it leads to
    has_commits: bool = False  # all of them, not cut off; only looked for where no name is found

    @property
    def clone(self) -> str:
        """This repository and no other that was or will be at the same path."""
        return f"{self.place}#{self.birth}"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a project is called, and what it was called before."""

    name: str
    former: tuple[str, ...] = ()  # of the same folder, by what is true of it now
    how: str = "path"  # set, remote, root or path
    root: str | None = None  # the root commit, where git was asked for it


def project_of(folder: str | None) -> str | None:
    """The name of the project that a folder belongs to, or None outside of any."""
    found = identity_of(folder)
    return None if found is None else found.name


def identity_of(folder: str | None) -> Identity | None:
    """What the project of a folder is called by what lies there; None outside of any."""
    found = repository_of(folder)
    return None if found is None else identity(found)


def identity(repository: Repository, root: str | None = None) -> Identity:
    """The name of a repository; git is asked for its root commit where that names it."""
    names = [*(name for _, name in repository.remotes), repository.place]
    if repository.stated is not None:
        return Identity(repository.stated, _others(repository.stated, names), "set")
    if repository.remotes:
        return Identity(names[0], (repository.place,), "remote")
    if repository.has_commits:
        root = root or git_files.root_of(Path(repository.files))
        if root not in {None, git_files.UNKNOWN}:
            return Identity(f"{ROOT}{root}", (repository.place,), "root", root)
    return Identity(repository.place, root=root)


def _others(name: str, names: list[str]) -> tuple[str, ...]:
    first_and_last = dict.fromkeys((names[0], names[-1]))
    return tuple(each for each in first_and_last if each != name)


def repository_of(folder: str | None, *, followed: int = 0) -> Repository | None:
    """The repository that a folder belongs to, read from git's files alone."""
    found = None if folder is None else git_files.found(Path(os.path.realpath(folder)))
    if found is None:
        return None
    place, files = found
    entries = git_files.entries(git_files.text(files / "config"))
    stated, named = _stated(entries), _remotes(place, entries, followed)
    return Repository(
        _name(place),
        str(files),
        git_files.birth(files),
        stated,
        named,
        not named and stated is None and git_files.has_commits(files),
    )


def work_tree_of(folder: str) -> str | None:
    """The linked work tree that a folder is in; None in the main one and outside of any."""
    real = Path(os.path.realpath(folder))
    found, top = git_files.found(real), git_files.top(real)
    return None if found is None or top is None or found[0] == top else _name(top)


def short_name(project: str) -> str:
    """The last part of a path or of a remote's name; any other name is short already."""
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(project)
        if path.is_absolute() and path.name:
            return path.name
    host, slash, _ = project.partition("/")
    return project.rpartition("/")[2] if slash and "." in host else project


def state_name(repository: Repository, name: str | None) -> None:
    """Sets or removes the name of a repository, in the configuration that its work trees share."""
    git_files.replaced(
        Path(repository.files, "config"),
        lambda text: git_files.with_value(text, SECTION, KEY, name),
    )


def folder_name(folder: str) -> str:
    """A folder's real path as text, even where it is not UTF-8."""
    return _name(Path(os.path.realpath(folder)))


def _stated(entries: git_files.Entries) -> str | None:
    found = [
        value for section, sub, key, value in entries if (section, sub, key) == (SECTION, "", KEY)
    ]
    return checked_name(found[-1]) if found else None


def checked_name(name: str) -> str | None:
    """A name that a project may have; None for an empty, unprintable or endless one."""
    name = name.strip()
    return name if name and name.isprintable() and len(name) <= _MAX_NAME else None


def _remotes(place: Path, entries: git_files.Entries, followed: int) -> tuple[tuple[str, str], ...]:
    """The remotes and the names of the repositories they lead to; the first names the project."""
    urls = {
        sub: value
        for section, sub, key, value in reversed(entries)
        if section == "remote" and key == "url"
    }  # git fetches from the first URL of a remote
    bases = _bases(entries)
    if any(git_files.is_abbreviated(url) for url in urls.values()):
        bases += _bases(git_files.entries(git_files.text(_global_config())))
    found: list[tuple[str, str]] = []
    for remote in git_files.chosen(urls):
        url = git_files.rewritten(urls[remote], bases)
        name = git_files.remote_name(url) or _followed(place, git_files.local_path(url), followed)
        if name is not None:
            found.append((remote, name))
    return tuple(found)


def _bases(entries: git_files.Entries) -> list[tuple[str, str]]:
    return [
        (sub, value) for section, sub, key, value in entries if (section, key) == ("url", _BASES)
    ]


def _global_config() -> Path:
    home = Path("~").expanduser()
    own = home / ".gitconfig"
    base = os.environ.get("XDG_CONFIG_HOME")
    return own if own.exists() else Path(base or home / ".config") / "git" / "config"


def _followed(place: Path, path: str | None, followed: int) -> str | None:
    """The name of a repository on this machine that is a remote; None where there is none."""
    if path is None or followed >= _FOLLOWED or "\0" in path:
        return None
    target = Path(os.path.realpath(place / path))
    if not target.is_dir() or target == place:
        return None
    found = repository_of(str(target), followed=followed + 1)
    if found is None or not target.is_relative_to(found.place):
        return None
    return identity(found).name


def _name(place: Path) -> str:
    """The path as text, even where it is not UTF-8."""
    return os.fsencode(place).decode("utf-8", "backslashreplace")


# Decides what a project is called in a store, and under which other names it is read.
#
# A store keeps four kinds of small values, each under a name:
#
# - of a clone (a repository at a path): the project it was seen as last, and its root commit;
# - of a path: the clone that took over what was stored under it, which is the first that came;
# - of a project: its further names. What is stored under one that is the `same` is for the same
#   audience, as after a remote was renamed; what was merged is only `read`;
# - of a folder outside of git: the name that the user has set.


@dataclass(frozen=True, slots=True)
class ProjectNames:
    """The further names of a project."""

    same: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every further name, those of the same audience first."""
        return (*self.same, *self.read)


@dataclass(frozen=True, slots=True)
class KnownClone:
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
    if known != (now := KnownClone(name, root)):
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


def merged(name: str, other: str, states: Mapping[str, str]) -> ProjectNames:
    """Returns the further names of a project that reads another one from now on."""
    names = names_of(states.get(f"{NAMES}{name}"))
    theirs = names_of(states.get(f"{NAMES}{other}"))
    held = {name, *names.all}
    added = [each for each in dict.fromkeys((other, *theirs.all)) if each not in held]
    return replace(names, read=(*names.read, *added)[:MAX_NAMES])


def split(names: ProjectNames, other: str, states: Mapping[str, str]) -> ProjectNames:
    """Returns the further names of a project without another one and what came with it."""
    theirs = {each: names_of(states.get(f"{NAMES}{each}")) for each in (other, *names.all)}
    gone = {other}
    for each, held in theirs.items():
        if other in (each, *held.same):
            gone |= {each, *held.all}
    return ProjectNames(
        *(tuple(each for each in held if each not in gone) for held in (names.same, names.read))
    )


def names_of(text: str | None) -> ProjectNames:
    """Reads the further names of a project."""
    if not text:
        return ProjectNames()
    held = json.loads(text)
    return ProjectNames(tuple(held.get("same", ())), tuple(held.get("read", ())))


def names_text(names: ProjectNames) -> str:
    """Writes the further names of a project."""
    return json.dumps({"same": names.same, "read": names.read}, ensure_ascii=False)


def clone_of(text: str | None) -> KnownClone | None:
    """Reads what is known of a clone."""
    if not text:
        return None
    held = json.loads(text)
    return KnownClone(held["project"], held.get("root"))


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


def _clone_text(clone: KnownClone) -> str:
    held = {"project": clone.project} | ({"root": clone.root} if clone.root else {})
    return json.dumps(held, ensure_ascii=False)


def _only_read(name: str, states: Mapping[str, str]) -> dict[str, str]:
    """The projects of which this one is a former name: it lives, so they only read it."""
    changed: dict[str, str] = {}
    for key, text in states.items():
        if key.startswith(NAMES) and name in (names := names_of(text)).same:
            kept = tuple(each for each in names.same if each != name)
            changed[key] = names_text(ProjectNames(kept, (*names.read, name)))
    return changed


def _with(
    name: str, names: ProjectNames, gained: Iterable[str], states: Mapping[str, str]
) -> ProjectNames:
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
