"""Ways to damage the files of a store: flips of bits and bytes, cuts, and files that were swapped.

A damage is done to a copy of one of the moments of `keeping_world`, and says in words what it did.
"""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.faults.keeping_world import NAMESPACE, OTHER, database

HEADER = 100  # bytes at the start of a database
_TRIES = 50  # to find a byte that is not nought


@dataclass(frozen=True)
class Case:
    """A copy to be damaged, the folder with all moments, and what chance says."""

    copy: Path
    moments: Path
    chance: random.Random

    @property
    def database(self) -> Path:
        """The copy's file."""
        return database(self.copy)

    @property
    def log(self) -> Path:
        """The copy's write-ahead log."""
        return log_of(self.copy)

    @property
    def head(self) -> Path:
        """The copy's head file."""
        return head_of(self.copy)


@dataclass(frozen=True)
class Damage:
    """What is done to which moment."""

    kind: str
    moment: str
    do: Callable[[Case], str]


def log_of(folder: Path, namespace: str = NAMESPACE) -> Path:
    """The write-ahead log of a namespace."""
    return folder / "namespaces" / f"{namespace}.db-wal"


def head_of(folder: Path, namespace: str = NAMESPACE) -> Path:
    """The head file of a namespace."""
    return folder / "namespaces" / f"{namespace}.head"


def keyword_pages(path: Path) -> list[tuple[int, int]]:
    """Where the pages of the keyword tables begin, and how long they are."""
    with closing(sqlite3.connect(path)) as db:
        (size,) = db.execute("PRAGMA page_size").fetchone()
        tables = [
            name
            for (table,) in db.execute(
                "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'"
            )
            for name in (f"{table}_data", f"{table}_idx", f"{table}_docsize", f"{table}_config")
        ]
        pages = [
            page
            for name in tables
            for (page,) in db.execute("SELECT pageno FROM dbstat WHERE name = ?", (name,))
        ]
        return [((page - 1) * size, size) for page in pages]


def flip(path: Path, chance: random.Random, start: int = 0, length: int | None = None) -> str:
    """One bit or one byte gets another value; every other time one that is not nought."""
    data = bytearray(path.read_bytes())
    if not data:
        return f"{path.name} is empty already"
    end = min(len(data), len(data) if length is None else start + length)
    place = chance.randrange(start, end)
    if chance.random() < 0.5:
        for _ in range(_TRIES):
            if data[place]:
                break
            place = chance.randrange(start, end)
    old = data[place]
    bit = chance.random() < 0.5
    data[place] = old ^ (1 << chance.randrange(8)) if bit else (old + chance.randint(1, 255)) % 256
    path.write_bytes(data)
    return f"{path.name} byte {place} of {len(data)} from {old} to {data[place]}"


def cut(path: Path, chance: random.Random) -> str:
    """The end is missing."""
    size = path.stat().st_size
    left = chance.randrange(size) if size else 0
    with path.open("r+b") as file:
        file.truncate(left)
    return f"{path.name} cut from {size} to {left} bytes"


def emptied(path: Path) -> str:
    """The file is there, and nothing is in it."""
    path.write_bytes(b"")
    return f"{path.name} emptied"


