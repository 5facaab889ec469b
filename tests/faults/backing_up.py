"""Backups while many processes write: each restores to the source as it was at one moment.

Every writer keeps a journal of what it is about to do and what it was told (tests/faults/crash.py).
A backup must hold all that was acknowledged before it began, and of each writer exactly the state
after one of its calls: nothing half, and nothing of a call that began after the backup had ended.
Its chain is the beginning of the source's chain. Use counts are not compared: a read beside a busy
writer leaves its count in the spool or in its process until somebody can write it.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from memory_mesh.care.key_file import KEY_FOLDER
from memory_mesh.sync import MemoryMesh
from tests.faults.crash import (
    Intent,
    Model,
    _write_for_ever,
    applied,
    await_answers,
    compare,
    contents as all_memories,
)
from tests.faults.keeping_world import KEEPING, NAMESPACE, database
from tests.faults.processes import Child, ChildFailed, call
from tests.faults.report import Progress, Report, Ticker, silent

_PAUSE_SECONDS = 0.2  # between backups
_MEANWHILE = "acknowledged while one was made"
_MORE = 20  # backups at most, until a writer was told something while one was made
Chain = dict[int, bytes]  # hash by position


@dataclass(frozen=True)
class Backup:
    """A finished backup, and how long the journals were before and after it."""

    path: Path
    before: list[int]
    after: list[int]


@dataclass(frozen=True)
class Kept:
    """What a store holds."""

    memories: Model
    chain: Chain
    seq: int
    findings: list[str]


def under_load(
    folder: Path, *, writers: int, backups: int, seed: int, progress: Progress = silent
) -> Report:
    """So many backups while so many processes write; then each is restored and compared."""
    report = Report({"writers": writers, "backups": 0, "acknowledged": 0, "lost": 0, "findings": 0})
    os.environ[KEY_FOLDER] = str(folder / "keys")  # of this process and all its children
    store, journals = folder / "store", [folder / f"journal-{who}" for who in range(writers)]
    call(_first_write, store)
    children = [
        Child(_write_for_ever, store, journal, {}, who, seed + who / 100)
        for who, journal in enumerate(journals)
    ]
    try:
        await_answers(journals)
        made = [_backed_up(folder, journals, report) for _ in range(backups)]
        while not report.figures.get(_MEANWHILE) and len(made) < backups + _MORE:
            made.append(_backed_up(folder, journals, report))  # it met no writer at work
    finally:
        for child in children:
            child.kill()
    for who, child in enumerate(children):
        if child.code != -9:
            report.broken("writers failed", f"writer {who} ended by itself: {child.code}")
    source = call(_kept, store)
    ticker = Ticker(progress, backups)
    for number, backup in enumerate(filter(None, made)):
        _restored(folder / f"restored-{number}", backup, journals, source, report)
        ticker.tick(number + 1, "backups restored")
    return report


def _first_write(store: Path) -> None:
    with MemoryMesh(db_dir=store) as mesh:
        mesh.add("the store is there before the writers are")


def _backed_up(folder: Path, journals: list[Path], report: Report) -> Backup | None:
    """One backup by a process of its own."""
    to = folder / "backups"
    there = set(to.iterdir()) if to.exists() else set()
    before = [path.stat().st_size for path in journals]
    try:
        call(_back_up, folder / "store", to)
    except ChildFailed as failure:
        report.broken("backup failed", str(failure))
        return None
    after = [path.stat().st_size for path in journals]
    made = set(to.iterdir()) - there
    time.sleep(_PAUSE_SECONDS)
    if len(made) != 1:
        report.broken("backup failed", f"{len(made)} new folders: {sorted(map(str, made))}")
        return None
    report.count("backups")
    report.count(_MEANWHILE, _answers(journals, before, after))
    return Backup(made.pop(), before, after)


def _back_up(store: Path, to: Path) -> None:
    KEEPING.backup(store, to)


def _restore(backup: Path, to: Path) -> Kept:
    KEEPING.restore(backup, to)
    return _kept(to)


def _restored(
    place: Path, backup: Backup, journals: list[Path], source: Kept, report: Report
) -> None:
    """Restores a backup beside the store and compares it with the source of that moment."""
    where = f"backup {backup.path.name}"
    try:
        kept = call(_restore, backup.path, place)
    except ChildFailed as failure:
        report.broken("restore failed", f"{where}: {failure}")
        return
    for finding in kept.findings:
        report.broken("findings", f"{where}: {finding}")
    if any(source.chain.get(position) != hash_ for position, hash_ in kept.chain.items()):
        report.broken("another chain", f"{where}: not the beginning of the source's chain")
    manifest = json.loads((backup.path / "manifest.json").read_text())
    if kept.seq not in set(_values(manifest, "seq")):
        report.broken("manifest", f"{where}: the store is at seq {kept.seq}, and not the manifest")
    report.count("memories compared", len(kept.memories))
    for who, journal in enumerate(journals):
        mine = {
            id_: replace(memory, uses=0)
            for id_, memory in kept.memories.items()
            if memory.text.startswith(f"writer {who} ")
        }
        text = journal.read_bytes()
        wrong = _of_no_moment(mine, text[: backup.before[who]], text[: backup.after[who]])
        report.count("acknowledged", text[: backup.before[who]].count(b'{"done"'))
        if wrong:
            report.broken("lost", f"{where}, writer {who}: {wrong}")


def _of_no_moment(mine: Model, before: bytes, after: bytes) -> str:
    """Why this is no state that the writer's memories had while the backup was made."""
    least, calls = before.count(b'{"done"'), list(_calls(after))
    wrong, fewest = "", 0
    model: Model = {}
    for number, (intent, done) in enumerate([*calls, ({}, None)]):
        if number >= least:
            scratch = Report()
            compare(model, [intent] if intent else [], mine, scratch, f"after call {number}")
            if not scratch.failures:
                return ""
            if not wrong or len(scratch.failures) < fewest:
                wrong, fewest = scratch.failures[0], len(scratch.failures)
        if done is None:
            break
        if intent["verb"] != "get":  # it changes the use count alone
            applied(model, intent, done)
    return wrong


def _calls(journal: bytes) -> Iterator[tuple[Intent, list[str] | None]]:
    """Each call with the ids it gave; None for one that was not answered."""
    lines = [json.loads(line) for line in journal.split(b"\n")[:-1]]
    for number in range(0, len(lines), 2):
        answer = lines[number + 1]["done"] if number + 1 < len(lines) else None
        yield lines[number], answer


def _answers(journals: list[Path], before: list[int], after: list[int]) -> int:
    texts = [path.read_bytes() for path in journals]
    return sum(
        text[start:end].count(b'{"done"')
        for text, start, end in zip(texts, before, after, strict=True)
    )


def _kept(store: Path) -> Kept:
    """All of it, read through the library; the chain with plain SQL."""
    with MemoryMesh(db_dir=store) as mesh:
        memories = all_memories(mesh)
        findings = [f"{finding.check}: {finding.detail}" for finding in mesh.care.verify().findings]
    with closing(sqlite3.connect(database(store, NAMESPACE))) as db:
        chain: Chain = dict(db.execute("SELECT position, hash FROM block"))
        (seq,) = db.execute("SELECT seq FROM store").fetchone()
    return Kept(memories, chain, seq, findings)


def _values(plain: object, key: str) -> Iterator[object]:
    """Every value under a key, however deep."""
    if isinstance(plain, dict):
        if key in plain:
            yield plain[key]
        for value in plain.values():
            yield from _values(value, key)
    elif isinstance(plain, list):
        for value in plain:
            yield from _values(value, key)
