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
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from memory_mesh.compat.lane import translate
from memory_mesh.errors import InvalidInput, NotFound, StoreIsDamaged
from memory_mesh.fastdataclass import dataclass
from memory_mesh.sync import MemoryMesh

BATCH = 256
MOST_REFUSALS = 1_000  # named in the report; all are counted
Progress = Callable[[int], None]


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


def bring_in_lane(mesh: MemoryMesh, path: Path, *, progress: Progress | None = None) -> LaneBrought:
    """Import every row of a Memory Lane file; `progress` hears the rows read."""
    account = _Account()
    closed = list[tuple[str, str]]()
    for batch in _batches(path):
        rows = account.readable(batch)
        _store(mesh, rows, account)
        closed += [(_id(row), row.superseded_by) for row in rows if row.superseded_by is not None]
        if progress is not None:
            progress(account.counts["read"])
    done = sum(mesh.mark_superseded(old, by=new) for old, new in closed)
    account.counts["superseded"] = done
    return LaneBrought(**account.counts, refusals=tuple(account.refusals))


class _Account:
    """Counts along, and keeps the first refusals in words."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("read", "stored", "merged", "quarantined", "refused"), 0)
        self.refusals: list[tuple[str, str]] = []

    def readable(self, batch: Sequence[translate.Row]) -> list[translate.LaneRow]:
        """The rows that can be taken, each id once."""
        found: dict[str, translate.LaneRow] = {}
        for row in batch:
            self.counts["read"] += 1
            try:
                read = translate.read_row(row)
            except InvalidInput as error:
                self.refuse(row.get("id"), str(error))
            else:
                found[_id(read)] = read
        return list(found.values())

    def refuse(self, id_: object, reason: str) -> None:
        """One row that is not taken."""
        self.counts["refused"] += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append((str(id_), reason))


def _batches(path: Path) -> Iterator[list[translate.Row]]:
    """The rows in order of their making, a batch at a time; columns that are missing are empty."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            there = {row["name"] for row in db.execute("PRAGMA table_info(memories)")}
            if not there >= {"id", "content", "created_at"}:
                raise NotFound(f"there is no table of Memory Lane in {path}")
            columns = ", ".join(name for name in translate.COLUMNS if name in there)
            found = db.execute(f"SELECT {columns} FROM memories ORDER BY created_at, id")  # noqa: S608  # own names only
            while batch := found.fetchmany(BATCH):
                yield [dict(row) for row in batch]
    except sqlite3.DatabaseError as error:
        raise StoreIsDamaged(f"{path} cannot be read: {error}") from None


def _store(mesh: MemoryMesh, rows: Sequence[translate.LaneRow], account: _Account) -> None:
    """Store the rows; where one of them spoils the batch, the others go on alone."""
    try:
        receipts = mesh.add_many([row.draft for row in rows])
    except InvalidInput as error:
        if len(rows) == 1:
            account.refuse(_id(rows[0]), str(error))
            return
        for row in rows:
            _store(mesh, [row], account)
        return
    for row, receipt in zip(rows, receipts, strict=True):
        if receipt.id is None:
            account.refuse(_id(row), "; ".join(receipt.reasons))
            continue
        account.counts[receipt.outcome.value] += 1
        if row.helpful + row.harmful:
            _vote(mesh, row)


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
