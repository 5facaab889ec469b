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
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_mesh.engines.ledgers.sql import packing
from memory_mesh.engines.ledgers.sqlite import schema
from memory_mesh.engines.sinks.jsonl import JsonLinesSink
from memory_mesh.model import Status
from memory_mesh.model.learning import LessonContext
from memory_mesh.policy.writing.limits import WRITE_SLICE
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent
from tests.faults.truthcases import TRUTH

State = dict[str, list[tuple[object, ...]]] | None
ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "default"
MANY = 40  # an operation with more events is sampled where a share is asked for
_ID = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{6}")
_CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink")
_TRACED = ("first write", "add", "update text", "delete", "close with a sink")
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


@dataclass(frozen=True, slots=True)
class Case:
    """One write operation: what is there before, what is done, and where it may stop halfway."""

    name: str
    prepare: Callable[[MemoryMesh], object]
    act: Callable[[MemoryMesh], object]
    stops: tuple[Callable[[MemoryMesh], None], ...] = ()  # each reaches a state between commits
    sink: bool = False


def crash_enumerated(
    folder: Path, *, seed: int, share: float = 1.0, progress: Progress = silent
) -> Report:
    """Every point of every operation; of an operation with very many events the given share."""
    report = Report({"operations": len(CASES), "points": 0, "torn": 0, "findings": 0})
    points: dict[str, Any] = {}
    for case in CASES:
        room = folder / case.name.replace(" ", "-")
        events = _enumerate(case, room, random.Random(seed), share, report)
        points[case.name] = events
        progress(f"{case.name}: {events} events")
        shutil.rmtree(room)
    report.figures["events"] = points
    return report


def can_trace() -> bool:
    """True where strace is installed and allowed."""
    if shutil.which("strace") is None:
        return False
    return not subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], check=False).returncode


def crash_in_system_calls(
    folder: Path, *, seed: int, share: float = 1.0, progress: Progress = silent
) -> Report:
    """A kill at every write, sync, truncation and removal of a file that SQLite does itself."""
    report = Report({"points": 0, "torn": 0, "findings": 0})
    calls: dict[str, Any] = {}
    dice = random.Random(seed)
    for case in CASES:
        if case.name not in _TRACED:
            continue
        room = folder / case.name.replace(" ", "-")
        allowed = _allowed(case, room)
        for kind in _CALLS:
            total = _traced(room, case, kind, None)
            wanted = range(1, total + 1)
            for point in sorted(dice.sample(wanted, max(min(1, total), int(total * share)))):
                if not _killed_in(room, case, kind, point):
                    report.count("not reached")
                    continue
                report.count("points")
                where = f"{case.name}, {kind} {point} of {total}"
                _check(room / "case", allowed, case, where, report)
            calls[f"{case.name}: {kind}"] = total
        progress(f"{case.name}: {report.figures['points']} points")
        shutil.rmtree(room)
    report.figures["calls"] = calls
    return report


def _killed_in(room: Path, case: Case, kind: str, point: int) -> bool:
    """Kills the operation at a system call; False if it never makes that many.

    How much a sink's thread delivers at once differs from run to run, so it is tried again.
    """
    if any(_traced(room, case, kind, point) for _ in range(_TRIES if case.sink else 1)):
        return True
    if not case.sink:
        raise AssertionError(f"{case.name}: {kind} {point} was never reached")
    return False


def _traced(room: Path, case: Case, kind: str, point: int | None) -> int:
    """The operation in a process of its own, killed at a system call if one is named.

    Returns how many of them it made, or whether it was killed.
    """
    here, log = room / "case", room / "strace"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(room / "template", here)
    inject = ["-e", f"inject={kind}:signal=KILL:when={point}"] if point else []
    tracer = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={kind}", *inject]
    worker = [sys.executable, "-m", "tests.faults.crashpoints", case.name, str(here)]
    subprocess.run([*tracer, *worker], cwd=ROOT, check=False, capture_output=True, timeout=60)
    lines = log.read_text().splitlines()
    if point:
        return sum("killed by SIGKILL" in line for line in lines)
    return sum(f" {kind}(" in line for line in lines)


