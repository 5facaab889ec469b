"""Opens another program's SQLite file so that nothing in it can act.

The file may come from anybody. It is opened for reading only, and SQLite is asked before every
step: only the named table may be read, and no function, view, trigger, virtual table or attached
file is reached. The work is bounded: a file of a size that is read, rows that fit into memory, and
so many steps for each batch.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from memory_mesh.errors import InvalidInput, NotFound, StoreIsDamaged
from memory_mesh.typed import TypeAlias

MAX_BYTES = 4 << 30
MAX_VALUE_BYTES = 32 << 20  # of one text or blob
STEPS = 50_000_000  # instructions of SQLite between two batches
_EACH = 100_000  # instructions between two looks at the count
_PRAGMAS = frozenset({"table_info"})
_SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA query_only = ON",
    "PRAGMA mmap_size = 0",
)

Row: TypeAlias = Mapping[str, object]


class NotText(bytes):
    """A value that the file calls text and that is not valid UTF-8."""


class ForeignFile:
    """One open file; `rows` reads its table."""

    def __init__(self, db: sqlite3.Connection, path: Path, table: str) -> None:
        self._db, self._path, self._table = db, path, table
        self._left = STEPS

    def columns(self) -> set[str]:
        """Returns the names of the table's columns; empty if there is no such table."""
        found = self._db.execute("SELECT type FROM sqlite_schema WHERE name = ?", (self._table,))
        if [kind for (kind,) in found] != ["table"]:  # a view may hide any amount of work
            return set()
        return {str(row[1]) for row in self._db.execute(f"PRAGMA table_info({self._table})")}

    def rows(self, columns: Sequence[str], order: str, batch: int) -> Iterator[list[Row]]:
        """Yields the rows of these columns in order, a batch at a time."""
        named = ", ".join(columns)
        found = self._db.execute(f"SELECT {named} FROM {self._table} ORDER BY {order}")  # noqa: S608  # own names only
        while rows := found.fetchmany(batch):
            self._left = STEPS
            yield [dict(zip(columns, row, strict=True)) for row in rows]

    def tick(self) -> bool:
        """Counts the steps; True stops the statement."""
        self._left -= _EACH
        return self._left < 0


@contextmanager
def opened(path: Path, table: str) -> Iterator[ForeignFile]:
    """Opens the file for reading this one table; StoreIsDamaged says why it cannot be read."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    if path.stat().st_size > MAX_BYTES:
        raise InvalidInput(f"{path} has more than {MAX_BYTES >> 30} GB, which is not read")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            for setting in _SETTINGS:
                db.execute(setting)
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            db.text_factory = _text
            found = ForeignFile(db, path, table)
            db.set_progress_handler(found.tick, _EACH)
            db.set_authorizer(_only(table))
            yield found
    except sqlite3.Error as error:
        raise StoreIsDamaged(f"{path} cannot be read: {_said(error)}") from None


def _text(data: bytes) -> str | NotText:
    """The text, or its bytes where it is none: one bad value must not end the reading."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return NotText(data)


def _only(table: str) -> Callable[..., int]:
    """An authorizer that lets statements read one table and the list of tables."""
    readable = frozenset({table, "sqlite_schema", "sqlite_master"})

    def allowed(action: int, first: str | None, second: str | None, *_where: str | None) -> int:
        match action:
            case sqlite3.SQLITE_SELECT:
                fine = True
            case sqlite3.SQLITE_READ:
                fine = first in readable
            case sqlite3.SQLITE_PRAGMA:
                fine = first in _PRAGMAS and second == table
            case _:
                fine = False
        return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY

    return allowed


def _said(error: sqlite3.Error) -> str:
    said = str(error)
    return "reading it takes too many steps" if said == "interrupted" else said
