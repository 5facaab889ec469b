"""The journal of hooks, MCP fronts and daemons: one line each, which `doctor` shows.

::

    <store>/agents/log.jsonl     0600; above 256 KB it becomes log.1, and a new one begins

A line says what ran, when, for how long and how it ended. It holds no memory, prompt or secret.
This module is light: a hook loads it at every prompt.
"""

import os
import time

from memory_mesh.agents import request
from memory_mesh.base.typed import TYPE_CHECKING, Any
from memory_mesh.platform import system

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "agents"  # in the store
NAME, BEFORE = "log.jsonl", "log.1"
MOST_BYTES = 256 * 1024
_TEXT_CHARS = 200  # of a value: what went wrong, never what was said


def note(store: str, what: str, **facts: object) -> None:
    """Appends one line; never raises: a full disk or a folder of others leaves no line."""
    known = {
        name: value[:_TEXT_CHARS] if isinstance(value, str) else value
        for name, value in facts.items()
    }
    said = {"at": stamp(time.time()), "what": what, **known}
    try:
        line = request.dumps(said).encode("ascii") + b"\n"
        append(f"{store}/{FOLDER}/{NAME}", line, most=MOST_BYTES)
    except (OSError, ValueError, TypeError):
        return


def read(store: str, last: int = 100) -> list[dict[str, Any]]:
    """The last lines, the oldest first; a damaged one is left out."""
    found = [
        one
        for name in (BEFORE, NAME)
        for one in lines(f"{store}/{FOLDER}/{name}", most=2 * MOST_BYTES)
    ]
    return found[-last:]


def tail(store: str, most: int) -> "Iterator[dict[str, Any]]":
    """The lines in the last bytes of the journal, the oldest first."""
    return lines(f"{store}/{FOLDER}/{NAME}", most=most)


def stamp(now: float) -> str:
    """A time as the lines write it; the later of two is the greater text."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    return f"{whole}.{int(now % 1 * 1000):03d}Z"


def append(path: str, line: bytes, *, most: int | None = None) -> None:
    """Appends a line in one write; a file above `most` bytes is set aside first."""
    make_folder(os.path.dirname(path))  # noqa: PTH120  # pathlib costs 8 ms
    descriptor = _opened(path)
    try:
        if most is not None and os.fstat(descriptor).st_size > most:
            _set_aside(path, descriptor)
            os.close(descriptor)
            descriptor = _opened(path)
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def lines(path: str, *, most: int) -> "Iterator[dict[str, Any]]":
    """The objects in the last bytes of a file; a line that is none is left out."""
    try:
        descriptor = os.open(path, os.O_RDONLY | system.NO_WAIT)
    except OSError:
        return
    try:
        end = os.fstat(descriptor).st_size
        data = system.read_at(descriptor, most, max(0, end - most))
    except OSError:
        return
    finally:
        os.close(descriptor)
    for line in data.split(b"\n"):
        if line.startswith(b"{"):
            try:
                found = request.loads(line.decode())
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def make_folder(folder: str) -> None:
    """Makes a folder, and what is missing above it, for its owner only."""
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(os.path.dirname(folder))  # noqa: PTH120
        make_folder(folder)


def _opened(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | system.NO_WAIT, 0o600)


def _set_aside(path: str, descriptor: int) -> None:
    """Renames a file that is too large, unless another process is at it or was faster."""
    try:
        system.lock_at_once(descriptor)
        there = os.stat(path)  # noqa: PTH116
    except OSError:
        return
    if os.path.samestat(there, os.fstat(descriptor)):
        os.rename(path, f"{os.path.dirname(path)}/{BEFORE}")  # noqa: PTH104, PTH120
