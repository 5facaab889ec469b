"""Where a body lies and who may change it: a folder per namespace and space, one owner at a time.

The lock is a file beside the folder, under flock: it dies with its holder, and removing the folder
by hand never leaves anything locked.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_READABLE = 40  # characters of a name that stay readable in its folder's
_held: set[int] = set()  # descriptors of the locks this process holds


class Place:
    """The folder of one namespace's body in one space, and its lock."""

    def __init__(self, root: Path, namespace: str, space: str) -> None:
        self.folder = root / folder_name(namespace) / f"{folder_name(space)}.lance"
        self.uri = str(self.folder.absolute())  # a relative path may be taken for a host

    @contextmanager
    def owned(self, *, wait: bool) -> Iterator[bool]:
        """Be the only one who changes this body; False when another is and we do not wait."""
        self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(self.folder.with_suffix(".lock"), wait=wait) as mine:
            yield mine

    def clear(self) -> None:
        """Remove every file of the body."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)

    def sync(self) -> None:
        """Force the body to the disk: the index library itself never does."""
        for here, _, files in os.walk(self.folder):
            for path in (here, *(os.path.join(here, name) for name in files)):  # noqa: PTH118  # many
                descriptor = os.open(path, os.O_RDONLY)
                try:
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
        with _locked(lock, wait=True):
            with suppress(FileNotFoundError):
                shutil.rmtree(body)
            lock.unlink()
    with suppress(OSError):  # a new body may be there already
        home.rmdir()


@contextmanager
def _locked(path: Path, *, wait: bool) -> Iterator[bool]:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(descriptor, wait=wait):
            os.close(descriptor)
            yield False
            return
        if _still_at(path, descriptor):
            break
        os.close(descriptor)  # its holder removed it: ours would lock nobody out
    _held.add(descriptor)
    try:
        yield True
    finally:
        _held.discard(descriptor)
        _unlock(descriptor)  # closing alone would leave it to a forked child
        os.close(descriptor)


def _still_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _let_go_in_child() -> None:
    """A lock is the parent's: a child that kept it open would hold it after the parent's death."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)

if sys.platform == "win32":  # pragma: no cover  # expected to work, tested on Linux only
    import msvcrt

    def _lock(descriptor: int, *, wait: bool) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
