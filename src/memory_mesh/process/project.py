"""Which project a folder belongs to: its repository's remote, else its root commit, else its path.

::

    folder ──▶ repository_of ──▶ Repository ──▶ identity ──▶ Identity(name, former)
               reads git's files  (no process)    asks git only for a root commit

A linked work tree has a file `.git` that leads, by `gitdir` and `commondir`, to the repository that
all its work trees share; a submodule is a repository of its own. Nothing of a repository is run.
"""

import os
from pathlib import Path, PurePosixPath, PureWindowsPath

from memory_mesh.fastdataclass import dataclass
from memory_mesh.formats import git_config
from memory_mesh.policy import remotes
from memory_mesh.process import git_files

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
    entries = git_config.entries(git_files.text(files / "config"))
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
        lambda text: git_config.with_value(text, SECTION, KEY, name),
    )


def folder_name(folder: str) -> str:
    """A folder's real path as text, even where it is not UTF-8."""
    return _name(Path(os.path.realpath(folder)))


def _stated(entries: git_config.Entries) -> str | None:
    found = [
        value for section, sub, key, value in entries if (section, sub, key) == (SECTION, "", KEY)
    ]
    return checked_name(found[-1]) if found else None


def checked_name(name: str) -> str | None:
    """A name that a project may have; None for an empty, unprintable or endless one."""
    name = name.strip()
    return name if name and name.isprintable() and len(name) <= _MAX_NAME else None


def _remotes(
    place: Path, entries: git_config.Entries, followed: int
) -> tuple[tuple[str, str], ...]:
    """The remotes and the names of the repositories they lead to; the first names the project."""
    urls = {
        sub: value
        for section, sub, key, value in reversed(entries)
        if section == "remote" and key == "url"
    }  # git fetches from the first URL of a remote
    bases = _bases(entries)
    if any(remotes.is_abbreviated(url) for url in urls.values()):
        bases += _bases(git_config.entries(git_files.text(_global_config())))
    found: list[tuple[str, str]] = []
    for remote in remotes.chosen(urls):
        url = remotes.rewritten(urls[remote], bases)
        name = remotes.remote_name(url) or _followed(place, remotes.local_path(url), followed)
        if name is not None:
            found.append((remote, name))
    return tuple(found)


def _bases(entries: git_config.Entries) -> list[tuple[str, str]]:
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
