"""A V1 table becomes a V2 table, and can become the V1 table again (RFC-0011 section 11).

::

    copying   a V2 copy is written in the work folder             the table is not touched
    copied    memory_entries ──▶ memory_entries_v1_backup
              the copy ──▶ memory_entries
    done      the backup waits, 30 days at least
    undoing   memory_entries ──▶ away, memory_entries_v1_backup ──▶ memory_entries
    purging   memory_entries_v1_backup ──▶ the work folder, and removed

A table is a folder, and LanceDB cannot rename one; the file system can. The journal says which step
is under way before anything of it is done, so whoever comes next knows every state it may find and
finishes what a killed process began. Why so: docs/decisions/0018-tables-of-the-original.md.

A namespace is written as a LanceDB directory of the original too: three tables with RFC-0011's
columns. Each table is written in a stream beside the place where it belongs; the directory appears
whole or not at all. A text without a vector has none in the table. Of a long text with several
vectors the table has room for one: their mean.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, Protocol, dataclass, replace
from memory_mesh.compat import millis
from memory_mesh.compat.rfc11 import columns, columns as rfc11_columns, lance_tables
from memory_mesh.compat.rfc11.rows import Seal, sealed
from memory_mesh.model import (
    Block,
    InvalidInput,
    Memory,
    NotFound,
    Skill,
    StoreError,
    StoreIsDamaged,
)
from memory_mesh.platform.durable_files import sync
from memory_mesh.platform.locks import locked
from memory_mesh.platform.system import make_folder

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
    from lance import LanceDataset

Progress = Callable[[int], None]
BACKUP = "memory_entries_v1_backup"
KEPT = timedelta(days=30)
WORK = ".memory-mesh-migration"
_ATTEMPTS = 3  # copies of a table that somebody writes to at the same time


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """A memory, the vectors of its text, and when it was last changed, if ever."""

    memory: Memory
    vectors: Sequence[bytes] = ()
    changed_at: datetime | None = None
    seal: Seal | None = None  # of the store that it is in


@dataclass(frozen=True, slots=True)
class HeldSkill:
    """A skill and the vector of its intent."""

    skill: Skill
    vector: bytes | None = None


class Holdings(Protocol):
    """What is to be handed out; each is asked for once and read as a stream."""

    @property
    def dimension(self) -> int:
        """The length of every vector."""

    def memories(self) -> Iterable[HeldMemory]:
        """The memories, in any order."""

    def skills(self) -> Iterable[HeldSkill]:
        """The skills, in any order."""

    def blocks(self) -> Iterable[Block]:
        """The blocks, oldest first."""


@dataclass(frozen=True, slots=True)
class HandedOut:
    """How many rows each table has."""

    memories: int
    skills: int
    blocks: int


def hand_out(holdings: Holdings, folder: Path, *, progress: Progress | None = None) -> HandedOut:
    """Write the tables into a folder that is not there yet or empty; `progress` hears the rows."""
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is there already and not empty: name another folder")
    part = folder.with_name(f".{folder.name}.partial")
    with suppress(FileNotFoundError):
        shutil.rmtree(part)
    part.parent.mkdir(parents=True, exist_ok=True)
    make_folder(part)
    count = _Counter(progress)
    dimension = holdings.dimension

    def write(
        table: str, columns: Sequence[rfc11_columns.Column], rows: Iterator[dict[str, object]]
    ) -> int:
        place = lance_tables.place(part, table)
        return lance_tables.write_rows(place, columns, dimension, count(rows))

    made = HandedOut(
        write(rfc11_columns.MEMORIES, rfc11_columns.V2_COLUMNS, map(_memory, holdings.memories())),
        write(rfc11_columns.SKILLS, rfc11_columns.SKILL_COLUMNS, map(_skill, holdings.skills())),
        write(rfc11_columns.BLOCKS, rfc11_columns.BLOCK_COLUMNS, _blocks(holdings.blocks())),
    )
    sync(part)
    os.rename(part, folder)  # noqa: PTH104  # onto an empty folder too
    sync(folder.parent)
    return made


class _Counter:
    """Tells how many rows went by."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._seen = progress, 0

    def __call__(self, rows: Iterator[dict[str, object]]) -> Iterator[dict[str, object]]:
        """The rows, counted."""
        for row in rows:
            yield row
            self._seen += 1
            if self._progress is not None and not self._seen % lance_tables.BATCH:
                self._progress(self._seen)


def _memory(held: HeldMemory) -> dict[str, object]:
    row = rfc11_columns.memory_row(
        held.memory, vector=_mean(held.vectors), changed_at=held.changed_at
    )
    return row if held.seal is None else sealed(row, held.memory, held.seal)


def _skill(held: HeldSkill) -> dict[str, object]:
    return rfc11_columns.skill_row(held.skill, vector=held.vector)


