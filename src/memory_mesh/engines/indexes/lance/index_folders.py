"""Where a body lies and who may change it: a folder per namespace and space, one owner at a time.

The lock is a file beside the folder, under flock: it dies with its holder, and removing the folder
by hand never leaves anything locked.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from memory_mesh.process.locks import locked
from memory_mesh.process.private import close_to_others, make_folder

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_READABLE = 40  # characters of a name that stay readable in its folder's


class Place:
    """The folder of one namespace's body in one space, and its lock."""

    def __init__(self, root: Path, namespace: str, space: str) -> None:
        self.folder: Path = root / folder_name(namespace) / f"{folder_name(space)}.lance"
        self.uri: str = str(self.folder.absolute())  # a relative path may be taken for a host

    @contextmanager
    def owned(self, *, wait: bool) -> Iterator[bool]:
        """Be the only one who changes this body; False when another is and we do not wait."""
        make_folder(self.folder.parent)
        with locked(self.folder.with_suffix(".lock"), wait=wait) as mine:
            yield mine

    def clear(self) -> None:
        """Remove every file of the body."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)

    def sync(self) -> None:
        """Force the body to the disk, closed to others: the index library itself does neither."""
        for here, _, files in os.walk(self.folder):
            for path in (here, *(os.path.join(here, name) for name in files)):  # noqa: PTH118  # many
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    close_to_others(path, descriptor)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)


def folder_name(name: str) -> str:
    """A readable beginning and a hash: safe on every file system, and no two names share one."""
    readable = "".join(c if c in _PLAIN else "_" for c in name[:_READABLE])
    return f"{readable}-{sha256(name.encode()).hexdigest()[:16]}"


def drop_all(root: Path, namespace: str) -> None:
    """Remove everything of a namespace, each body when its owner is done."""
    home = root / folder_name(namespace)
    for body in {path.with_suffix(".lance") for path in home.glob("*.l*")}:
        lock = body.with_suffix(".lock")
        with locked(lock, wait=True):
            with suppress(FileNotFoundError):
                shutil.rmtree(body)
            lock.unlink()
    with suppress(OSError):  # a new body may be there already
        home.rmdir()
