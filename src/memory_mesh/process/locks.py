"""Locks between processes: a file under flock, served in order of arrival.

SQLite's own busy handler polls and starves some of many writers; the kernel queues flock's.
The lock dies with its holder, so a killed process never leaves the store locked.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh import log

_held: set[int] = set()  # descriptors that `locked` holds in this process


class FairLock:
    """Exclusive between threads and between processes; not reentrant."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()
        self._descriptor: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Waits for the lock, holds it, and always releases it."""
        with self._threads:
            descriptor = self._open()
            _lock_patiently(descriptor)
            try:
                yield
            finally:
                _unlock(descriptor)

    def close(self) -> None:
        """Closes the lock file."""
        with self._threads:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def after_fork(self) -> None:
        """Drop the shared descriptor: the parent's hold does not depend on ours."""
        self._threads = threading.Lock()
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._descriptor


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Locks a file; yields False if another process holds it and `wait` is off.

    The holder may remove the file: whoever waited for it then makes a new one.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(descriptor, wait=wait):
            os.close(descriptor)
            yield False
            return
        if still_at(path, descriptor):
            break
        os.close(descriptor)  # its holder removed it: ours would lock nobody out
    try:
        with _kept(descriptor):
            yield True
    finally:
        os.close(descriptor)


@contextmanager
def held(descriptor: int) -> Iterator[None]:
    """Waits for the lock of an open file and holds it."""
    _lock_patiently(descriptor)
    with _kept(descriptor):
        yield


@contextmanager
def _kept(descriptor: int) -> Iterator[None]:
    """Unlocks at the end; a forked child lets go at once."""
    _held.add(descriptor)
    try:
        yield
    finally:
        _held.discard(descriptor)
        _unlock(descriptor)  # closing alone would leave it to a forked child


def _lock_patiently(descriptor: int) -> None:
    """Locks the file; logs how long another process kept it."""
    if _lock(descriptor, wait=False):
        return
    start = log.started()
    _lock(descriptor, wait=True)
    log.debug("waited for the lock", ms=log.milliseconds(start))


def still_at(path: Path, descriptor: int) -> bool:
    """True when the path leads to the open file, and not to one that took its place."""
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
            if wait:
                raise
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
