"""Memory Lane's SQLite file, brought into a mesh through the one write path.

::

    memories ──▶ drafts with their id, times and uses ──▶ add_many, a batch at a time
                 what another row took the place of waits, and is then closed by that row
                 votes are counted anew

The file is opened for reading only. What comes from it is a document, whatever it says of itself.
Embeddings are not taken over: nobody knows whose they are, and one that failed is all zero. A row
that is here already is known as such, so an interrupted import is simply run again.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from memory_mesh.compat.lane import translate
from memory_mesh.compat.lane.file import NotText, opened
from memory_mesh.compat.tally import Importer, Progress
from memory_mesh.errors import InvalidInput, NotFound
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.policy.writing.receipt_counts import ReceiptCounts
from memory_mesh.sync import MemoryMesh

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
    done = sum(mesh.mark_superseded(old, by=new) for old, new in closed)
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
