"""The audit chain of a salvaged file: kept up to a break, and sealed anew behind it.

Blocks up to the first that is missing or wrong stay as they are. Those behind it keep all they
say, their seq and their salt, and get a new place, previous hash and hash. A block at the end says
so, with the old end of the chain and the digest of the file that holds the blocks as they were.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from memory_mesh.base.typed import TypeAlias, dataclass, replace
from memory_mesh.ledgers.shared import commit as sqlite_commit, named_values, rows
from memory_mesh.ledgers.sqlite.page_records import Value
from memory_mesh.model import Block, BlockOperation, Entry, Json
from memory_mesh.model.care import HeldBack, SalvagedChain, Unread
from memory_mesh.platform import system
from memory_mesh.rules import audit

# What a salvage could not take over: counted, listed, and kept in a file where it was read.


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
            self._file = system.open_file(self._path, os.O_WRONLY)
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


# What the block of a new version says, and no other: of its text, fields, status or successor.
_OF_VERSIONS = frozenset(("content_sha256", "changed", "status", "successor"))
_AT_ONCE = 500  # blocks read at a time, and lost texts named by one block


@dataclass(frozen=True, slots=True)
class ToldText:
    """What a block says of a text."""

    memory: str
    seq: int
    at: int  # milliseconds
    tags: str | None


class ChainTexts:
    """What the blocks say: of each text by its hash, and the last text of each memory."""

    def __init__(self) -> None:
        self.of_hash: dict[str, ToldText] = {}
        self.last_of: dict[str, str] = {}
        self.pairs: set[tuple[str, str]] = set()  # memory and hash
        self.of_write: dict[tuple[int, str], set[str]] = {}  # memories, by seq and hash
        self.changed: dict[str, tuple[int, int]] = {}  # seq and time of each one's last version
        self.chain: SalvagedChain = SalvagedChain(0)
        self.newest: datetime | None = None  # block's time
        self.foreign = False  # whether the file is that of another namespace


def survey(db: sqlite3.Connection, namespace: str, losses: Losses) -> ChainTexts:
    """Reads every block; one that was changed goes to the leftovers."""
    told = ChainTexts()
    before, position, kept, behind = _beginning(db, namespace), 0, 0, 0
    breaks_at: int | None = None
    for row in _rows(db):
        block = _sound(row)
        if block is None:
            _set_aside(db, row, "the block was changed", losses, remove=True)
        elif block.position == 1 and block.prev_hash != before:
            told.foreign, behind = True, behind + 1
        elif breaks_at is None and (block.position, block.prev_hash) == (position + 1, before):
            position, before, kept = position + 1, block.hash or b"", kept + 1
        else:
            behind += 1
        if breaks_at is None and (block is None or behind):
            breaks_at = position + 1
        if block is not None:
            _note(told, block)
    last = db.execute("SELECT max(position) FROM block").fetchone()[0] or 0
    lost = max(last - kept - behind, 0)
    told.chain = SalvagedChain(kept, behind, lost, breaks_at, told.newest)
    return told


def finish(
    db: sqlite3.Connection,
    told: ChainTexts,
    losses: Losses,
    *,
    draw: Callable[[str], str],
    now: datetime,
    claimed: tuple[int, bytes],
) -> SalvagedChain:
    """Seals the chain to its end; `claimed` is the end that the old file spoke of."""
    chain = told.chain
    known = chain.kept + chain.sealed_anew + chain.lost
    if claimed[0] > known:  # the last blocks are gone, too
        chain = replace(
            chain,
            lost=chain.lost + claimed[0] - known,
            breaks_at=chain.breaks_at or chain.kept + 1,
        )
    _seal_anew(db, chain.kept, losses)
    head = rows.head(db)
    row = db.execute("SELECT position, hash FROM block ORDER BY position DESC LIMIT 1").fetchone()
    position, hashed = row or (0, _beginning(db, head.namespace))
    db.execute("UPDATE store SET position = ?, head = ?", (position, hashed))
    untold = list(_untold(db, told))
    lost = sorted(told.pairs - set(_texts(db)))
    if chain.breaks_at is None and losses.is_empty() and not untold and not lost:
        return chain
    said: dict[str, Json] = {
        "type": "salvage",
        "why": "rows of a damaged file were taken over",
        "old_position": claimed[0],
        "old_hash": claimed[1].hex(),
        "blocks_kept": chain.kept,
        "blocks_sealed_anew": chain.sealed_anew,
        "blocks_lost": chain.lost,
        "memories_held_back": len(losses.held),
        "leftovers_sha256": losses.digest(),
    }
    metadata: list[tuple[tuple[str, ...], dict[str, Json]]] = [((), said)]
    metadata += [
        ((), {"type": "salvage", "lost_texts": [list(pair) for pair in lost[at : at + _AT_ONCE]]})
        for at in range(0, len(lost), _AT_ONCE)
    ]
    metadata += [((id_,), {"type": "salvage", "content_sha256": hashed}) for id_, hashed in untold]
    _append(db, metadata, draw, now)
    return chain


def _append(
    db: sqlite3.Connection,
    metadata: Sequence[tuple[tuple[str, ...], dict[str, Json]]],
    draw: Callable[[str], str],
    now: datetime,
) -> None:
    """Seals the blocks of the salvage under the next seq, which untold rows get, too."""
    head = rows.head(db)
    seq = head.seq + 1
    entries = [
        Entry(draw("yamo_change"), BlockOperation.CHANGE, None, now, memories, None, said)
        for memories, said in metadata
    ]
    for table in ("version", "skill"):
        db.execute(
            f"UPDATE {table} SET seq = ? WHERE NOT EXISTS "  # noqa: S608  # own names
            f"(SELECT 1 FROM block b WHERE b.seq = {table}.seq)",
            (seq,),
        )
    position, hashed = sqlite_commit.chain(db, head, seq, entries)
    recorded = max(rows.micros(now) or 0, (rows.micros(head.recorded_at) or 0) + 1)
    db.execute(
        "UPDATE store SET seq = ?, recorded = ?, position = ?, head = ?",
        (seq, recorded, position, hashed),
    )


def _seal_anew(db: sqlite3.Connection, kept: int, losses: Losses) -> None:
    row = db.execute("SELECT hash FROM block WHERE position = ?", (kept,)).fetchone()
    before = row[0] if row is not None else _beginning(db, rows.head(db).namespace)
    position = kept
    for row in _rows(db, kept):
        _set_aside(db, row, "it lies behind a break of the chain and was sealed anew", losses)
        block = rows.block(row)
        position += 1
        digest = block.digest or b""
        hashed = audit.block_hash(block.entry, position, block.seq, digest, before)
        db.execute(
            "UPDATE block SET position = ?, prev_hash = ?, hash = ? WHERE position = ?",
            (position, before, hashed, block.position),
        )
        before = hashed


def _beginning(db: sqlite3.Connection, namespace: str) -> bytes:
    """What the first block follows; an imported namespace may have had another name."""
    return audit.genesis(named_values.chain_name(db, namespace))


def _untold(db: sqlite3.Connection, told: ChainTexts) -> Iterator[tuple[str, str]]:
    """Texts and skills that no block tells of, or whose write left none: id and hash."""
    for id_, hashed in _texts(db):
        if (id_, hashed) not in told.pairs:
            yield id_, hashed


def _texts(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for id_, hashed in db.execute(
        "SELECT m.id, t.hash FROM text t JOIN memory m ON m.number = t.memory "
        "UNION SELECT id, hash FROM skill"
    ):
        yield id_, hashed.hex()


def _rows(db: sqlite3.Connection, after: int = 0) -> Iterator[rows.Row]:
    """The blocks behind a position; they may be changed while they are read."""
    while found := db.execute(
        f"SELECT {rows.BLOCK} FROM block WHERE position > ? ORDER BY position LIMIT ?",  # noqa: S608
        (after, _AT_ONCE),
    ).fetchall():
        yield from found
        after = found[-1][0]


def _sound(row: rows.Row) -> Block | None:
    """The block, if what it says is what was hashed."""
    try:
        block = rows.block(row)
        wrong = audit.flaw(block, block.position or 0, block.prev_hash or b"")
        canonical = row[6] == rows.dumped(block.entry.memories)
    except (ValueError, TypeError, AttributeError, OverflowError):
        return None
    return block if wrong is None and canonical else None


def _set_aside(
    db: sqlite3.Connection, row: rows.Row, why: str, losses: Losses, *, remove: bool = False
) -> None:
    named: dict[str, Value] = dict(zip(rows.BLOCK.split(", "), row, strict=True))
    losses.keep("block", row[0], why, named)
    if remove:
        losses.lose("block", row[0], why, {})
        db.execute("DELETE FROM block WHERE position = ?", (row[0],))


def _note(told: ChainTexts, block: Block) -> None:
    """Takes note of the text that a block tells of, and of those that an earlier salvage lost."""
    said, memories = block.entry.metadata, block.entry.memories
    told.newest = max(told.newest or block.entry.at, block.entry.at)
    for lost in audit.lost_texts(block.entry):
        told.pairs.discard(lost)
    if memories and _OF_VERSIONS.intersection(said) and said.get("type") != "salvage":
        told.changed[memories[0]] = (block.seq or 0, rows.millis(block.entry.at))
    hashed = said.get("content_sha256")
    if not isinstance(hashed, str) or not memories:
        return
    tags = said.get("tags")
    listed = rows.dumped(tags) if isinstance(tags, list) else None
    told.of_hash[hashed] = ToldText(
        memories[0], block.seq or 0, rows.millis(block.entry.at), listed
    )
    told.last_of[memories[0]] = hashed
    told.pairs.add((memories[0], hashed))
    told.of_write.setdefault((block.seq or 0, hashed), set()).add(memories[0])
