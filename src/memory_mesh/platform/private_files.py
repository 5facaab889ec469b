"""Folders and files for their owner only, whatever the umask: 0700 and 0600.

What is there already keeps its mode: a person may have opened it to a group on purpose.
"""

import os
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
_OTHERS = 0o077


def make_folder(folder: Path) -> None:
    """Makes a folder, and what is missing above it, for its owner only."""
    missing = []
    here = folder.absolute()
    while not here.exists() and here != here.parent:
        missing.append(here)
        here = here.parent
    for each in reversed(missing):
        try:
            each.mkdir(FOLDER)
        except FileExistsError:  # another process was faster
            if not each.is_dir():
                raise
        else:
            each.chmod(FOLDER)  # a umask may have taken even the owner's rights
    if not folder.is_dir():
        folder.mkdir()  # raises what is wrong with it


def open_file(path: Path, flags: int) -> int:
    """Opens a file, or makes it for its owner only; returns its descriptor."""
    while True:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            if (made := new_file(path, flags)) is not None:
                return made


def new_file(path: Path, flags: int) -> int | None:
    """Makes a file for its owner only and opens it; None if there is one already."""
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, FILE)
    except FileExistsError:
        return None
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, FILE)
    return descriptor


def make_file(path: Path) -> None:
    """Makes an empty file for its owner only, unless there is one."""
    os.close(open_file(path, os.O_RDWR))


def close_to_others(path: str, descriptor: int) -> None:
    """Takes the rights of others from a file or folder that a library of others made."""
    mode = os.fstat(descriptor).st_mode
    if mode & _OTHERS:
        os.chmod(path, mode & 0o7700)  # noqa: PTH101  # many files: a Path for each is slow