def _enumerate(case: Case, room: Path, dice: random.Random, share: float, report: Report) -> int:
    """All points of one operation, up to the first that it does not reach; how many it has."""
    template, allowed = room / "template", _allowed(case, room)
    total = call(_counted, template, room / "count", case)
    points: Iterable[int] = itertools.count(1)
    if share < 1 and total > MANY:
        points = sorted(dice.sample(range(1, total + 1), int(total * share)))
    for point in points:
        here = room / "case"
        shutil.copytree(template, here)
        child = Child(_killed_at, here, case, point)
        child.join()
        where = f"{case.name}, event {point} of {total}"
        if child.code not in {0, -signal.SIGKILL}:
            report.broken("torn", f"{where}: ended with {child.code}")
        _check(here, allowed, case, where, report)
        shutil.rmtree(here)
        if child.code == 0:
            return point - 1
        report.count("points")
    return total


def _allowed(case: Case, room: Path) -> list[State]:
    """Prepare the store, and list the states that the operation passes between transactions."""
    template = room / "template"
    template.mkdir(parents=True)
    call(prepared, template, case)
    allowed = [call(_after, template, room / "stop", case, stop) for stop in (None, *case.stops)]
    shutil.copytree(template, room / "whole")
    call(act, room / "whole", case)
    allowed.append(call(state, room / "whole"))
    if case.name == "first write":
        allowed.append(call(_empty_state, room / "empty"))
    return allowed


def _check(here: Path, allowed: list[State], case: Case, where: str, report: Report) -> None:
    now, findings, wrote, missing = call(_looked_at, here, case)
    if now not in allowed:
        report.broken("torn", f"{where}: {_difference(now, allowed)}")
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
        findings = [str(finding) for finding in mesh.verify().findings]
        id_ = mesh.add("the write after the crash zqafterwardsx").id
        found = id_ in [hit.id for hit in mesh.search("zqafterwardsx")]
        findings += [str(finding) for finding in mesh.verify().findings]
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


def _counted(template: Path, here: Path, case: Case) -> int:
    """How many events the whole operation has; leaves the finished store behind."""
    shutil.copytree(template, here)
    events = watch(lambda _number: None)
    act(here, case)
    return len(events)


def act(here: Path, case: Case) -> None:
    mesh = MemoryMesh(db_dir=here, sinks=_sinks(here) if case.sink else ())
    case.act(mesh)
    mesh.close()


def prepared(template: Path, case: Case) -> None:
    with MemoryMesh(db_dir=template) as mesh:
        case.prepare(mesh)


def _after(
    template: Path, here: Path, case: Case, stop: Callable[[MemoryMesh], None] | None
) -> State:
    """The state that a part of the operation leaves."""
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(template, here)
    if stop is not None:
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
        db.create_function("unpacked", 3, packing.unpacked, deterministic=True)
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


def _sinks(here: Path) -> tuple[JsonLinesSink]:
    return (JsonLinesSink(here / "sink.jsonl"),)


def _only(mesh: MemoryMesh, text: str = "first") -> str:
    """The id of the prepared memory."""
    return next(m.id for m in mesh.get_all(include=list(Status)) if m.text.startswith(text))


def _two(mesh: MemoryMesh) -> None:
    mesh.add("first memory about tea", {"topic": "tea"}, key="first")
    mesh.add("second memory about coffee")


def _two_one_deleted(mesh: MemoryMesh) -> None:
    _two(mesh)
    mesh.delete(_only(mesh))


def _drafts(count: int) -> list[str]:
    return [f"draft number {number} of a load" for number in range(count)]


def _fill_recalls(mesh: MemoryMesh) -> None:
    for _ in range(64):
        mesh.search("tea")


def _search_then(mesh: MemoryMesh) -> None:
    mesh.search("tea")
    mesh.add("third memory about water")


def _told(count: int) -> Callable[[MemoryMesh], None]:
    """A sink's cursor after this many commits."""

    def stop(mesh: MemoryMesh) -> None:
        ledger = mesh._opened().ledger
        for seq in range(1, count + 1):
            ledger.sink_moved(NAMESPACE, "jsonl", seq, None)

    return stop


def lesson(name: str = "lock", confidence: float = 0.7) -> LessonContext:
    """A failure that teaches something."""
    return LessonContext(
        situation="a report hung",
        error_pattern=name,
        oversight="nobody waited for the lock",
        fix="a timeout",
        preventative_rule="Always set a timeout",
        severity="high",
        applicable_scope="reports",
        confidence=confidence,
    )