def _blocks(blocks: Iterable[Block]) -> Iterator[dict[str, object]]:
    """Each row names the hash of the one before that has a text."""
    previous: str | None = None
    for block in blocks:
        row = rfc11_columns.block_row(block, previous)
        yield row
        hashed = row["block_hash"]
        previous = hashed if isinstance(hashed, str) else previous


def _mean(vectors: Sequence[bytes]) -> bytes | None:
    """One vector for a text that has several, of length 1 again."""
    if len(vectors) < 2:  # noqa: PLR2004  # nothing to do for one
        return vectors[0] if vectors else None
    import numpy as np

    mean = np.mean([np.frombuffer(vector, "<f4") for vector in vectors], axis=0)
    length = float(np.linalg.norm(mean))
    pooled: bytes = (mean / length if length else mean).astype("<f4").tobytes()
    return pooled


@dataclass(frozen=True, slots=True)
class Migration:
    """What there is now, how many rows, and until when the way back is certain to be open."""

    schema: str  # V1 or V2
    changed: bool
    rows: int
    backup_until: datetime | None = None
    aside: str | None = None  # the table that a rollback put away, with what was written to it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Journal:
    """The step under way, and what the next process must know to finish it."""

    step: str
    source: int = 0  # version of the table that was copied
    copy: int = 0  # version of the copy
    at: str | None = None  # when the migration was done
    aside: str | None = None


def migrate(folder: Path, *, now: datetime) -> Migration:
    """Make the memory table of a LanceDB directory V2; one that is V2 is not touched."""
    site = _Site(folder)
    with site.owned():
        journal = _settled(site)
        if journal.step in {"", "done"}:
            dataset = site.memories()
            if columns.is_schema_v2(lance_tables.column_names(dataset)):
                return Migration("V2", changed=False, rows=dataset.count_rows(),
                                 backup_until=_until(journal))  # fmt: skip
            if site.backup.exists():
                raise StoreError(f"{site.backup} is there already: roll back, or move it away")
            journal = _Journal(step="copying")
            site.note(journal)
        if journal.step == "copying" or not _current(site, journal):
            journal = _copied(site)
        _swap(site)
        journal = replace(journal, step="done", at=now.astimezone(UTC).isoformat())
        site.note(journal)
        return Migration("V2", changed=True, rows=site.memories().count_rows(),
                         backup_until=_until(journal))  # fmt: skip


def rollback(folder: Path, *, now: datetime) -> Migration:
    """Bring the V1 table back; what was written to the V2 table since is put aside and named."""
    site = _Site(folder)
    with site.owned():
        journal = site.journal()
        aside = journal.aside
        if journal.step == "undoing":
            _undo(site, journal)
        elif site.backup.exists():
            aside = _worth_keeping(site, journal, now)
            journal = replace(journal, step="undoing", aside=aside)
            site.note(journal)
            _undo(site, journal)
        elif journal.step in {"copying", "copied"}:
            site.clear()
        else:
            return _nothing_to_undo(site)
        return Migration("V1", changed=True, rows=site.memories().count_rows(), aside=aside)


def purge(folder: Path, *, now: datetime) -> Migration:
    """Remove the backup for good; earlier than 30 days after the migration it is refused."""
    site = _Site(folder)
    with site.owned():
        journal = _settled(site)
        if journal.step != "done" or not site.backup.exists():
            raise NotFound(f"{folder} has no backup of a finished migration to remove")
        until = _until(journal)
        if until is None or now < until:
            raise InvalidInput(f"the backup is kept until {until:%Y-%m-%d %H:%M} UTC")
        site.note(replace(journal, step="purging"))
        _purge(site)
        return Migration("V2", changed=True, rows=site.memories().count_rows())


