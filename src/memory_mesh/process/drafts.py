"""Makes a file once among processes, whole or not at all: a draft is written, then named.

A draft is locked while its process lives: one that can be locked was left by a killed one.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path

from memory_mesh.errors import StoreIsBusy
from memory_mesh.process.locks import held, still_at
from memory_mesh.process.private import new_file

_RANDOM_BYTES = 6  # of a draft's name
_DISK_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})


def publish(path: Path, content: str) -> None:
    """Creates the whole file, unless another process created it first; raises OSError."""
    sweep(path)
    while not _drafted(path, content):
        pass  # a process that sweeps took the draft for a killed one's


def append(path: Path, content: str) -> None:
    """Adds to a file, or leaves it as it was; raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        size = os.fstat(descriptor).st_size
        try:
            _write(descriptor, content)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def sweep(path: Path) -> None:
    """Removes the drafts of a file whose processes were killed; each may be the file itself."""
    for left in path.parent.glob(f".{path.name}.*"):
        if len(left.name) != len(path.name) + 2 + 2 * _RANDOM_BYTES:
            continue
        with suppress(OSError, StoreIsBusy):
            descriptor = os.open(left, os.O_RDONLY)
            try:
                with held(left, descriptor, 0.0):  # of an open file: nothing is written to it
                    left.unlink()
            finally:
                os.close(descriptor)


def _drafted(path: Path, content: str) -> bool:
    """Writes a draft and gives it its name; False if somebody else has the draft."""
    draft = path.with_name(f".{path.name}.{os.urandom(_RANDOM_BYTES).hex()}")
    descriptor = new_file(draft, os.O_RDWR)
    if descriptor is None:
        return False
    try:
        with held(draft, descriptor, 0.0):  # of an open file: nobody signs what becomes the file
            if not still_at(draft, descriptor):
                return False
            _link(descriptor, draft, path, content)
            return True
    except StoreIsBusy:
        return False
    finally:
        os.close(descriptor)


def _link(descriptor: int, draft: Path, path: Path, content: str) -> None:
    """Fills the draft and gives it its name."""
    try:
        _write(descriptor, content)
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno in _DISK_FAULTS:
            raise
        _write_in_place(path, content)  # a file system without links
    finally:
        with suppress(OSError):
            draft.unlink()


def _write_in_place(path: Path, content: str) -> None:
    """Creates the file under its name; readers wait until it is whole, and a half one goes."""
    descriptor = new_file(path, os.O_WRONLY)
    if descriptor is None:
        return
    try:
        _write(descriptor, content)
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: str) -> None:
    """Writes all of it to the disk; a disk that takes a part is full."""
    data = content.encode()
    if os.write(descriptor, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)
