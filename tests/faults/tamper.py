"""Changes of a chain by someone with the file: all of them detected against a held checkpoint.

A mutation works on a copy of the file with plain SQL, as an intruder would, and recomputes what it
can. What the store's own check finds without the checkpoint is counted beside.
"""

import hashlib
import random
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from memory_mesh.ledgers.shared import rows
from memory_mesh.rules import audit
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import ChildFailed, call
from tests.faults.report import Progress, Report, Ticker, silent

NAMESPACE = "default"
_MOST_SECONDS = 10.0
_LARGEST_GROWTH = 2.5  # of the work, for twice the chain
_CHOICES = 10  # the most values that `_others` gives
_COLUMNS = (
    "id", "seq", "operation", "agent", "at", "memories", "wire", "salt", "erased", "metadata",
    "digest", "prev_hash", "hash",
)  # fmt: skip
Mutation = Callable[[random.Random, int, sqlite3.Connection], str]


def tampering(folder: Path, *, mutations: int, seed: int, progress: Progress = silent) -> Report:
    """So many mutations of the checkpointed part, each on a fresh copy."""
    report = Report({"mutations": 0, "undetected": 0})
    dice = random.Random(seed)
    case = _Case(folder, seed, report)
    kinds = list(MUTATIONS)
    alone: dict[str, Any] = dict.fromkeys(kinds, 0)
    done: dict[str, Any] = dict.fromkeys(kinds, 0)
    ticker = Ticker(progress, mutations)
    for number in range(mutations):
        kind = kinds[number % len(kinds)]
        done[kind] += 1
        alone[kind] += case.detected_alone(kind, partial(MUTATIONS[kind], dice, case.last))
        ticker.tick(number + 1, "mutations")
    report.figures["by kind"] = done
    report.figures["detected without the checkpoint"] = alone
    return report


def every_edit(
    folder: Path, *, seed: int, choices: int = _CHOICES, progress: Progress = silent
) -> Report:
    """Every column of a block with every other value an intruder might think of."""
    report = Report({"mutations": 0, "undetected": 0})
    dice = random.Random(seed)
    case = _Case(folder, seed, report)
    for column in _COLUMNS:
        for choice in dice.sample(range(_CHOICES), choices):
            case.detected_alone("edit", partial(_edit_column, dice, case.last, column, choice))
        progress(f"{column}: {report.figures['mutations']} edits so far")
    return report


class _Case:
    """A store with a held checkpoint, and copies of it to be changed."""

    def __init__(self, folder: Path, seed: int, report: Report) -> None:
        self._folder, self._report = folder, report
        self._original, self._mark = folder / "original", folder / "checkpoint.json"
        self.last = call(_build, self._original, seed)
        call(_checkpoint, self._original, self._mark)
        call(_grow, self._original)
        if findings := call(_verified, self._original, self._mark):
            report.broken("false alarms", f"nothing was changed, and: {findings[0]}")

    def detected_alone(self, kind: str, mutate: Callable[[sqlite3.Connection], str]) -> bool:
        """Change a copy and check it; True when the store finds out without the checkpoint."""
        copy = self._folder / "copy"
        shutil.copytree(self._original, copy)
        with closing(sqlite3.connect(copy / "namespaces" / f"{NAMESPACE}.db")) as db:
            what = mutate(db)
            db.commit()
        try:
            with_it, without = call(_verified_twice, copy, self._mark)
        except ChildFailed as failure:
            self._report.broken("verify raised", f"{kind}: {what}: {failure}")
            with_it = without = ["raised"]
        if not with_it:
            self._report.broken("undetected", f"{kind}: {what}")
        self._report.count("mutations")
        shutil.rmtree(copy)
        return bool(without)