class _Site:
    """The folders of one migration, its journal and its lock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.table = lance_tables.place(self.folder, columns.MEMORIES)
        self.backup = lance_tables.place(self.folder, BACKUP)
        self.work = self.folder / WORK
        self.copy = self.work / "copy.lance"
        self.away = self.work / "away.lance"
        self.stray = self.work / "stray.lance"
        self._journal = self.work / "journal.json"

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Be the only one who migrates here."""
        if not self.folder.is_dir():
            raise NotFound(f"there is no folder {self.folder}")
        lance_tables.load()
        with locked(self.folder / f"{WORK}.lock"):
            yield

    def memories(self) -> "LanceDataset":
        """The table as it is now."""
        dataset = lance_tables.opened(self.table)
        if dataset is None:
            raise NotFound(f"there is no table {columns.MEMORIES} in {self.folder}")
        return dataset

    def journal(self) -> _Journal:
        """What was noted last; a step without a name when nothing is under way."""
        try:
            return _Journal(**json.loads(self._journal.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return _Journal(step="")
        except (ValueError, TypeError):
            raise StoreIsDamaged(f"{self._journal} cannot be read") from None

    def note(self, journal: _Journal) -> None:
        """Replace the journal as a whole, on the disk."""
        make_folder(self.work)
        new = self.work / "journal.new"
        plain = {name: getattr(journal, name) for name in ("step", "source", "copy", "at", "aside")}
        new.write_text(json.dumps(plain), encoding="utf-8")
        sync(new)
        self.move(new, self._journal)

    def move(self, old: Path, new: Path) -> None:
        """Rename, on the disk."""
        old.rename(new)
        for parent in {old.parent, new.parent}:
            sync(parent)

    def clear(self) -> None:
        """Leave nothing of a migration behind; the journal goes last."""
        for remains in (self.copy, self.away, self.stray):
            _remove(remains)
        with suppress(FileNotFoundError):
            self._journal.unlink()
        _remove(self.work)
        sync(self.folder)


def _settled(site: _Site) -> _Journal:
    """The journal, after a rollback or purge that was under way is finished."""
    journal = site.journal()
    if journal.step == "undoing":
        _undo(site, journal)
    elif journal.step == "purging":
        _purge(site)
    elif not journal.step and site.work.exists():
        site.clear()
    return site.journal()


def _copied(site: _Site) -> _Journal:
    """A V2 copy of the table as it is now, written, counted and noted."""
    for _ in range(_ATTEMPTS):
        _remove(site.copy)
        source = site.memories()
        schema = _extended(source.schema)
        lance_tables.write_batches(site.copy, schema, _with_nulls(source, schema))
        copy = lance_tables.opened(site.copy)
        if copy is None or copy.count_rows() != source.count_rows() or copy.schema != schema:
            raise StoreError("the copy is not what was copied; nothing was changed")
        journal = _Journal(step="copied", source=source.version, copy=copy.version)
        if _current(site, journal):
            site.note(journal)
            return journal
    raise StoreError(f"{site.table} is being written to: stop its writers and try again")


def _current(site: _Site, journal: _Journal) -> bool:
    """The copy is of the table as it is, or has begun to take its place."""
    return site.backup.exists() or (
        site.memories().version == journal.source and site.copy.exists()
    )


def _swap(site: _Site) -> None:
    """The table becomes the backup and the copy the table, wherever this was broken off."""
    if not site.copy.exists():
        return
    if site.table.exists() and site.backup.exists():
        _remove_stray(site)
    if site.table.exists():
        site.move(site.table, site.backup)
    site.move(site.copy, site.table)


def _undo(site: _Site, journal: _Journal) -> None:
    """The backup becomes the table, wherever this was broken off."""
    away = site.away if journal.aside is None else lance_tables.place(site.folder, journal.aside)
    if site.backup.exists():
        if site.table.exists() and (away.exists() or site.copy.exists()):
            _remove_stray(site)
        if site.table.exists():
            site.move(site.table, away)
        site.move(site.backup, site.table)
    site.clear()


def _purge(site: _Site) -> None:
    if site.backup.exists():
        site.move(site.backup, site.away)
    site.clear()


def _remove_stray(site: _Site) -> None:
    """Between two renames there is no table, and another program may have made an empty one."""
    if site.memories().count_rows():
        raise StoreError(
            f"another program made a new {columns.MEMORIES} while a migration was broken off, and "
            f"wrote to it: move {site.table} away and run this again"
        )
    _remove(site.stray)
    site.move(site.table, site.stray)


def _worth_keeping(site: _Site, journal: _Journal, now: datetime) -> str | None:
    """A name for the V2 table where it holds more than the copy did."""
    dataset = lance_tables.opened(site.table)
    if dataset is None or site.copy.exists() or dataset.version == journal.copy:
        return None
    return f"{columns.MEMORIES}_v2_{millis(now)}"


def _nothing_to_undo(site: _Site) -> Migration:
    _settled(site)
    dataset = site.memories()
    if columns.is_schema_v2(lance_tables.column_names(dataset)):
        raise NotFound(f"{site.folder} has no {BACKUP} to go back to")
    return Migration("V1", changed=False, rows=dataset.count_rows())


def _until(journal: _Journal) -> datetime | None:
    return None if journal.at is None else datetime.fromisoformat(journal.at) + KEPT


def _extended(schema: "pa.Schema") -> "pa.Schema":
    """The schema as it is, and every V2 column that it lacks."""
    for field in lance_tables.arrow_schema(columns.PROMOTED, columns.DIMENSION):
        schema = schema if field.name in schema.names else schema.append(field)
    return schema


def _with_nulls(source: "LanceDataset", schema: "pa.Schema") -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for batch in lance_tables.scanned(source):
        here = batch.schema.names
        arrays = [
            batch.column(field.name) if field.name in here else pa.nulls(len(batch), field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(path)
