"""A SIGKILL at every SQL statement and every file operation of every write, one after another.

The points are enumerated from outside the product: every connection gets a trace callback, and an
audit hook hears of file operations. Case n forks a process that does one operation on a copy of a
prepared store and kills itself at its n-th event. What SQLite does to its files inside a statement
is enumerated by strace, which kills at the n-th system call of a kind. After each kill the store
must verify, be in a state between two transactions of the operation, and take the next write.
"""

import itertools
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_mesh.ledgers.shared import rows
from memory_mesh.ledgers.sqlite import schema
from memory_mesh.sync import MemoryMesh
from tests.faults import tracing
from tests.faults.crashcases import CASES, NAMESPACE, Case, act, prepared
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent
from tests.faults.sample import points

State = dict[str, list[tuple[object, ...]]] | None
_ID = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{6}")
_CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink")
_TRACED = ("first write", "add", "update text", "delete", "close with a sink")
_MANY = 6  # points of one operation in a sample; the statements of a long load are alike
_TRIES = 5  # of a kill in an operation that a thread takes part in
_FILE_EVENTS = ("open", "os.", "fcntl.", "shutil.", "tempfile.", "sqlite3.connect")
# What a state consists of; ids, times, salts and hashes differ from run to run and are left out.
_STABLE = {
    "store": ("namespace, min_reader, min_writer, seq, position, analyzer, old_texts, old_skills"),
    "memory": (
        "number, status, uses, last_used IS NULL, helpful, harmful, reinforcements, disputes, "
        "origins"
    ),
    "text": "number, memory, content, hex(hash), terms",
    "version": (
        "number, memory, text, seq, recorded_until IS NULL, status, kind, label, valid_from, "
        "valid_until, importance, pinned, tags, extra, pattern, severity, heritage, "
        "claim, successor IS NULL"
    ),
    "conflict": "number, seq, new, existing, resolved IS NULL, resolution, why",
    "session_write": "session, project, agent",
    "predicate": "name, cardinality",
    "tombstone": "why",
    "observation": "number, memory, hex(hash), outcome, key",
    "block": "position, seq, operation, unpacked(metadata, memories, at)",
    "recall": "number, metadata",
    "sink": "name, seq, attempts",
    "dead_letter": "sink, seq",
    "skill": "number, seq, name, hex(hash), terms, status, reliability, uses, last_used IS NULL",
    "skill_live_docsize": "id",
    "live_docsize": "id",
    "rest_docsize": "id",
}


def crash_enumerated(
    folder: Path,
    *,
    seed: int,
    share: float = 1.0,
    cases: Sequence[Case] = CASES,
    progress: Progress = silent,
) -> Report:
    """Every point of every operation, or the given share and one at least."""
    report = Report({"operations": len(cases), "points": 0, "torn": 0, "findings": 0})
    events: dict[str, Any] = {}
    dice, grounds = random.Random(seed), _Grounds(folder)
    for case in cases:
        ground = grounds.of(case)
        events[case.name] = _enumerate(ground, dice, share, report)
        progress(f"{case.name}: {events[case.name]} events")
        shutil.rmtree(ground.room)
    report.figures["events"] = events
    return report


def crash_in_system_calls(
    folder: Path, *, seed: int, share: float = 1.0, progress: Progress = silent
) -> Report:
    """A kill at every write, sync, truncation and removal of a file that SQLite does itself."""
    report = Report({"points": 0, "torn": 0, "findings": 0})
    calls: dict[str, Any] = {}
    dice = random.Random(seed)
    grounds = _Grounds(folder)
    for case in CASES:
        if case.name not in _TRACED:
            continue
        ground = grounds.of(case)
        made, _ = _traced(ground, None)
        for kind in _CALLS:
            calls[f"{case.name}: {kind}"] = made[kind]
            for point in points(made[kind], share, dice):
                if not _killed_in(ground, kind, point):
                    report.count("not reached")
                    continue
                report.count("points")
                _check(ground, f"{case.name}, {kind} {point} of {made[kind]}", report)
        progress(f"{case.name}: {report.figures['points']} points")
        shutil.rmtree(ground.room)
    report.figures["calls"] = calls
    return report


def _killed_in(ground: "_Ground", kind: str, point: int) -> bool:
    """Kills the operation at a system call; False if it never makes that many.

    How much a sink's thread delivers at once differs from run to run, so it is tried again.
    """
    sink = ground.case.sink
    if any(_traced(ground, (kind, point))[1] for _ in range(_TRIES if sink else 1)):
        return True
    if not sink:
        raise AssertionError(f"{ground.case.name}: {kind} {point} was never reached")
    return False


def _traced(ground: "_Ground", kill: tuple[str, int] | None) -> tuple[Counter[str], bool]:
    """The operation, killed at a system call if one is named: its calls, and whether it died."""
    shutil.rmtree(ground.here, ignore_errors=True)
    shutil.copytree(ground.template, ground.here)
    return tracing.traced(_CALLS, kill, act, ground.here, ground.case)


def _enumerate(ground: "_Ground", dice: random.Random, share: float, report: Report) -> int:
    """All points of one operation, up to the first that it does not reach; how many it has."""
    every: Iterable[int] = itertools.count(1)
    sample = points(ground.events, min(share, _MANY / ground.events), dice)
    for point in every if share == 1 else sample:
        shutil.copytree(ground.template, ground.here)
        child = Child(_killed_at, ground.here, ground.case, point)
        child.join()
        where = f"{ground.case.name}, event {point} of {ground.events}"
        if child.code not in {0, -signal.SIGKILL}:
            report.broken("torn", f"{where}: ended with {child.code}")
        _check(ground, where, report)
        shutil.rmtree(ground.here)
        if child.code == 0:
            return point - 1
        report.count("points")
    return ground.events