def verify_many(folder: Path, *, blocks: int, most_seconds: float | None = _MOST_SECONDS) -> Report:
    """How long it takes to verify a chain of so many blocks.

    Without seconds, on a machine that others use: the steps of SQLite and the calls of Python grow
    as the chain does.
    """
    built, seconds, processor, findings, checked = call(_build_and_time, folder / "all", blocks)
    report = Report(
        {
            "blocks": checked,
            "seconds to verify": round(seconds, 2),
            "seconds to build": round(built),
        }
    )
    report.figures["processor seconds to verify"] = round(processor, 2)
    report.figures["findings"] = len(findings)
    if findings or checked < blocks:
        report.broken("findings", f"{checked} blocks, {findings[:3]}")
    if most_seconds is not None and processor > most_seconds:  # other processes have their own
        report.broken("slow", f"{processor:.1f} s of the processor")
    if most_seconds is None:
        call(_build_and_time, folder / "half", blocks // 2)
        half, whole = (call(_work_of, folder / name) for name in ("half", "all"))
        report.figures["steps of half and of all"] = f"{half} and {whole}"
        if any(more > _LARGEST_GROWTH * less for less, more in zip(half, whole, strict=True)):
            report.broken("slow", f"half the chain takes {half} steps and calls, all {whole}")
    return report


def _work_of(folder: Path) -> tuple[int, int]:
    """The steps of SQLite, in hundreds, and the calls of Python that verify a chain."""
    steps = calls = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    def connected(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **kwargs)
        db.set_progress_handler(step, 100)
        return db

    connect, sqlite3.connect = sqlite3.connect, connected  # type: ignore[assignment]  # counted
    sys.setprofile(count)
    _verified(folder, None)
    sys.setprofile(None)
    return steps, calls


def _build(folder: Path, seed: int) -> int:
    """A store with every kind of block; the position of the last."""
    dice = random.Random(seed)
    with MemoryMesh(db_dir=folder) as mesh:
        ids = [
            str(r.id)
            for r in mesh.add_many([{"content": f"fact {n}", "tags": ["a"]} for n in range(25)])
        ]
        for number in range(40):
            id_ = dice.choice(ids)
            match number % 5:
                case 0:
                    mesh.update(id_, f"fact {number} corrected")
                case 1:
                    mesh.pin(id_, pinned=number % 2 == 0)
                case 2:
                    mesh.delete(id_)
                    mesh.restore(id_)
                case 3:
                    mesh.add("fact 3")
                case _:
                    mesh.add(f"another fact {number}", {"status": "open"})
        head = mesh.care.verify().head
        assert head is not None
        return head.position


def _checkpoint(folder: Path, mark: Path) -> None:
    with MemoryMesh(db_dir=folder) as mesh:
        mesh.care.verify(checkpoint=mark)


def _grow(folder: Path) -> None:
    """Life goes on after the checkpoint."""
    with MemoryMesh(db_dir=folder) as mesh:
        mesh.add_many([f"later fact {number}" for number in range(10)])


def _verified(folder: Path, mark: Path | None) -> list[str]:
    with MemoryMesh(db_dir=folder) as mesh:
        return [str(finding) for finding in mesh.care.verify(against=mark).findings]


def _verified_twice(folder: Path, mark: Path) -> tuple[list[str], list[str]]:
    """What is found with the checkpoint and without."""
    return _verified(folder, mark), _verified(folder, None)


def _build_and_time(folder: Path, blocks: int) -> tuple[float, float, float, list[str], int]:
    with MemoryMesh(db_dir=folder) as mesh:
        begun = time.monotonic()
        mesh.add_many(f"block number {number} of many" for number in range(blocks))
        built = time.monotonic() - begun
        begun, worked = time.monotonic(), time.process_time()
        verification = mesh.care.verify()
        seconds, processor = time.monotonic() - begun, time.process_time() - worked
        findings = [str(finding) for finding in verification.findings]
        return built, seconds, processor, findings, verification.checked["chained blocks"]


def _edit(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """Another value in one column of one block."""
    return _edit_column(dice, last, dice.choice(_COLUMNS), dice.randrange(_CHOICES), db)


def _edit_column(
    dice: random.Random, last: int, column: str, choice: int, db: sqlite3.Connection
) -> str:
    """One of the other values, of the same type or not; a constraint may stand in the way."""
    place = dice.randint(1, last)
    (old,) = db.execute(f"SELECT {column} FROM block WHERE position = ?", (place,)).fetchone()
    others = [value for value in _others(old, dice) if value != old and not _alike(old, value)]
    new = others[choice % len(others)]
    try:
        db.execute(f"UPDATE block SET {column} = ? WHERE position = ?", (new, place))
    except sqlite3.IntegrityError:  # NOT NULL or UNIQUE
        new = b"\0" * 32 if isinstance(old, bytes) else f"{old}x"
        db.execute(f"UPDATE block SET {column} = ? WHERE position = ?", (new, place))
    return f"{column} of {place} from {old!r} to {new!r}"


def _others(old: object, dice: random.Random) -> list[object]:
    """What an intruder might put in place of a value."""
    if isinstance(old, bytes):
        at = dice.randrange(len(old))
        flipped = old[:at] + bytes([old[at] ^ (1 << dice.randrange(8))]) + old[at + 1 :]
        return [flipped, old[:-1], old + b"\0", b"", old.hex(), None]
    if isinstance(old, int):
        return [old + 1, old - 1, old + 1000, 0, 1, "x"]
    if isinstance(old, str):
        at = dice.randrange(max(1, len(old)))
        changed = [old[:at] + "Ω" + old[at + 1 :], old + " ", old.replace(":", ": ", 1), old[:at]]
        return [*changed, "", "[]", "{}", "no json", None, old.encode()]
    return ["x", 1, b"x"]


def _alike(old: object, new: object) -> bool:
    """True for compressed texts that say the same: the last byte has bits that nobody reads."""
    if not (isinstance(old, bytes) and isinstance(new, bytes)):
        return False
    try:
        return rows.unpacked(old, "", 0) == rows.unpacked(new, "", 0)
    except ValueError:
        return False  # a hash is not compressed, and a broken text is noticed


def _delete(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    place = dice.randint(1, last)
    db.execute("DELETE FROM block WHERE position = ?", (place,))
    return f"block {place} gone"


def _delete_and_close(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """A block taken out, and those after it moved up."""
    place = dice.randint(1, last)
    db.execute("DELETE FROM block WHERE position = ?", (place,))
    for (position,) in db.execute(
        "SELECT position FROM block WHERE position > ? ORDER BY position", (place,)
    ).fetchall():
        db.execute("UPDATE block SET position = ? WHERE position = ?", (position - 1, position))
    return f"block {place} gone, the rest moved up"


def _insert(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """A forged block between two others, correct in itself."""
    place = dice.randint(1, last)
    _make_room(db, place)
    row = list(
        db.execute(f"SELECT {rows.BLOCK} FROM block WHERE position = ?", (place + 1,)).fetchone()
    )
    row[0], row[1] = place, f"yamo_forged_{dice.getrandbits(40)}"
    row[12] = dice.randbytes(32)
    db.execute(f"INSERT INTO block ({rows.BLOCK}) VALUES ({', '.join('?' * 14)})", row)
    return f"a forged block at {place}"


def _make_room(db: sqlite3.Connection, place: int) -> None:
    for (position,) in db.execute(
        "SELECT position FROM block WHERE position >= ? ORDER BY position DESC", (place,)
    ).fetchall():
        db.execute("UPDATE block SET position = ? WHERE position = ?", (position + 1, position))


def _swap(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """Two blocks change places."""
    one, other = dice.sample(range(1, last + 1), 2)
    for old, new in ((one, -1), (other, one), (-1, other)):
        db.execute("UPDATE block SET position = ? WHERE position = ?", (new, old))
    return f"blocks {one} and {other} swapped"


def _truncate(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """The end cut off within the checkpointed part, and the store told so."""
    place = dice.randint(0, last - 1)
    db.execute("DELETE FROM block WHERE position > ?", (place,))
    _tell_store(db)
    return f"cut off after {place}"


def _truncate_all(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """The end cut off with everything that was written by it, as if it had never been."""
    place = dice.randint(1, last - 1)
    (seq,) = db.execute("SELECT seq FROM block WHERE position = ?", (place,)).fetchone()
    db.execute("DELETE FROM block WHERE seq > ?", (seq,))
    gone = [n for (n,) in db.execute("SELECT text FROM version WHERE seq > ?", (seq,))]
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("DELETE FROM version WHERE seq > ?", (seq,))
    db.execute("DELETE FROM memory WHERE number NOT IN (SELECT memory FROM version)")
    db.execute("DELETE FROM observation WHERE memory NOT IN (SELECT number FROM memory)")
    for text in gone:
        db.execute(
            "DELETE FROM text WHERE number = ? AND number NOT IN (SELECT text FROM version)",
            (text,),
        )
    _tell_store(db)
    return f"everything after seq {seq} gone"


def _rechain(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """One block rewritten, and every hash from there on recomputed."""
    place = dice.randint(1, last)
    if dice.random() < 0.5:
        db.execute("UPDATE block SET agent = 'intruder' WHERE position = ?", (place,))
    else:
        db.execute("UPDATE block SET wire = 'log: forged;' WHERE position = ?", (place,))
    _recompute(db, place)
    return f"block {place} rewritten and the chain after it recomputed"


def _rechain_without(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """One block taken out, and the whole chain made anew."""
    what = _delete_and_close(dice, last, db)
    _recompute(db, 1)
    return f"{what}, and the chain recomputed"


def _rechain_with(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """One block put in, and the whole chain made anew."""
    what = _insert(dice, last, db)
    _recompute(db, 1)
    return f"{what}, and the chain recomputed"


def _feign_erasure(dice: random.Random, last: int, db: sqlite3.Connection) -> str:
    """A block emptied as if it had been erased."""
    place = dice.randint(1, last)
    db.execute(
        "UPDATE block SET wire = NULL, salt = NULL, metadata = NULL, erased = 1 WHERE position = ?",
        (place,),
    )
    return f"block {place} emptied and marked as erased"


def _reword(dice: random.Random, _last: int, db: sqlite3.Connection) -> str:
    """A memory's text changed, its hash recomputed; the block that told of it stays."""
    (count,) = db.execute("SELECT count(*) FROM text").fetchone()
    number, text = dice.randint(1, count - 10), f"forged {dice.random()}"
    db.execute(
        "UPDATE text SET content = ?, hash = ? WHERE number = ?",
        (text, hashlib.sha256(text.encode()).digest(), number),
    )
    return f"text {number} reworded"


def _recompute(db: sqlite3.Connection, start: int) -> None:
    """Digests and hashes as the product would make them, from a place to the end."""
    found = db.execute(f"SELECT {rows.BLOCK} FROM block ORDER BY position").fetchall()
    (namespace,) = db.execute("SELECT namespace FROM store").fetchone()
    before = audit.genesis(namespace)
    db.execute("UPDATE block SET prev_hash = randomblob(32) WHERE position >= ?", (start,))
    for row in found:
        block = rows.block(row)
        if row[0] >= start:
            sealed = audit.seal(block.entry, block.seq or 0, row[0], before, block.salt or b"")
            db.execute(
                "UPDATE block SET digest = ?, prev_hash = ?, hash = ? WHERE position = ?",
                (sealed.digest, before, sealed.hash, row[0]),
            )
            before = sealed.hash or b""
        else:
            before = row[13]
    _tell_store(db)


def _tell_store(db: sqlite3.Connection) -> None:
    """The store's own idea of where the chain ends."""
    row = db.execute("SELECT position, hash FROM block ORDER BY position DESC LIMIT 1").fetchone()
    (namespace,) = db.execute("SELECT namespace FROM store").fetchone()
    db.execute("UPDATE store SET position = ?, head = ?", row or (0, audit.genesis(namespace)))


MUTATIONS: dict[str, Mutation] = {
    "edit": _edit,
    "delete": _delete,
    "delete and move up": _delete_and_close,
    "insert": _insert,
    "reorder": _swap,
    "truncate": _truncate,
    "truncate with what was written": _truncate_all,
    "re-chain after an edit": _rechain,
    "re-chain after a deletion": _rechain_without,
    "re-chain after an insertion": _rechain_with,
    "feign an erasure": _feign_erasure,
    "reword a memory": _reword,
}
