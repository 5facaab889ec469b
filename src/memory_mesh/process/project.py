"""Which project a folder belongs to: the path of its git repository's main work tree.

Git itself is not asked, its files are read: a linked work tree has a file `.git` that leads, by
`gitdir` and `commondir`, to the repository that all its work trees share.
"""

import os
from pathlib import Path, PurePosixPath, PureWindowsPath


def project_of(folder: str | None) -> str | None:
    """The main work tree's path, or None outside of any."""
    if folder is None:
        return None
    real = Path(os.path.realpath(folder))
    for place in (real, *real.parents):
        git = place / ".git"
        if git.is_dir():
            return _name(place)
        if git.is_file():
            return _name(_main_work_tree(git))
    return None


def short_name(project: str) -> str:
    """The last folder of a project that is named by a path; any other name is short already."""
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind(project)
        if path.is_absolute() and path.name:
            return path.name
    return project


def _name(place: Path) -> str:
    """The path as text, even where it is not UTF-8."""
    return os.fsencode(place).decode("utf-8", "backslashreplace")


def _main_work_tree(link: Path) -> Path:
    """Where a linked work tree's repository lives; a submodule is a project of its own."""
    own = link.parent
    word, _, target = _first_line(link).partition(":")
    if word != "gitdir":
        return own
    private = link.parent / target.strip()
    common = _first_line(private / "commondir")
    if not common:
        return own
    shared = Path(os.path.realpath(private / common))
    return shared.parent if shared.name == ".git" else shared


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").partition("\n")[0].strip()
    except OSError:
        return ""
