"""Writes files that people and other programs edit too: whole or not at all, and on the disk.

Our writers lock the file itself (flock). After waiting, a writer looks whether the path still leads
to the file that it locked: whoever replaces a file leaves those who waited with the old one. An
editor takes no lock: `mirror/store_to_folder.py` exchanges a file with the new one and looks at it
again.
"""

import errno
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from memory_mesh.model.errors import InvalidInput, StoreIsBusy
from memory_mesh.platform import locks
from memory_mesh.platform.system import FILE, new_file

_RANDOM_BYTES = 6  # of a draft's name
_DISK_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_PART = 1 << 20  # bytes read at once
_NAME_BYTES = 60
_CURRENT_FOLDER = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def write_atomically(path: Path, data: bytes, *, private: bool = False) -> None:
    """Makes or replaces a file: a reader sees the old or the new bytes, also after a power cut.

    A `private` file is for its owner only; any other has the mode it had, or that of the umask.
    """
    if path.is_symlink():
        raise InvalidInput(f"{path} is a link; links are not followed: write to where it leads")
    temporary = written_beside(path, data, private=private)
    try:
        temporary.replace(path)
    except OSError:
        _remove(temporary)
        raise
    sync_folder(path.parent)


def append_locked(path: Path, data: bytes | Callable[[bytes], bytes]) -> int:
    """Appends under a lock in one write and returns where; a function is given what is there.

    A write that the disk takes only in part is undone.
    """
    with opened_locked(path, os.O_APPEND | os.O_CREAT) as descriptor:
        size = os.fstat(descriptor).st_size
        added = data if isinstance(data, bytes) else data(_all(descriptor))
        if added:
            _append(descriptor, added, size)
            os.fsync(descriptor)
    if size == 0:
        sync_folder(path.parent)
    return size


@contextmanager
def opened_locked(path: Path, flags: int) -> Iterator[int]:
    """Opens and locks a plain file; a link is refused."""
    while True:
        descriptor = _open(path, os.O_RDWR | flags)
        try:
            with locks.held(path, descriptor):
                if locks.still_at(path, descriptor):
                    yield descriptor
                    return
        finally:
            os.close(descriptor)


def _open(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags | _FLAGS, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidInput(f"{path} is a link; links are not followed") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidInput(f"{path} is not a plain file")
    return descriptor


def _append(descriptor: int, data: bytes, size: int) -> None:
    """One write; the loop goes on only after a write in part, and ends when the disk is full."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def exchanged(one: Path, other: Path) -> bool:
    """Two names change their files in one step; False where the system cannot."""
    rename = _renameat2()
    return rename is not None and rename(os.fsencode(one), os.fsencode(other)) == 0


@cache
def _renameat2() -> Callable[[bytes, bytes], int] | None:
    if sys.platform == "linux":
        import ctypes

        call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        if call is not None:
            return lambda one, other: int(
                call(_CURRENT_FOLDER, one, _CURRENT_FOLDER, other, _EXCHANGE)
            )
    return None


def _all(descriptor: int) -> bytes:
    parts = []
    os.lseek(descriptor, 0, os.SEEK_SET)
    while part := os.read(descriptor, _PART):
        parts.append(part)
    return b"".join(parts)


def written_beside(path: Path, data: bytes, *, private: bool = False) -> Path:
    """A hidden file in the same folder with the data and the mode of the file, on the disk."""
    mode = FILE if private else 0o666
    temporary = path.with_name(f".{short(path.name)}.{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                temporary.chmod(FILE if private else stat.S_IMODE(path.lstat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        _remove(temporary)
        raise
    return temporary


def short(name: str) -> str:
    """The beginning of a name that leaves room for an ending: file systems count bytes."""
    return name.encode("utf-8", "surrogateescape")[:_NAME_BYTES].decode("utf-8", "ignore")


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def sync(path: Path) -> None:
    """Forces a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """The name is on the disk too; some file systems cannot sync a folder."""
    with suppress(OSError):
        sync(folder)


def sync_tree(folder: Path, besides: str = "") -> None:
    """Every file and folder below is on the disk, but for files of one name."""
    for path in sorted(folder.rglob("*"), reverse=True):  # what a folder holds comes before it
        if path.is_dir():
            sync_folder(path)
        elif path.name != besides:
            sync(path)
    sync_folder(folder)


def line_with_sum(said: str, size: int) -> bytes:
    """A line of a stated size that ends with its checksum."""
    return f"{said} {zlib.crc32(said.encode()):08x}".encode().ljust(size - 1) + b"\n"


def words_of_line(data: bytes, size: int) -> list[str]:
    """The words of such a line; none if it is torn or damaged."""
    said, _, crc = data.rstrip().rpartition(b" ")
    whole = len(data) == size and crc == b"%08x" % zlib.crc32(said)
    return data.decode().split() if whole else []


# Makes a file once among processes, whole or not at all: a draft is written, then named.
#
# A draft is locked while its process lives: one that can be locked was left by a killed one.


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
                with locks.held(left, descriptor, 0.0):  # of an open file: nothing is written to it
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
        with locks.held(
            draft, descriptor, 0.0
        ):  # of an open file: nobody signs what becomes the file
            if not locks.still_at(draft, descriptor):
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