@dataclass(frozen=True)
class _Ground:
    """The store before an operation, and the states that it passes between transactions."""

    case: Case
    room: Path
    template: Path
    allowed: list[State]
    events: int

    @property
    def here(self) -> Path:
        """Where it is done, and killed."""
        return self.room / "case"


class _Grounds:
    """Grounds below a folder; operations that begin alike share a template."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Callable[[MemoryMesh], object], tuple[Path, State]] = {}

    def of(self, case: Case) -> _Ground:
        """The ground of an operation."""
        if case.prepare not in self._made:
            template = self._folder / f"template-{len(self._made)}"
            template.mkdir(parents=True)
            self._made[case.prepare] = template, call(_prepared, template, case)
        template, before = self._made[case.prepare]
        room = self._folder / case.name.replace(" ", "-")
        room.mkdir(parents=True)
        allowed = [before]
        allowed += [call(_after, template, room / "stop", stop) for stop in case.stops]
        events, after = call(_whole, template, room / "whole", case)
        allowed.append(after)
        if case.name == "first write":
            allowed.append(call(_empty_state, room / "empty"))
        return _Ground(case, room, template, allowed, events)


def _check(ground: _Ground, where: str, report: Report) -> None:
    now, findings, wrote, missing = call(_looked_at, ground.here, ground.case)
    if now not in ground.allowed:
        report.broken("torn", f"{where}: {_difference(now, ground.allowed)}")
    for finding in findings:
        report.broken("findings", f"{where}: {finding}")
    if not wrote:
        report.broken("unusable", f"{where}: a later write is not found")
    if missing:
        report.broken("undelivered", f"{where}: the cursor passed {missing}")


def _looked_at(here: Path, case: Case) -> tuple[State, list[str], bool, list[int]]:
    """What a new process finds after the kill, before and after one more write."""
    now = state(here)
    missing = _undelivered(here) if case.sink else []
    with MemoryMesh(db_dir=here) as mesh:
        findings = [str(finding) for finding in mesh.care.verify().findings]
        id_ = mesh.add("the write after the crash zqafterwardsx").id
        found = id_ in [hit.id for hit in mesh.search("zqafterwardsx")]
        findings += [str(finding) for finding in mesh.care.verify().findings]
    return now, findings, found, missing


def _killed_at(here: Path, case: Case, point: int) -> None:
    """In a child: do it, and die at the point."""

    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    act(here, case)


def watch(hear: Callable[[int], None]) -> list[str]:
    """Have every later SQL statement and file operation of this process counted and heard."""
    events: list[str] = []
    inside = False

    def happen(what: str) -> None:
        nonlocal inside
        if inside:
            return
        inside = True
        events.append(what)
        hear(len(events))
        inside = False

    def audited(event: str, _args: tuple[object, ...]) -> None:
        if event.startswith(_FILE_EVENTS) and event != "os.kill":
            happen(event)

    connect = sqlite3.connect

    def traced(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **kwargs)
        db.set_trace_callback(happen)
        return db

    sqlite3.connect = traced  # type: ignore[assignment]  # that is the point
    sys.addaudithook(audited)
    return events


def _prepared(template: Path, case: Case) -> State:
    prepared(template, case)
    return state(template)


def _whole(template: Path, here: Path, case: Case) -> tuple[int, State]:
    """How many events the whole operation has, and the state that it leaves."""
    shutil.copytree(template, here)
    events = watch(lambda _number: None)
    act(here, case)
    return len(events), state(here)


def _after(template: Path, here: Path, stop: Callable[[MemoryMesh], None]) -> State:
    """The state that a part of the operation leaves."""
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(template, here)
    with MemoryMesh(db_dir=here) as mesh:
        stop(mesh)
    return state(here)


def _empty_state(here: Path) -> State:
    """A file whose schema was made and nothing more."""
    with MemoryMesh(db_dir=here) as mesh, mesh._opened().ledger._files.writing(NAMESPACE):  # type: ignore[attr-defined]
        pass
    return state(here)


def state(here: Path) -> State:
    """All that the file says, but for what differs from run to run; None while it says nothing."""
    path = here / "namespaces" / f"{NAMESPACE}.db"
    if not path.exists() or not path.stat().st_size:
        return None
    with closing(sqlite3.connect(path)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master").fetchone() or _being_made(db):
            return None
        db.create_function("unpacked", 3, rows.unpacked, deterministic=True)
        return {
            table: [
                tuple(_ID.sub("ID", cell) if isinstance(cell, str) else cell for cell in row)
                for row in db.execute(f"SELECT {columns} FROM {table} ORDER BY 1")
            ]
            for table, columns in _STABLE.items()
        }


def _being_made(db: sqlite3.Connection) -> bool:
    """The schema is made in steps; a kill between two leaves an older one with nothing in it."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    empty = not db.execute("SELECT 1 FROM memory").fetchone()
    return bool(version < schema.NEWEST and empty)


def _undelivered(here: Path) -> list[int]:
    """Positions of blocks that the sink's cursor passed and its file lacks."""
    lines = (here / "sink.jsonl").read_text().splitlines() if (here / "sink.jsonl").exists() else []
    heard = {json.loads(line)["position"] for line in lines}
    with closing(sqlite3.connect(here / "namespaces" / f"{NAMESPACE}.db")) as db:
        told = db.execute(
            "SELECT position FROM block WHERE seq <= coalesce((SELECT seq FROM sink), 0)"
        )
        return [position for (position,) in told if position not in heard]


def _difference(now: State, allowed: list[State]) -> str:
    nearest = allowed[-1] or {}
    tables = [table for table in _STABLE if (now or {}).get(table) != nearest.get(table)]
    return f"a state between two transactions; differs from the finished one in {tables}"
