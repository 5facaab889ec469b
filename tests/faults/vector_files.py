"""The vector file under many processes, kills, cuts, deletions and flipped bits.

Whatever becomes of the file, a search finds what the ledger holds: the same memories with the same
cosines as a comparison of all vectors that are read from the database here. Flipped bits alone may
cost a candidate, and `verify` finds them.
"""

import hashlib
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

import numpy as np

from memory_mesh import care
from memory_mesh.ledgers.shared import exact_scan
from memory_mesh.ledgers.sqlite import file_scan, ledger as sqlite_ledger, vector_file
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model import Embedding, Lens, Question, Space
from memory_mesh.search import nearest as plan
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent

NAMESPACE = "default"
DIMENSION = 32
LIMIT = 10
_NEVER = 10**9
SMALL_GROWN = 32  # numbers behind: the suites fill files up often
_ALL = """SELECT v.number, x.data FROM vector x JOIN version v ON v.text = x.text
    AND v.recorded_until IS NULL AND v.status = 'active'"""
Found = list[tuple[int, float]]


class Hashed:
    """Vectors that follow from the text alone, in no order of meaning."""

    space = Space("test", "hashed", "1", DIMENSION, 256)

    def embed(self, texts, *, query=False):
        return Embedding(self.space, tuple((vector(text),) for text in texts))

    def close(self):
        pass


