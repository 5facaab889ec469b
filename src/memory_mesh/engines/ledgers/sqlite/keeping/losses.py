"""What a salvage could not take over: counted, listed, and kept in a file where it was read."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite.keeping.records import Value
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model.safekeeping import HeldBack, Unread
from memory_mesh.process import private
from memory_mesh.typed import TypeAlias

SUFFIX = ".salvage.jsonl"
INDEXED = "an index names it, and its table does not lead to it"
Known: TypeAlias = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of rows of a table that its tree does not lead to; None: no end is known."""

    table: str
    after: int | None
    until: int | None
    why: str


class Losses:
    """Collects what is lost while a namespace is salvaged."""

    def __init__(self, path: Path) -> None:
        """Rows that were read and cannot be taken over go to a file beside the new database."""
        self._path, self._lines = path, 0
        self._hash = hashlib.sha256()
        self._file: int | None = None
        self.gaps: list[Gap] = []
        self.known: dict[str, dict[int, Known]] = {}  # of lost rows, by table and number
        self.why: dict[str, dict[int, str]] = {}
        self.memories: list[str] = []  # ids whose text is lost
        self.rebuilt: list[str] = []
        self.reworded: list[int] = []  # texts whose terms are not sure
        self.others: list[Unread] = []
        self.older: set[int] = set()  # versions that only an older copy of a page holds
        self.made: set[int] = set()  # versions that were made here
        self.doubts: dict[int, tuple[str, str]] = {}  # memories: why, and what their rows say
        self.held: dict[int, HeldBack] = {}

    def lose(self, table: str, number: int, why: str, known: Mapping[str, Value]) -> None:
        """A row is lost, but some of it is known."""
        self.known.setdefault(table, {}).setdefault(number, {}).update(
            {name: value for name, value in known.items() if value is not None}
        )
        self.why.setdefault(table, {}).setdefault(number, why)

    def found(self, table: str, number: int) -> None:
        """A row that was thought lost is there after all."""
        self.known.get(table, {}).pop(number, None)
        self.why.get(table, {}).pop(number, None)

    def doubt(self, memory: int, why: str, said: str) -> None:
        """A memory is not proven; the first reason counts."""
        self.doubts.setdefault(memory, (why, said))

    def keep(self, table: str, number: int | None, why: str, row: Mapping[str, Value]) -> None:
        """Writes a row that is not taken over to the file of leftovers."""
        plain = {
            name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()
        }
        line = {"table": table, "number": number, "why": why, "row": plain}
        data = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        if self._file is None:
            self._file = private.open_file(self._path, os.O_WRONLY)
        os.write(self._file, data)
        self._hash.update(data)
        self._lines += 1

    def close(self) -> str | None:
        """Makes the file safe; its path, if there is one."""
        if self._file is None:
            return None
        os.fsync(self._file)
        os.close(self._file)
        self._file = None
        return str(self._path)

    def digest(self) -> str | None:
        """The SHA-256 of the file of leftovers; None if there is none."""
        return self._hash.hexdigest() if self._lines else None

    def is_empty(self) -> bool:
        """Whether everything was read and nothing had to be rebuilt."""
        lists = (self.gaps, self.memories, self.rebuilt, self.others, self.doubts, self.made)
        return not any(lists) and not any(self.why.values()) and not self._lines

    def listed(self, names: Mapping[str, Mapping[int, str]]) -> list[Unread]:
        """The list for the user; `names` are the ids of memories that rows of a table are of."""
        found = []
        for table, lost in sorted(self.why.items()):
            for why in sorted(set(lost.values())):
                numbers = sorted(number for number in lost if lost[number] == why)
                found += [
                    Unread(table, run[0], run[-1], why, _named(run, names.get(table, {})))
                    for run in runs(numbers)
                ]
        for gap in self.gaps:
            first = None if gap.after is None else gap.after + 1
            found.append(Unread(gap.table, first, gap.until, gap.why))
        return found + self.others


def runs(numbers: Sequence[int]) -> Iterable[list[int]]:
    """Sorted numbers as runs without gaps."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _named(run: list[int], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[number] for number in run if number in names))
