"""Memory Lane's SQLite file, brought into a mesh through the one write path.

::

    memories ──▶ drafts with their id, times and uses ──▶ add_many, a batch at a time
                 what another row took the place of waits, and is then closed by that row
                 votes are counted anew

The file is opened for reading only. What comes from it is a document, whatever it says of itself.
Embeddings are not taken over: nobody knows whose they are, and one that failed is all zero. A row
that is here already is known as such, so an interrupted import is simply run again.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from memory_mesh.base.typed import TypeAlias, dataclass, replace
from memory_mesh.compat.lane import translate
from memory_mesh.compat.tally import Importer, Progress
from memory_mesh.mesh.operations.transfer import refuse_existing
from memory_mesh.model import (
    InvalidInput,
    Memory,
    NotFound,
    Status,
    StoreIsDamaged,
)
from memory_mesh.platform.durable_files import write_atomically
from memory_mesh.rules.trust import AUDIENCE
from memory_mesh.sync import MemoryMesh
from memory_mesh.write.rules.receipts import ReceiptCounts

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

BATCH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneBrought:
    """What an import did; `merged` were here already, `refusals` say which were not taken."""

    read: int = 0
    stored: int = 0
    merged: int = 0
    quarantined: int = 0
    superseded: int = 0
    refused: int = 0
    refusals: tuple[tuple[str, str], ...] = ()
    more: ReceiptCounts | None = None  # what the receipts say


def bring_in_lane(mesh: MemoryMesh, path: Path, *, progress: Progress | None = None) -> LaneBrought:
    """Import every row of a Memory Lane file; `progress` hears the rows read."""
    importer = Importer(progress)
    closed = list[tuple[str, str]]()
    counts = importer.counts(_bring_batches(mesh, path, importer, closed))
    done = sum(mesh.review.mark_superseded(old, by=new) for old, new in closed)
    return LaneBrought(
        **counts, superseded=done, refusals=tuple(importer.refusals), more=importer.more
    )


def _bring_batches(
    mesh: MemoryMesh, path: Path, importer: Importer, closed: list[tuple[str, str]]
) -> Iterator[tuple[int, list[str]]]:
    """How many rows each batch has and what became of them; `closed` gets the superseded ones."""
    for batch in _batches(path):
        rows, refused = _readable(mesh, batch, importer)
        closed += [(_id(row), row.superseded_by) for row in rows if row.superseded_by is not None]
        yield len(batch), refused + _stored(mesh, rows, importer)


def _readable(
    mesh: MemoryMesh, batch: Sequence[translate.Row], importer: Importer
) -> tuple[list[translate.LaneRow], list[str]]:
    """The rows that can be taken, each id once, and the outcomes of the others."""
    found: dict[str, translate.LaneRow] = {}
    refused = list[str]()
    for place, row in enumerate(batch):
        try:
            _check_texts(row)
            read = _as_stored(mesh, translate.read_row(row))
        except InvalidInput as error:
            id_ = row.get("id")
            named = None if isinstance(id_, NotText) else id_
            refused.append(importer.refuse(named, str(error), place))
        else:
            found[_id(read)] = read
    return list(found.values()), refused


def _check_texts(row: translate.Row) -> None:
    """Raises InvalidInput if a value of the row is called text and is none."""
    for name, value in row.items():
        if isinstance(value, NotText):
            raise InvalidInput(f"{name} is not valid UTF-8; correct it in the file, then run again")


def _as_stored(mesh: MemoryMesh, row: translate.LaneRow) -> translate.LaneRow:
    """The row under the ids it will have, without words that the other store took from secrets."""
    draft, later = row.draft, row.superseded_by
    if draft.origin is not None:
        draft = replace(draft, origin=replace(draft.origin, id=mesh._stored_id(draft.origin.id)))
    text = mesh._redacted(draft.text)
    if text != draft.text:
        draft = replace(draft, extra={**draft.extra, **translate.words_of(text, draft.extra)})
    return replace(
        row, draft=draft, superseded_by=None if later is None else mesh._stored_id(later)
    )


def _batches(path: Path) -> Iterator[list[translate.Row]]:
    """The rows in order of their making, a batch at a time; columns that are missing are empty."""
    with opened(path, "memories") as file:
        there = file.columns()
        if not there >= {"id", "content", "created_at"}:
            raise NotFound(f"there is no table of Memory Lane in {path}")
        columns = [name for name in translate.COLUMNS if name in there]
        yield from file.rows(columns, "created_at, id", BATCH)


def _stored(mesh: MemoryMesh, rows: Sequence[translate.LaneRow], importer: Importer) -> list[str]:
    """Store the rows and their votes; what became of each."""
    outcomes = importer.store(mesh, [row.draft for row in rows])
    for row, outcome in zip(rows, outcomes, strict=True):
        if outcome != "refused" and row.helpful + row.harmful:
            _vote(mesh, row)
    return outcomes


def _vote(mesh: MemoryMesh, row: translate.LaneRow) -> None:
    """The votes of the other store, unless some were counted here already."""
    versions = mesh.history(_id(row), scope=row.draft.scope)
    if not versions or versions[-1].helpful + versions[-1].harmful:
        return
    with suppress(NotFound):  # what is expired or was replaced is not ranked either
        for helpful in [True] * row.helpful + [False] * row.harmful:
            mesh.rate(_id(row), helpful=helpful, scope=row.draft.scope)


def _id(row: translate.LaneRow) -> str:
    assert row.draft.origin is not None  # noqa: S101  # every row has an id
    return row.draft.origin.id


# Opens another program's SQLite file so that nothing in it can act.
#
# The file may come from anybody. It is opened for reading only, and SQLite is asked before every
# step: only the named table may be read, and no function, view, trigger, virtual table or attached
# file is reached. The work is bounded: a file of a size that is read, rows that fit into memory,
# and
# so many steps for each batch.


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


# The other way: the memories of a namespace as Memory Lane's file.

_TABLE = """
CREATE TABLE memories (
  id TEXT PRIMARY KEY,
  content TEXT NOT NULL,
  metadata TEXT,
  collection TEXT DEFAULT 'memory-lane',
  tags TEXT,
  embedding BLOB,
  decay_factor REAL DEFAULT 1.0,
  valid_from TEXT,
  valid_until TEXT,
  superseded_by TEXT,
  auto_tags TEXT,
  keywords TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
)
"""
_INSERT = "INSERT INTO memories VALUES (?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?)"


def bring_out_lane(mesh: MemoryMesh, path: Path) -> int:
    """Writes active and superseded memories as Memory Lane's file; returns how many they are.

    Its vectors are of another model, so there are none: Memory Lane makes them.
    """
    refuse_existing(path)
    count, cursor = 0, None
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(_TABLE)
        while True:
            page = mesh.get_all(
                limit=1_000, cursor=cursor, across=AUDIENCE, include=[Status.SUPERSEDED]
            )
            db.executemany(
                _INSERT,
                [
                    translate.file_row(each, mesh._now(), changed=_changed(mesh, each))
                    for each in page
                ],
            )
            count += len(page)
            if (cursor := page.cursor) is None:
                break
        db.commit()
        write_atomically(path, db.serialize(), private=True)
    return count


def _changed(mesh: MemoryMesh, memory: Memory) -> bool:
    """Whether it was written here, or changed here after it came in such a file."""
    if memory.extra.get("origin_updated_at") is None:
        return True
    brought = 1 + ("superseded_by" in memory.extra)  # versions that an import writes
    return len(mesh.history(memory.id, scope=memory.scope)) > brought