def _two_and_a_skill(mesh: MemoryMesh) -> None:
    _two(mesh)
    mesh.ingest_skill(SKILL)


def _a_skill_that_failed(mesh: MemoryMesh) -> None:
    _two_and_a_skill(mesh)
    for _ in range(2):
        mesh.update_skill_reliability(_skill(mesh), success=False)


def _a_lesson_that_waits(mesh: MemoryMesh) -> None:
    _two(mesh)
    mesh.receive_lesson(mesh.distill_lesson(lesson()).wire_format.replace("reports", "exports"))


def _skill(mesh: MemoryMesh) -> str:
    return mesh.list_skills()[0].id


def _approve(mesh: MemoryMesh) -> None:
    mesh.review(mesh.awaiting_review()[0].id, approve=True)


SKILL = "name; Make tea;\nintent; boil water and wait;\n"
CASES = (
    Case("first write", lambda mesh: None, lambda mesh: void(mesh.add("the very first"))),
    Case("add", _two, lambda mesh: void(mesh.add("third memory about water", {"topic": "w"}))),
    Case("add with a key", _two, lambda mesh: void(mesh.add("third memory", key="third"))),
    Case(
        "add many over a slice",
        _two,
        lambda mesh: void(mesh.add_many(_drafts(WRITE_SLICE + 2))),
        stops=(lambda mesh: void(mesh.add_many(_drafts(WRITE_SLICE))),),
    ),
    Case("merge", _two, lambda mesh: void(mesh.add("first memory about tea"))),
    Case("repeat a key", _two, lambda mesh: void(mesh.add("first memory about tea", key="first"))),
    Case("update text", _two, lambda mesh: void(mesh.update(_only(mesh), "first, about cocoa"))),
    Case(
        "update metadata",
        _two,
        lambda mesh: void(mesh.update(_only(mesh), metadata={"topic": "green tea"})),
    ),
    Case(
        "change validity",
        _two,
        lambda mesh: void(mesh.update(_only(mesh), valid_until="2099-01-01T00:00:00Z")),
    ),
    Case("pin", _two, lambda mesh: void(mesh.pin(_only(mesh)))),
    Case("delete", _two, lambda mesh: mesh.delete(_only(mesh))),
    Case("restore", _two_one_deleted, lambda mesh: void(mesh.restore(_only(mesh)))),
    Case("get", _two, lambda mesh: void(mesh.get(_only(mesh)))),
    Case("rate", _two, lambda mesh: mesh.rate(_only(mesh), helpful=True)),
    Case("teach a lesson", _two, lambda mesh: void(mesh.distill_lesson(lesson()))),
    Case(
        "a lesson takes another's place",
        lambda mesh: void(mesh.distill_lesson(lesson())),
        lambda mesh: void(mesh.distill_lesson(lesson(confidence=0.9))),
    ),
    Case("approve a lesson", _a_lesson_that_waits, _approve),
    Case(
        "heritage",
        _two,
        lambda mesh: void(mesh.insert_heritage(_only(mesh), {"intentChain": ["drink"]})),
    ),
    Case("ingest a skill", _two, lambda mesh: void(mesh.ingest_skill(SKILL))),
    Case(
        "a skill takes another's place",
        _two_and_a_skill,
        lambda mesh: void(mesh.ingest_skill(SKILL + "description; slowly;\n")),
    ),
    Case(
        "rely on a skill",
        _two_and_a_skill,
        lambda mesh: void(mesh.update_skill_reliability(_skill(mesh), success=True)),
    ),
    Case("prune skills", _a_skill_that_failed, lambda mesh: void(mesh.prune_skills())),
    Case("recall flush", _two, _fill_recalls),
    Case("recall with the next write", _two, _search_then),
    Case("close with a recall waiting", _two, lambda mesh: void(mesh.search("tea"))),
    Case("close with a sink", _two, lambda mesh: mesh.init(), (_told(1), _told(2)), sink=True),
    *(Case(*each) for each in TRUTH),
)


def void(_value: object) -> None:
    """Take a value and say nothing: an operation is judged by what it leaves."""


if __name__ == "__main__":
    act(Path(sys.argv[2]), next(case for case in CASES if case.name == sys.argv[1]))
