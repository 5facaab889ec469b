"""What makes a daemon the only one of its store: a lock for life, and the socket it listens on."""

import os
import socket
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memory_mesh.agents.daemon import place
from memory_mesh.base.typed import Self
from memory_mesh.platform import system

PATIENCE_SECONDS = 10.0  # that a successor waits for the one before it to finish its requests
_PAUSE = 0.02
_BACKLOG = 128


class DaemonLock:
    """The lock of a store's daemon; the system releases it when the process ends, however."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor, self._path = descriptor, path

    @classmethod
    def taken(
        cls, store: str, *, seconds: float = 0.0, answers: Callable[[], bool] | None = None
    ) -> Self | None:
        """Takes the lock, after the given seconds at most; None if another daemon keeps it.

        Only one process waits at a time: a second one would not be needed either. It gives way as
        soon as the other daemon `answers`, else it would serve when that one is stopped.
        """
        path = place.lock_path(store)
        system.make_folder(Path(path).parent)
        if (held := cls._at_once(path)) is not None or not seconds:
            return held
        next_in_line = system.open_file(Path(f"{path}.next"), os.O_RDWR)
        try:
            if not _locked(next_in_line):
                return None
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if (held := cls._at_once(path)) is not None:
                    return held
                if answers is not None and answers():
                    return None
                time.sleep(_PAUSE)
            return None
        finally:
            os.close(next_in_line)

    @classmethod
    def _at_once(cls, path: str) -> Self | None:
        descriptor = system.open_file(Path(path), os.O_RDWR)
        if _locked(descriptor):
            held = cls(descriptor, path)
            if held.leads_here():
                return held
        os.close(descriptor)
        return None

    def leads_here(self) -> bool:
        """Whether the path still leads to the locked file; not if the store was replaced."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._descriptor))  # noqa: PTH116
        except OSError:
            return False

    def sign(self, address: str) -> None:
        """Writes this process and its socket into the lock file."""
        with suppress(OSError):  # a full disk keeps nobody from listening
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{os.getpid()} ".encode() + os.fsencode(address) + b"\n")

    def release(self) -> None:
        """Lets the next one in."""
        os.close(self._descriptor)


class Listener:
    """A listening socket that appears under its name only when it is ready."""

    def __init__(self, store: str) -> None:
        self.path: str = place.socket_path(store)
        fresh = f"{self.path.removesuffix('.sock')}.new"
        _remove(fresh)
        self.socket: socket.socket = socket.socket(system.unix_family(), socket.SOCK_STREAM)
        self.socket.bind(fresh)
        os.chmod(fresh, 0o600)  # noqa: PTH101
        self.socket.listen(_BACKLOG)
        self.socket.setblocking(False)  # noqa: FBT003
        self._own = os.stat(fresh)  # noqa: PTH116
        _make_way(self.path)
        os.rename(fresh, self.path)  # noqa: PTH104

    def leads_here(self) -> bool:
        """Whether clients that look for the daemon find this socket."""
        try:
            return os.path.samestat(os.lstat(self.path), self._own)
        except OSError:
            return False

    def hide(self) -> None:
        """Removes the name, unless it leads to another daemon by now."""
        if self.leads_here():
            _remove(self.path)

    def close(self) -> None:
        """Takes no more connections."""
        self.hide()
        self.socket.close()


def _locked(descriptor: int) -> bool:
    try:
        system.lock_at_once(descriptor)
    except OSError:
        return False
    return True


def _make_way(path: str) -> None:
    """Moves a folder aside that stands where the socket belongs; a file is simply replaced."""
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.rename(path, f"{path}.{os.urandom(4).hex()}")  # noqa: PTH104


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108