def vector(text: str) -> bytes:
    """The vector of a text."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    made = np.random.default_rng(seed).normal(size=DIMENSION)
    return (made / np.linalg.norm(made)).astype("<f4").tobytes()


def opened(folder: Path) -> MemoryMesh:
    """A mesh with vectors that follow from the texts."""
    return MemoryMesh(db_dir=folder, custom_embedder=Hashed())


def filled(folder: Path, texts: int) -> Path:
    """A store of so many texts; its database."""
    with opened(folder) as mesh:
        mesh.add_many([f"note {number} of the beginning" for number in range(texts)])
    return database(folder)


def database(folder: Path) -> Path:
    """The database of the only namespace."""
    return folder / "namespaces" / f"{NAMESPACE}.db"


def vector_path(folder: Path) -> Path:
    """The file of its only space."""
    return folder / "namespaces" / f"{NAMESPACE}.vectors-1"


def nearest(folder: Path, asked: bytes, limit: int = LIMIT) -> Found:
    """What a ledger that was just opened finds by meaning."""
    ledger = SqliteLedger(folder, FrozenClock())
    try:
        return near(ledger, asked, limit)
    finally:
        ledger.close()


def near(ledger: SqliteLedger, asked: bytes, limit: int = LIMIT) -> Found:
    """The nearest versions and their cosines."""
    with ledger.read(NAMESPACE) as snapshot:
        lens = Lens(datetime(2100, 1, 1, tzinfo=UTC))
        found = plan.nearest(snapshot, Question(Hashed.space, asked, limit), lens).found
    return [(each.version, each.cosine) for each in found]


def compared(folder: Path, asked: bytes, limit: int = LIMIT) -> Found:
    """The nearest by a comparison of all vectors in the database."""
    with closing(sqlite3.connect(database(folder))) as db:
        rows = db.execute(_ALL).fetchall()
    matrix = np.frombuffer(b"".join(data for _, data in rows), "<f4").reshape(len(rows), -1)
    cosines = (matrix @ np.frombuffer(asked, "<f4")).tolist()
    found = sorted(((cosine, version) for (version, _), cosine in zip(rows, cosines, strict=True)))
    return [(version, cosine) for cosine, version in found[::-1][:limit]]


def agree(found: Found, wanted: Found) -> bool:
    """Whether two answers name the same versions with the same cosines, but for the last digit."""
    return [version for version, _ in found] == [version for version, _ in wanted] and all(
        abs(one - other) < 1e-5 for (_, one), (_, other) in zip(found, wanted, strict=True)
    )


@contextmanager
def _by_file() -> Iterator[None]:
    """This process asks the file however often it asks, instead of loading all vectors."""
    after = sqlite_ledger.HELD_AFTER
    sqlite_ledger.HELD_AFTER = _NEVER
    try:
        yield
    finally:
        sqlite_ledger.HELD_AFTER = after


@_by_file()
def read_your_writes(
    folder: Path, *, processes: int, rounds: int, seed: int, progress: Progress = silent
) -> Report:
    """So many writes by processes at once: each finds its own at once, first, by meaning alone."""
    filled(folder, 2_100)
    report = Report({"acknowledged": 0, "stale": 0, "fills seen": 0})
    each = rounds // processes
    workers = [Child(_write_and_find, folder, each, seed + place) for place in range(processes)]
    for place, worker in enumerate(workers):
        written, stale, fills = worker.result(600.0)
        report.count("acknowledged", written)
        report.count("fills seen", fills)
        for text in stale:
            report.broken("stale", f"process {place} did not find {text!r}")
        progress(f"{place + 1} of {processes} processes are done")
    _check(folder, report, "after all writes")
    return report


def _write_and_find(folder: Path, rounds: int, seed: int) -> tuple[int, list[str], int]:
    file_scan.GROWN = SMALL_GROWN
    stale, fills, before = list[str](), 0, b""
    reader = SqliteLedger(folder, FrozenClock())
    with opened(folder) as mesh:
        for round_ in range(rounds):
            text = f"process {seed} wrote this in round {round_}"
            mesh.add(text)
            found = near(reader, vector(text), 3)
            if not found or found[0][1] < 0.999:
                stale.append(text)
            with vector_path(folder).open("rb") as file:
                line = file.read(256)
            fills, before = fills + (line != before), line
    reader.close()
    return rounds, stale, fills


@_by_file()
def cut_or_deleted(folder: Path, *, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """The file is cut, emptied or deleted, between searches and during them: answers are right."""
    report = Report({"rounds": 0, "wrong": 0, "not made anew": 0})
    dice, ticker = random.Random(seed), Ticker(progress, rounds)
    filled(folder, 2_100)
    nearest(folder, vector("warm"))
    reader = SqliteLedger(folder, FrozenClock())
    with opened(folder) as mesh:
        for round_ in range(rounds):
            mesh.add(f"round {round_}")
            asked = vector(f"question {round_} {seed}")
            wanted = compared(folder, asked)
            _cut(vector_path(folder), dice)
            if not agree(near(reader, asked), wanted) or not agree(nearest(folder, asked), wanted):
                report.broken("wrong", f"round {round_}")
            if not vector_path(folder).exists():
                report.broken("not made anew", f"round {round_}")
            report.count("rounds")
            ticker.tick(round_ + 1)
    reader.close()
    report.figures["rounds with a cut during a search"] = _cut_meanwhile(folder, dice, report)
    _check(folder, report, "at the end")
    return report


def _cut(path: Path, dice: random.Random, size: int = 0) -> None:
    size = size or path.stat().st_size
    match dice.choice(("cut", "cut", "header", "empty", "delete", "zeros")):
        case "cut":
            _truncate(path, dice.randrange(256, size))
        case "header":
            _truncate(path, dice.randrange(1, 256))
        case "empty":
            _truncate(path, 0)
        case "delete":
            path.unlink()
        case _:  # as a crash of the machine leaves pages that were never written
            with path.open("r+b") as file:
                file.seek(dice.randrange(4096, size) // 4096 * 4096)
                file.write(bytes(min(4096, size - file.tell())))


def _truncate(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)


def _cut_meanwhile(folder: Path, dice: random.Random, report: Report) -> int:
    """Cuts the file while another process searches without pause."""
    asked = vector("meanwhile")
    wanted = compared(folder, asked)
    child = Child(_search_for, folder, asked, wanted, 2.0)
    cuts, end = 0, time.monotonic() + 1.5
    while time.monotonic() < end:
        path = vector_path(folder)
        with suppress(FileNotFoundError):  # the searching process may remove it at any moment
            size = path.stat().st_size  # looked at once: it may be made anew meanwhile
            if size > 8_192:
                _cut(path, dice, size)
                cuts += 1
        time.sleep(dice.uniform(0, 0.02))
    searches, wrong = child.result()
    report.count("searches while cut", searches)
    if wrong:
        report.broken("wrong", f"{wrong} of {searches} searches while the file was cut")
    return cuts


def _search_for(folder: Path, asked: bytes, wanted: Found, seconds: float) -> tuple[int, int]:
    sqlite_ledger.HELD_AFTER = _NEVER
    reader, end = SqliteLedger(folder, FrozenClock()), time.monotonic() + seconds
    searches = wrong = 0
    while time.monotonic() < end:
        searches += 1
        wrong += not agree(near(reader, asked), wanted)
    reader.close()
    return searches, wrong


@_by_file()
def flipped(folder: Path, *, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """One bit is flipped: no wrong text or score, `verify` finds it, `repair` makes it good."""
    report = Report({"rounds": 0, "wrong": 0, "not found": 0, "candidates lost": 0})
    dice, ticker = random.Random(seed), Ticker(progress, rounds)
    filled(folder, 2_100)
    nearest(folder, vector("warm"))
    sound = vector_path(folder).read_bytes()
    with closing(sqlite3.connect(database(folder))) as db:
        rows = dict(db.execute(_ALL).fetchall())
    for round_ in range(rounds):
        _flip(vector_path(folder), sound, dice)
        findings = call(_findings, folder)
        if not any(found.startswith("vector files") for found in findings):
            report.broken("not found", f"round {round_}: {findings}")
        asked = vector(f"question {round_} {seed}")
        wanted, found = compared(folder, asked), nearest(folder, asked)
        for version, cosine in found:
            true = float(np.frombuffer(rows[version], "<f4") @ np.frombuffer(asked, "<f4"))
            if abs(true - cosine) > 1e-5:
                report.broken("wrong", f"round {round_}: {version} has {cosine}, not {true}")
        report.count("candidates lost", len({v for v, _ in wanted} - {v for v, _ in found}))
        report.count("rounds")
        ticker.tick(round_ + 1)
    care.repair(folder, NAMESPACE)
    _check(folder, report, "after repair")
    return report


def _flip(path: Path, sound: bytes, dice: random.Random) -> None:
    """The sound file with one bit flipped; its first line as often as its rows."""
    place = dice.randrange(250 if dice.random() < 0.2 else len(sound))
    data = bytearray(sound)
    data[place] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def _findings(folder: Path) -> list[str]:
    with opened(folder) as mesh:
        return [f"{found.check}: {found.detail}" for found in mesh.care.verify().findings]


@_by_file()
def killed_fills(folder: Path, *, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """SIGKILL while a process makes the file: what it leaves is right, and is gone on with."""
    report = Report({"kills": 0, "wrong": 0, "unfinished": 0})
    dice, ticker = random.Random(seed), Ticker(progress, rounds)
    filled(folder, 2_100)
    asked = vector("after the kill")
    wanted = compared(folder, asked)
    for round_ in range(rounds):
        vector_path(folder).unlink(missing_ok=True)
        child = Child(_fill_slowly, folder, asked)
        _await(lambda: vector_path(folder).exists())
        time.sleep(dice.uniform(0, 0.05))
        child.kill()
        report.count("kills")
        with FileIO(vector_path(folder)) as file:
            header = vector_file.header_of(file)
        report.count("unfinished", header is None or header.rows < 2_100)
        if not agree(nearest(folder, asked), wanted):
            report.broken("wrong", f"round {round_}")
        _check(folder, report, f"round {round_}")
        ticker.tick(round_ + 1)
    return report


def _fill_slowly(folder: Path, asked: bytes) -> None:
    exact_scan.BLOCK = 16  # rows: many steps in which a kill can come
    nearest(folder, asked)
    time.sleep(60)


def _await(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.001)


def _check(folder: Path, report: Report, when: str) -> None:
    """The answers are right, and `verify` finds nothing."""
    asked = vector(when)
    if not agree(nearest(folder, asked), compared(folder, asked)):
        report.broken("wrong", when)
    for found in call(_findings, folder):
        report.broken("findings", f"{when}: {found}")
