"""A fair lock between processes: a file under flock, served in order of arrival.

SQLite's own busy handler polls and starves some of many writers; the kernel queues flock's.
The lock dies with its holder, so a killed process never leaves the store locked.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class FairLock:
    """Exclusive between threads and between processes; not reentrant."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()
        self._descriptor: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Wait for the turn, hold, and let go whatever happens."""
        with self._threads:
            descriptor = self._open()
            _lock(descriptor)
            try:
                yield
            finally:
                _unlock(descriptor)

    def close(self) -> None:
        """Give the file back."""
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


if sys.platform == "win32":  # pragma: no cover  # expected to work, tested on Linux only
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
