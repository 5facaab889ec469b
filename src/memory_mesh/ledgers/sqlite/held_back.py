"""Holds back what a salvage read and nothing proves.

A memory is proven if its own row, its open version and its text have right checksums (or the hash
of the text, or a block that names it, says so) and nothing tells of a later change. Any other that
can be read waits for review. Its audience is kept if its id and open version are. Else it is for a
project that nobody works in, so that the owner alone sees it.
"""

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from memory_mesh.ledgers.shared import rows
from memory_mesh.ledgers.sqlite.page_records import Value
from memory_mesh.ledgers.sqlite.salvaged_chain import INDEXED, ChainTexts, Known, Losses
from memory_mesh.model import Status
from memory_mesh.model.care import HELD_BACK, HeldBack

EARLIER = "its present text cannot be read: this is an earlier one"
NO_VERSION = "the row with its status, audience and validity cannot be read"
NO_ID = "its own row and the block that names it cannot be read: its id is not sure"
_FOREIGN = "the file is that of another namespace"
_CHANGED = "a later change of it cannot be read"
_MIXED = "pages of another moment are in the file: a later change of it may be lost"
_OLDER = "only an older copy of its version could be read"
_REASONS = rows.dumped(["held back by `memory-mesh salvage`: not all of it is proven"])
_AUDIENCE = ("project", "agent", "session", "ord")
_UNPROVEN: Known = {
    "project": HELD_BACK,
    "agent": None,
    "session": None,
    "ord": None,
    "valid_from": None,
    "valid_until": None,
    "successor": None,
    "pinned": 0,
    "triggers": "[]",
    "reasons": _REASONS,
}


def unproven(row: Known, status: Value = Status.QUARANTINED.value) -> Known:
    """A version of which nothing is sure but its text, for nobody and without any power."""
    return row | _UNPROVEN | {"status": status}


def told_of(row: Known) -> str:
    """What a version says of its status, audience and validity."""
    parts = [str(row.get("status") or "no status")]
    parts += [f"{name} {row[name]!s}" for name in ("project", "agent", "session") if row.get(name)]
    for name in ("valid_from", "valid_until"):
        value = row.get(name)
        if isinstance(value, int):
            parts.append(f"{name} {value} µs")
    return ", ".join(parts)


def earlier_words(db: sqlite3.Connection, losses: Losses, version: int, text: int) -> None:
    """Gives an open version whose text is lost an earlier text, and lets it wait for review.

    What it claims was said by the lost text; what the earlier text claimed stands for it.
    """
    row = _row(db, version)
    memory = row["memory"]
    (was,) = db.execute(
        "SELECT max(number) FROM version WHERE text = ? AND memory = ?", (text, memory)
    ).fetchone()
    before = {} if was is None else _row(db, was)
    row |= {name: before.get(name) for name in ("claim", "subject", "predicate")}
    change = {name: value for name, value in _UNPROVEN.items() if name not in _AUDIENCE}
    change |= {name: row[name] for name in ("claim", "subject", "predicate")}
    change |= {"text": text, "status": Status.QUARANTINED.value}
    _update(db, version, change)
    losses.doubt(_number(memory), EARLIER, told_of(row))
    losses.reworded.append(text)


def unnamed(db: sqlite3.Connection, losses: Losses, memory: int) -> None:
    """Holds back a memory whose id is not sure, for the owner alone.

    Its text and version name each other by numbers, which rows of two moments or files share.
    """
    found = db.execute(
        "SELECT number FROM version WHERE memory = ? AND recorded_until IS NULL", (memory,)
    ).fetchone()
    if found is None:
        losses.doubt(memory, NO_ID, "nothing")
        return
    row = _row(db, found[0])
    change = dict(_UNPROVEN)
    if row["status"] != Status.DELETED:
        change["status"] = Status.QUARANTINED.value
    _update(db, found[0], change)
    losses.doubt(memory, NO_ID, told_of(row))


def overtaken(db: sqlite3.Connection, losses: Losses, told: ChainTexts, now: int) -> None:
    """Holds back memories whose open version is as it was written, and may be true no longer."""
    for version, memory, why, at in list(_doubtful(db, losses, told)):
        row = _row(db, version)
        begun = max(at or now, _number(row["recorded_from"]) + 1)
        _update(db, version, {"recorded_until": begun})
        (newest,) = db.execute(
            "SELECT max(number) FROM text WHERE memory = ?", (memory,)
        ).fetchone()
        stays = why == _FOREIGN and row["status"] == Status.DELETED
        held = unproven(row, Status.DELETED.value) if stays else unproven(row)
        held |= {"text": newest, "recorded_from": begun, "seq": 0}
        losses.made.add(insert(db, held))
        losses.doubt(memory, why, told_of(row))
        losses.reworded.append(newest)