def removed(path: Path) -> str:
    """The file or folder is gone."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return f"{path.name} removed"


def replaced(path: Path, by: Path) -> str:
    """The file is another one."""
    if not by.exists():
        return removed(path)
    shutil.copyfile(by, path)
    return f"{path.name} replaced by {by.parent.parent.name}/{by.name}"


def _flip_database(case: Case) -> str:
    if case.chance.random() < 0.12:
        return flip(case.database, case.chance, 0, HEADER)
    return flip(case.database, case.chance)


def _flip_keywords(case: Case) -> str:
    start, length = case.chance.choice(keyword_pages(case.database))
    return flip(case.database, case.chance, start, length)


def _flip_index(case: Case) -> str:
    return flip(_index_file(case), case.chance)


def _index_file(case: Case) -> Path:
    found = sorted(path for path in (case.copy / "index").rglob("*") if path.is_file())
    return case.chance.choice([path for path in found if path.stat().st_size] or found)


def _blank_page(case: Case) -> str:
    """A page of nought, as a disk gives back that lost one."""
    data, size = bytearray(case.database.read_bytes()), _page_size(case.database)
    page = case.chance.randrange(len(data) // size)
    data[page * size : (page + 1) * size] = bytes(size)
    case.database.write_bytes(data)
    return f"page {page + 1} is blank"


def _pages_swapped(case: Case) -> str:
    data, size = bytearray(case.database.read_bytes()), _page_size(case.database)
    one, other = case.chance.sample(range(len(data) // size), 2)
    first, second = slice(one * size, (one + 1) * size), slice(other * size, (other + 1) * size)
    data[first], data[second] = data[second], data[first]
    case.database.write_bytes(data)
    return f"pages {one + 1} and {other + 1} swapped"


def _half_copied(case: Case) -> str:
    """The start is of this moment, the rest of an earlier one."""
    old = database(case.moments / "early").read_bytes()
    size = _page_size(case.database)
    border = case.chance.randrange(1, len(old) // size) * size
    case.database.write_bytes(case.database.read_bytes()[:border] + old[border:])
    return f"pages after {border // size} are older ones"


def _page_size(path: Path) -> int:
    size = int.from_bytes(path.read_bytes()[16:18], "big")
    return 65536 if size == 1 else size


def _both_gone(case: Case) -> str:
    return f"{removed(case.database)}, {removed(case.log)}"


def _older_without_log(case: Case) -> str:
    said = replaced(case.database, database(case.moments / "early"))
    return f"{said}, {removed(case.log)}"


FLIPS = (
    Damage("database flip", "closed", _flip_database),
    Damage("log flip", "waiting", lambda case: flip(case.log, case.chance)),
    Damage("keyword flip", "closed", _flip_keywords),
    Damage("database flip", "closed", _flip_database),
    Damage("log flip", "later", lambda case: flip(case.log, case.chance)),
    Damage("keyword flip", "closed", _flip_keywords),
    Damage("database flip beside a log", "waiting", _flip_database),
    Damage("log header flip", "waiting", lambda case: flip(case.log, case.chance, 0, 32 + 24)),
    Damage("keyword flip", "closed", _flip_keywords),
    Damage("database flip", "closed", _flip_database),
)
SWAPS = (
    Damage("database cut", "closed", lambda case: cut(case.database, case.chance)),
    Damage("database cut beside a log", "waiting", lambda case: cut(case.database, case.chance)),
    Damage("log cut", "waiting", lambda case: cut(case.log, case.chance)),
    Damage("database emptied", "closed", lambda case: emptied(case.database)),
    Damage("database emptied beside a log", "waiting", lambda case: emptied(case.database)),
    Damage("log emptied", "waiting", lambda case: emptied(case.log)),
    Damage("log removed", "waiting", lambda case: removed(case.log)),
    Damage("database removed", "closed", lambda case: removed(case.database)),
    Damage("database removed beside a log", "waiting", lambda case: removed(case.database)),
    Damage("database and log removed", "waiting", _both_gone),
    Damage("older database", "closed", _older_without_log),
    Damage("older database without log", "waiting", _older_without_log),
    Damage(
        "older database under the log",
        "waiting",
        lambda case: replaced(case.database, database(case.moments / "early")),
    ),
    Damage(
        "database of another namespace",
        "closed",
        lambda case: replaced(case.database, database(case.copy, OTHER)),
    ),
    Damage(
        "database of another namespace under the log",
        "waiting",
        lambda case: replaced(case.database, database(case.moments / "closed", OTHER)),
    ),
    Damage(
        "log of another namespace",
        "waiting",
        lambda case: replaced(case.log, log_of(case.copy, OTHER)),
    ),
    Damage(
        "log of another moment",
        "waiting",
        lambda case: replaced(case.log, log_of(case.moments / "later")),
    ),
    Damage(
        "log of an earlier moment",
        "later",
        lambda case: replaced(case.log, log_of(case.moments / "waiting")),
    ),
    Damage("page blank", "closed", _blank_page),
    Damage("pages swapped", "closed", _pages_swapped),
    Damage("half copied", "closed", _half_copied),
    Damage("head removed", "closed", lambda case: removed(case.head)),
    Damage("head emptied", "waiting", lambda case: emptied(case.head)),
    Damage(
        "older head", "closed", lambda case: replaced(case.head, head_of(case.moments / "early"))
    ),
    Damage(
        "head of another namespace",
        "closed",
        lambda case: replaced(case.head, head_of(case.copy, OTHER)),
    ),
)
INDEX = (
    Damage("index flip", "indexed", _flip_index),
    Damage("index flip", "indexed", _flip_index),
    Damage("index flip", "indexed", _flip_index),
    Damage("index flip", "indexed", _flip_index),
    Damage("index flip", "indexed", _flip_index),
    Damage("index file cut", "indexed", lambda case: cut(_index_file(case), case.chance)),
    Damage("index file emptied", "indexed", lambda case: emptied(_index_file(case))),
    Damage("index file removed", "indexed", lambda case: removed(_index_file(case))),
    Damage("index removed", "indexed", lambda case: removed(case.copy / "index")),
)
