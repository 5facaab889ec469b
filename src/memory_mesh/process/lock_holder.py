"""Who holds a lock: its process and since when, for the message of somebody who waited in vain.

The holder writes both into the lock file, and leaves them there. Linux itself knows the process of
a lock, which is right where the text is not: an earlier holder wrote it, or the holder never does.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.errors import StoreIsBusy

_BYTES = 64  # of the text; a shorter one is filled up, so that nothing of an earlier one is left
_FIELDS = 8  # of a line in /proc/locks
_STOPPED = frozenset("Tt")  # the states of a process that a signal or a debugger stopped


def sign(descriptor: int) -> None:
    """Writes this process and the time into the lock file; a full disk keeps nobody from a lock."""
    text = f"{os.getpid()} {int(time.time())}".encode()
    with suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, text.ljust(_BYTES - 1) + b"\n")


def busy(path: Path, seconds: float, *, signed: bool = True) -> StoreIsBusy:
    """The error that names the holder of a lock and says what to do.

    A file that is not signed is not opened: closing it again would drop the locks that SQLite has
    on it in this process.
    """
    told, since = _told(path) if signed else (None, None)
    pid = _known_to_linux(path) or _known_to_linux(Path(f"{path}-shm")) or told
    if pid is None or not _lives(pid):
        pid = None
    return StoreIsBusy.held(
        path.name,
        pid=pid,
        since=since if pid is not None and pid == told else None,
        waited=max(0.0, seconds),
        stopped=pid is not None and _is_stopped(pid),
        own=pid == os.getpid(),
    )


def _told(path: Path) -> tuple[int | None, str | None]:
    """What the lock file says, as far as it can be believed."""
    try:
        with path.open("rb") as file:
            words = file.read(_BYTES).decode("ascii").split()
        since = datetime.fromtimestamp(int(words[1]), UTC)
        return int(words[0]), since.isoformat().replace("+00:00", "Z")
    except (OSError, ValueError, IndexError, OverflowError):
        return None, None


def locks_byte(path: Path, byte: str) -> bool:
    """Whether a process locks this byte of a file alone, as far as the system lists it."""
    return any(words[6] == byte for words in _listed(path))


def _known_to_linux(path: Path) -> int | None:
    """The process that holds the file, where the system lists it: one of ours, or SQLite's."""
    with suppress(ValueError):
        for words in _listed(path):
            return int(words[4]) if int(words[4]) > 0 else None
    return None


def _listed(path: Path) -> Iterator[list[str]]:
    """The exclusive locks on a file: 1: FLOCK ADVISORY WRITE pid device:inode first last."""
    if not sys.platform.startswith("linux"):
        return
    with suppress(OSError):
        found = path.stat()
        file = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            words = line.split()  # that of somebody who waits has one more in front: "->"
            if len(words) == _FIELDS and words[3] == "WRITE" and words[5] == file:
                yield words


def _lives(pid: int) -> bool:
    if sys.platform == "win32":  # pragma: no cover  # a signal would end it there
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # somebody else's process
        return True
    return True


def _is_stopped(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[:1] in [[state] for state in _STOPPED]
