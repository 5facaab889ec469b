"""The spool: records of reads that a process left because another held the lock when it ended.

::

    namespaces/<name>.spool      one line of JSON for each record, readable by its owner only
      ▲ one O_APPEND write, under the file's own lock      at most 1 MB in all
      │
    a process that ends ──┘            the next writer reads it inside its transaction, notes
                                       which batches it took, commits, and removes the file

A batch is what one process left. Its id is noted by the transaction that takes it, so a writer that
is killed before it removes the file takes nothing twice. A damaged line is left out and counted.
"""

import json
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh import log
from memory_mesh.engines.ledgers.sqlite import rows, states
from memory_mesh.engines.ledgers.sqlite.noted import Noted, tell_lost
from memory_mesh.errors import StoreIsBusy
from memory_mesh.process import locks, private

MOST_BYTES = 1 << 20
_STATE = "spool"  # the value that names the batches taken from the file that is there, and before
_REMEMBERED = 64  # batches taken from files that are gone
_TRIES = 8  # each needs another writer that removes the file meanwhile
_WAIT_SECONDS = 0.2  # for another process that appends or reads
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def append(path: Path, noted: Sequence[Noted]) -> None:
    """Leaves records for the next writer in one write; the oldest go where there is no room."""
    from memory_mesh.engines.ledgers.sqlite import noted_lines  # most stores have no spool

    batch = os.urandom(8).hex()
    lines = [noted_lines.line(batch, number, one) for number, one in enumerate(noted)]
    kept, there = 0, False
    with suppress(OSError):
        for _ in range(_TRIES):
            kept, there = _appended(path, lines)
            if there:
                break
    kept = kept if there else 0
    log.debug("records left in the spool", records=kept)
    if kept < len(noted):
        tell_lost(len(noted) - kept)


def _appended(path: Path, lines: Sequence[bytes]) -> tuple[int, bool]:
    """Appends the newest lines that fit; says how many, and whether the file is still there.

    A writer that took the file in may take it away at the very moment of an append that did not
    wait for the lock: then the lines go into the next file. Lines that are there twice, or were
    taken already, are known by their batch and number.
    """
    with _opened(path, os.O_RDWR | os.O_APPEND, make=True) as descriptor:
        end = os.fstat(descriptor).st_size
        whole = not end or _last_byte(descriptor, end) == b"\n"
        data, fitting = _newest(lines, MOST_BYTES - end - 1)
        written = os.write(descriptor, (b"" if whole else b"\n") + data) if fitting else 0
        kept = fitting if written >= len(data) else 0
        return kept, locks.still_at(path, descriptor)


class Spooled:
    """The spool as one transaction takes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: tuple[int, int] | None = None  # the file and its size

    def records(self, db: sqlite3.Connection) -> list[Noted]:
        """What no transaction has taken yet; notes in this one that it is taken."""
        try:
            with _opened(self._path, os.O_RDONLY, seconds=0.0) as descriptor:
                found = os.fstat(descriptor)
                data = os.read(descriptor, 2 * MOST_BYTES)
        except (OSError, StoreIsBusy):
            return []
        from memory_mesh.engines.ledgers.sqlite import noted_lines  # most stores have no spool

        self._read = (found.st_ino, found.st_size)
        taken = _taken(db)
        batches, damaged = noted_lines.batches(data)
        new = {batch: noted for batch, noted in batches.items() if batch not in taken}
        if new or damaged:
            log.info("spool taken in", records=sum(map(len, new.values())), damaged=damaged)
        known = [*(batch for batch in taken if batch not in batches), *batches]
        kept = known[-max(_REMEMBERED, len(batches)) :]
        db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (_STATE, rows.dumped(kept)))
        return [one for noted in new.values() for one in noted]

    def remove(self) -> None:
        """After the commit: removes the file, unless somebody has appended to it."""
        if self._read is None:
            return
        with (
            suppress(OSError, StoreIsBusy),
            _opened(self._path, os.O_RDONLY, seconds=0.0) as descriptor,
        ):
            found = os.fstat(descriptor)
            if (found.st_ino, found.st_size) == self._read:
                self._discard(descriptor, found.st_size)

    def _discard(self, descriptor: int, taken: int) -> None:
        """Takes the file away; what was appended at that moment goes into the next one."""
        aside = self._path.with_name(f"{self._path.name}-{os.urandom(8).hex()}")
        self._path.rename(aside)  # whoever appends from now on sees that it is gone
        late = os.pread(descriptor, 2 * MOST_BYTES, taken)
        if late:
            with _opened(self._path, os.O_RDWR | os.O_APPEND, make=True) as next_file:
                os.write(next_file, late)
        aside.unlink()


@contextmanager
def taking(path: Path) -> Iterator[Spooled]:
    """The spool for one transaction, which is inside; removed once that is committed."""
    spooled = Spooled(path)
    yield spooled
    spooled.remove()


def waiting(path: Path) -> dict[str, int]:
    """How many records and damaged lines wait in the spool, if there is one."""
    from memory_mesh.engines.ledgers.sqlite import noted_lines

    try:
        with _opened(path, os.O_RDONLY, seconds=0.0) as descriptor:
            batches, damaged = noted_lines.batches(os.read(descriptor, 2 * MOST_BYTES))
    except (OSError, StoreIsBusy):
        return {}
    return {
        "records in the spool": sum(map(len, batches.values())),
        "damaged lines in the spool": damaged,
    }


@contextmanager
def _opened(
    path: Path, flags: int, seconds: float | None = None, *, make: bool = False
) -> Iterator[int]:
    """The spool under its own lock; without seconds, a holder that does not let go is ignored.

    A process may be stopped while it reads the spool: whoever ends meanwhile still appends.
    """
    while True:
        flags |= _FLAGS
        descriptor = private.open_file(path, flags) if make else os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path} is not a plain file")
            with _locked(path, descriptor, seconds):
                if locks.still_at(path, descriptor):
                    yield descriptor
                    return
        finally:
            os.close(descriptor)


@contextmanager
def _locked(path: Path, descriptor: int, seconds: float | None) -> Iterator[None]:
    held = locks.held(path, descriptor, _WAIT_SECONDS if seconds is None else seconds)
    try:
        held.__enter__()
    except StoreIsBusy:
        if seconds is not None:
            raise
        yield
        return
    try:
        yield
    finally:
        held.__exit__(None, None, None)


def _last_byte(descriptor: int, end: int) -> bytes:
    os.lseek(descriptor, end - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _taken(db: sqlite3.Connection) -> set[str]:
    """The batches that were taken from the file; a value that is not ours names none."""
    try:
        return set(map(str, json.loads(states.by_name(db, [_STATE]).get(_STATE, "[]"))))
    except (ValueError, TypeError, RecursionError):
        return set()


def _newest(lines: Sequence[bytes], room: int) -> tuple[bytes, int]:
    """As many of the last lines as there is room for, and how many."""
    kept = 0
    for line in reversed(lines):
        if len(line) > room:
            break
        room -= len(line)
        kept += 1
    return b"".join(lines[len(lines) - kept :]), kept
