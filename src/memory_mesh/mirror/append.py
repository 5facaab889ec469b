"""Append to a file that others append to at the same time: one lock, one write.

The lock is on the file itself. If somebody replaces the file while others wait, they wait for the
new one (`process.locks.locked`).
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_mesh.process.locks import locked

_MODE = 0o666  # less the user's umask, like any file that an editor makes


def append(path: Path, addition: Callable[[bytes], bytes | None]) -> bytes | None:
    """Appends what `addition` makes of the bytes that are there; returns the whole file.

    If `addition` returns None, nothing is appended and None is returned. The file and its folder
    are made where they are missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with held(path) as descriptor:
        before = content(descriptor)
        more = addition(before)
        if more is None:
            if not before:
                path.unlink(missing_ok=True)  # made above, locked and still empty
            return None
        written = os.write(descriptor, more)  # at the end, whoever else appends
        while written < len(more):  # a disk that is nearly full
            written += os.write(descriptor, more[written:])
        os.fsync(descriptor)
    if not before:
        sync_folder(path.parent)
    return before + more


@contextmanager
def held(path: Path) -> Iterator[int]:
    """The file, made if there is none, locked and opened for appending; a link raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(path, flags, _MODE))
    with locked(path):
        descriptor = os.open(path, flags, _MODE)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def content(descriptor: int) -> bytes:
    """Everything that the open file holds."""
    found = b""
    while chunk := os.pread(descriptor, 1 << 20, len(found)):
        found += chunk
    return found


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