def _doubtful(
    db: sqlite3.Connection, losses: Losses, told: ChainTexts
) -> Iterator[tuple[int, int, str, int | None]]:
    """Open versions that were read and something speaks against: number, memory, why, when."""
    mixed, later = _mixed(db, losses), _later(losses)
    newest = dict(db.execute("SELECT memory, max(number) FROM text GROUP BY memory").fetchall())
    worded = {text for (text,) in db.execute("SELECT DISTINCT text FROM version")}
    for version, memory, text, seq, status, id_, today in db.execute(
        "SELECT v.number, v.memory, v.text, v.seq, v.status, m.id, m.status "
        "FROM version v JOIN memory m ON m.number = v.memory WHERE v.recorded_until IS NULL"
    ).fetchall():
        if version in losses.made or memory in losses.doubts:
            continue
        last, at = told.changed.get(id_, (0, 0))
        if told.foreign:
            yield version, memory, _FOREIGN, None
        elif last > seq:
            yield version, memory, _CHANGED, 1000 * at
        elif later.get(memory, 0) > version:
            yield version, memory, _CHANGED, None
        elif newest[memory] > text and newest[memory] not in worded:
            yield version, memory, "its version with this text cannot be read", None
        elif status != today:
            yield version, memory, f"one row says {status}, another {today}", None
        elif version in losses.older and last != seq:
            yield version, memory, _OLDER, None
        elif seq < mixed:
            yield version, memory, _MIXED, None


def _mixed(db: sqlite3.Connection, losses: Losses) -> int:
    """The seq before which a change may be lost without a trace; 0: none is.

    Versions have numbers without gaps. One that is missing, and no unreadable page explains it, was
    on a page that stands there as of another moment. Other versions on such pages may be closed by
    now, and no block says so if blocks of that time are missing, too.
    """
    why = losses.why.get("version", {})
    explained = sorted(number for number in why if why[number] != INDEXED)
    versions = _leaps(
        db.execute("SELECT number, seq FROM version ORDER BY number"), losses.made, explained
    )
    blocks = _leaps(db.execute("SELECT position, seq FROM block ORDER BY position"), set(), [])
    common = [
        (max(one[0], other[0]), min(one[1], other[1])) for one in versions for other in blocks
    ]
    return max((until for after, until in common if after <= until), default=0)


def _leaps(
    numbers: Iterable[tuple[int, int]], made: set[int], explained: list[int]
) -> list[tuple[int, int]]:
    """The seqs before and after each stretch of missing numbers that nothing explains."""
    found, before, since = list[tuple[int, int]](), 0, 0
    for number, seq in numbers:
        if number not in made:
            known = bisect_left(explained, number) - bisect_right(explained, before)
            if number - before - 1 > known:
                found.append((since, seq))
            before, since = number, seq
    return found


def _later(losses: Losses) -> dict[int, int]:
    """The last version of each memory of which a row or an index knows, and that is lost."""
    found = dict[int, int]()
    for number, known in losses.known.get("version", {}).items():
        memory = _number(known.get("memory"))
        found[memory] = max(number, found.get(memory, 0))
    return found


def gaps(db: sqlite3.Connection, losses: Losses) -> None:
    """Fills a lost stretch of a history with a version that no read as of then shows."""
    for version, until in db.execute(
        "SELECT number, begun FROM (SELECT number, recorded_until AS ended, lead(recorded_from) "
        "OVER (PARTITION BY memory ORDER BY recorded_from, number) AS begun FROM version) "
        "WHERE ended < begun"
    ).fetchall():
        if version not in losses.made:
            row = _row(db, version)
            between = {"recorded_from": row["recorded_until"], "recorded_until": until, "seq": 0}
            losses.made.add(insert(db, unproven(row) | between))


def listed(db: sqlite3.Connection, losses: Losses) -> None:
    """Lists what is held back, as it is in the new file."""
    for number, (why, said) in sorted(losses.doubts.items()):
        found = db.execute(
            "SELECT m.id, v.status, v.project, v.agent, v.session FROM memory m JOIN version v "
            "ON v.memory = m.number AND v.recorded_until IS NULL WHERE m.number = ?",
            (number,),
        ).fetchone()
        if found is not None:
            id_, status, *audience = found
            losses.held[number] = HeldBack(id_, why, said, Status(status), *audience)


def insert(db: sqlite3.Connection, row: Known) -> int:
    """A new version; its number."""
    filled = {name: value for name, value in row.items() if value is not None and name != "number"}
    names, marks = ", ".join(filled), ", ".join("?" * len(filled))
    done = db.execute(f"INSERT INTO version ({names}) VALUES ({marks})", list(filled.values()))  # noqa: S608
    return done.lastrowid or 0


def _update(db: sqlite3.Connection, version: int, change: Known) -> None:
    sets = ", ".join(f"{name} = ?" for name in change)
    db.execute(f"UPDATE version SET {sets} WHERE number = ?", [*change.values(), version])  # noqa: S608  # own names


def _row(db: sqlite3.Connection, version: int) -> Known:
    found = db.execute("SELECT * FROM version WHERE number = ?", (version,))
    return dict(zip([column[0] for column in found.description], found.fetchone(), strict=True))


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
