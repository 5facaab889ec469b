"""The spool: records of reads that a process could not write because another held the lock.

::

    namespaces/<name>.spool      one line of JSON for each record, readable by its owner only
      ▲ one O_APPEND write, under the file's own lock      at most 1 MB in all
      │
    a read beside a writer,            the next writer reads it inside its transaction, notes
    or a process that ends             how far it took each batch, commits, and removes the file

A batch is what one process left at once. How far it was taken is noted by the transaction that
takes it, so a writer that is killed before it removes the file takes nothing twice. A damaged line
is left out and counted.
"""

import json
import os
import sqlite3
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from memory_mesh.base.typed import Any, Self
from memory_mesh.ledgers.shared import named_values, rows
from memory_mesh.ledgers.shared.history import Noted
from memory_mesh.model import BlockOperation, Entry, Json, Scope, StoreIsBusy
from memory_mesh.model.pack import Injected, Injection
from memory_mesh.platform import locks, system, telemetry

_DAMAGED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
_LARGEST = 1 << 62

MOST_BYTES = 1 << 20
LEAVING_SECONDS = 0.2  # that a process which ends waits for one that appends or reads
_STATE = "spool"  # the value that says how far batches were taken from this file and those before
_REMEMBERED = 256  # batches taken from files that are gone
_TRIES = 8  # each needs another writer that removes the file meanwhile
_WHOLE = 1 << 62  # how far a batch was taken of which only that was noted


def append(path: Path, noted: Sequence[Noted], seconds: float) -> list[Noted]:
    """Leaves records for the next writer in one write; returns those that found no room.

    It waits so long for the file's lock. Whoever holds it then is ignored: it may be stopped.
    """
    batch = os.urandom(8).hex()
    rest = list(noted)
    with suppress(OSError):
        for _ in range(_TRIES):
            start, end, there = _appended(path, batch, noted, seconds)
            rest = [*noted[:start], *noted[end:]]
            if there:
                break
    telemetry.debug("records left in the spool", records=len(noted) - len(rest))
    return rest


def _appended(
    path: Path, batch: str, noted: Sequence[Noted], seconds: float
) -> tuple[int, int, bool]:
    """Appends the newest records that fit; says which, and whether the file is still there.

    A writer that took the file in may take it away at the very moment of an append that did not
    wait for the lock: then the lines go into the next file. Lines that are there twice, or were
    taken already, are known by their batch and number.
    """
    with _opened(path, os.O_RDWR | os.O_APPEND, seconds, make=True) as descriptor:
        end = os.fstat(descriptor).st_size
        before = b"" if not end or _last_byte(descriptor, end) == b"\n" else b"\n"
        lines = _newest(batch, noted, MOST_BYTES - end - len(before))
        data = before + b"".join(lines)
        written = os.write(descriptor, data) if lines else 0
        start = len(noted) - len(lines)
        whole = data[len(before) : written].count(b"\n")  # a full disk may take a part
        return start, start + whole, locks.still_at(path, descriptor)


class Spooled:
    """The spool as one transaction takes it, which is inside; removed once that is committed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: bytes | None = None  # all of the file, as this transaction took it

    def __enter__(self) -> Self:
        """Takes nothing yet."""
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Removes the file, unless the transaction failed."""
        if failure is None and self._read is not None:
            self.remove()

    def records(self, db: sqlite3.Connection) -> list[Noted]:
        """What no transaction has taken yet; notes in this one that it is taken."""
        try:
            os.lstat(self._path)  # most stores have none
            with _opened(self._path, os.O_RDONLY, 0.0) as descriptor:
                data = os.read(descriptor, 2 * MOST_BYTES)
        except (OSError, StoreIsBusy):
            return []
        self._read = data
        taken = _taken(db)
        batches, damaged = batches_in(data)
        new = [
            one
            for batch, numbered in batches.items()
            for number, one in numbered.items()
            if number >= taken.get(batch, 0)
        ]
        if new or damaged:
            telemetry.info("spool taken in", records=len(new), damaged=damaged)
        for batch, numbered in batches.items():
            taken[batch] = max(taken.pop(batch, 0), max(numbered) + 1)
        kept = dict([*taken.items()][-max(_REMEMBERED, len(batches)) :])
        db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (_STATE, rows.dumped(kept)))
        return new

    def remove(self) -> None:
        """After the commit: removes the file, unless it holds anything else by now.

        Another file may be in its place, with the same size and the same number on the disk.
        """
        if self._read is None:
            return
        with (
            suppress(OSError, StoreIsBusy),
            _opened(self._path, os.O_RDONLY, 0.0) as descriptor,
        ):
            if os.read(descriptor, 2 * MOST_BYTES) == self._read:
                self._discard(descriptor, len(self._read))

    def _discard(self, descriptor: int, taken: int) -> None:
        """Takes the file away; what was appended at that moment goes into the next one."""
        aside = self._path.with_name(f"{self._path.name}-{os.urandom(8).hex()}")
        self._path.rename(aside)  # whoever appends from now on sees that it is gone
        late = system.read_at(descriptor, 2 * MOST_BYTES, taken)
        if late:
            flags = os.O_RDWR | os.O_APPEND
            with _opened(self._path, flags, LEAVING_SECONDS, make=True) as next_file:
                os.write(next_file, late)
        aside.unlink()


def taking(path: Path) -> Spooled:
    """The spool for one transaction."""
    return Spooled(path)


def waiting(path: Path) -> dict[str, int]:
    """How many records and damaged lines wait in the spool, if there is one."""
    try:
        with _opened(path, os.O_RDONLY, 0.0) as descriptor:
            batches, damaged = batches_in(os.read(descriptor, 2 * MOST_BYTES))
    except (OSError, StoreIsBusy):
        return {}
    return {
        "records in the spool": sum(map(len, batches.values())),
        "damaged lines in the spool": damaged,
    }


@contextmanager
def _opened(path: Path, flags: int, seconds: float, *, make: bool = False) -> Iterator[int]:
    """The spool under its own lock; whoever makes it ignores a holder that does not let go.

    A process may be stopped while it reads the spool: others still append.
    """
    while True:
        flags |= system.NO_WAIT
        descriptor = system.open_file(path, flags) if make else os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(f"{path} is not a plain file")
            with _locked(path, descriptor, seconds, must=not make):
                if locks.still_at(path, descriptor):
                    yield descriptor
                    return
        finally:
            os.close(descriptor)


@contextmanager
def _locked(path: Path, descriptor: int, seconds: float, *, must: bool) -> Iterator[None]:
    held = locks.held(path, descriptor, seconds)
    try:
        held.__enter__()
    except StoreIsBusy:
        if must:
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


def _taken(db: sqlite3.Connection) -> dict[str, int]:
    """How far each batch was taken, the oldest first; a value that is not ours names none."""
    try:
        found = json.loads(named_values.by_name(db, [_STATE]).get(_STATE, "{}"))
        if isinstance(found, list):  # an earlier version names batches alone
            return dict.fromkeys(map(str, found), _WHOLE)
        return {batch: int(number) for batch, number in found.items()}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}


def _newest(batch: str, noted: Sequence[Noted], room: int) -> list[bytes]:
    """As many of the last records as there is room for, as lines."""
    lines: list[bytes] = []
    for number in reversed(range(len(noted))):
        line = line_of(batch, number, noted[number])
        room -= len(line)
        if room < 0:
            break
        lines.append(line)
    return lines[::-1]


# Records of reads as lines of JSON, and back; a line that is not one of ours is damaged.


def line_of(batch: str, number: int, noted: Noted) -> bytes:
    """One record as a line: its batch, its place there, and what it says."""
    values: dict[str, Json] = {"batch": batch, "number": number}
    if noted.entry is not None:
        values["entry"] = {
            "id": noted.entry.id,
            "agent": noted.entry.agent,
            "at": rows.micros(noted.entry.at),
            "memories": list(noted.entry.memories),
            "wire": noted.entry.wire,
            "metadata": dict(noted.entry.metadata),
        }
    if noted.injection is not None:
        values["injection"] = _injection_values(noted.injection)
    if noted.at is not None:
        values |= {"used": list(noted.used), "at": rows.micros(noted.at)}
    return json.dumps(values, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def batches_in(data: bytes) -> tuple[dict[str, dict[int, Noted]], int]:
    """The records of each batch by their number, and how many lines are damaged.

    A line may be there twice, where a file was removed while somebody appended to it.
    """
    found: dict[str, dict[int, Noted]] = {}
    damaged = 0
    *lines, rest = data.split(b"\n")
    for text in lines:
        try:
            if text:
                batch, number, noted = _read(text)
                found.setdefault(batch, {})[number] = noted
        except _DAMAGED:
            damaged += 1
    return found, damaged + bool(rest)


def _read(text: bytes) -> tuple[str, int, Noted]:
    values = json.loads(text)
    used, at = values.get("used", ()), values.get("at")
    noted = Noted(
        _entry(values["entry"]) if "entry" in values else None,
        _injection(values["injection"]) if "injection" in values else None,
        tuple(map(_text, used)),
        None if at is None else _moment(at),
    )
    return _text(values["batch"]), _number(values["number"]), noted


def _entry(values: Mapping[str, Any]) -> Entry:
    metadata = values["metadata"]
    json.dumps(metadata, allow_nan=False, ensure_ascii=False).encode()  # or no transaction takes it
    return Entry(
        _text(values["id"]),
        BlockOperation.RECALL,
        _optional(values["agent"]),
        _moment(values["at"]),
        tuple(map(_text, values["memories"])),
        _optional(values["wire"]),
        {_text(name): value for name, value in metadata.items()},
    )


def _injection_values(injection: "Injection") -> dict[str, Json]:
    reader = injection.reader
    return {
        "id": injection.id,
        "at": rows.micros(injection.at),
        "reader": [reader.project, reader.agent, reader.session],
        "texts": [injection.question, injection.format, injection.fence],
        "tokens": [injection.tokens, injection.max_tokens],
        "memories": [
            [one.memory, rows.micros(one.recorded), one.section, one.tokens, one.score]
            for one in injection.memories
        ],
        "agent": injection.agent,
    }


def _injection(values: Mapping[str, Any]) -> "Injection":
    question, format_, fence = map(_text, values["texts"])
    tokens, max_tokens = map(_number, values["tokens"])
    return Injection(
        id=_text(values["id"]),
        at=_moment(values["at"]),
        reader=Scope(*map(_optional, values["reader"])),
        question=question,
        format=format_,
        fence=fence,
        tokens=tokens,
        max_tokens=max_tokens,
        memories=tuple(map(_injected, values["memories"])),
        agent=_optional(values["agent"]),
    )


def _injected(values: Sequence[Any]) -> "Injected":
    memory, recorded, section, tokens, score = values
    score = None if score is None else float(score)
    return Injected(_text(memory), _moment(recorded), _text(section), _number(tokens), score)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    value.encode()  # a lone surrogate cannot be stored
    return value


def _optional(value: object) -> str | None:
    return None if value is None else _text(value)


def _number(value: object) -> int:
    if not isinstance(value, int) or not -_LARGEST < value < _LARGEST:
        raise TypeError
    return value


def _moment(value: object) -> datetime:
    return rows.since_epoch(_number(value))
