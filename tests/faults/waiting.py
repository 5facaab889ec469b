"""Stopped, slow and dead lock holders in random places: no read waits, and every wait ends.

A holder does one operation on a copy of a prepared store, and stops (SIGSTOP), sleeps or dies at
its n-th SQL statement, file operation or system call. Meanwhile another process reads, writes and
closes. Then the holder goes on: what was acknowledged is there, every read is recorded once.
"""

import os
import random
import re
import shutil
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeVar

from memory_mesh.model import Memory
from memory_mesh.model.errors import StoreIsBusy
from memory_mesh.sync import MemoryMesh
from tests.faults import tracing
from tests.faults.crashcases import CASES, Case, prepared
from tests.faults.crashpoints import watch
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import dealt

T = TypeVar("T")
READ_SECONDS = 2.0  # that a read may take, whoever holds the lock
BEYOND_SECONDS = 1.0  # that a wait may take longer than its bound, on a busy machine
LOCK_WAIT = {"stopped": 0.3, "slow": 20.0, "dead": 20.0}
SLOW_SECONDS = 0.5
BUSY_READS = 3  # after which a process beside asks no more
SEARCHES = 66  # every 64th writes the records
LARGEST_SHARE, LARGEST_WAIT = 5.0, 1.0  # of the median, or in seconds
_CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink")
_TRACED = ("add", "update text", "close with a recall waiting")
_INSIDE = "UPDATE store"  # a statement of every write
_STOPPED = re.compile(r"^(\d+) +--- stopped by SIGSTOP ---", re.MULTILINE)
_HELD = tuple(case for case in CASES if not case.sink)


@dataclass
class Seen:
    """What the process beside the holder met."""

    reads: list[tuple[float, str]] = field(default_factory=list)
    busy_reads: int = 0
    written: float = 0.0
    closed: float = 0.0
    added: str | None = None
    refused_by: list[int | None] = field(default_factory=list)
    used: str | None = None
    uses: int = 0
    searches: int = 0
    unborn: bool = False  # the namespace was not there when the reads began


def stopped_holders(
    folder: Path,
    *,
    places: int,
    seed: int,
    strict: bool = True,
    progress: Progress = silent,
) -> Report:
    """Holders that stop, sleep or die in random places, one after another."""
    report = Report({"places": 0, "reads": 0, "slow reads": 0, "waits past their bound": 0})
    report.figures |= {"writes refused": 0, "holder named": 0, "lost": 0, "findings": 0}
    dice, ticker = random.Random(seed), Ticker(progress, places)
    traced, totals, slowest = tracing.can_trace(), dict[str, int](), 0.0
    hows = dealt(("stopped", "slow", "dead"), dice, (2, 1, 1))
    for place in range(places):
        here = folder / "case"
        if place == 0:  # whatever the dice say, one holder stops while it holds the lock
            case, how = next(case for case in _HELD if case.name == "add"), "stopped"
            where, seen, holder = _at_an_event(folder, here, case, how, _INSIDE)
        elif traced and place % 3 == 0:
            case = dice.choice([case for case in _HELD if case.name in _TRACED])
            how, where, seen, holder = _in_a_call(folder, here, case, dice)
        else:
            case, how = dice.choice(_HELD), next(hows)
            point = _random_point(folder, case, totals, dice)
            where, seen, holder = _at_an_event(folder, here, case, how, point)
        report.count("places")
        report.count(how)
        slowest = max(slowest, *(seconds for seconds, _ in seen.reads))
        _judge(report, where, how, seen, strict=strict)
        for name, detail in call(_check, here, holder, seen):
            report.broken(name, f"{where}: {detail}")
        shutil.rmtree(here)
        ticker.tick(place + 1, f"{report.figures['writes refused']} writes refused")
    report.figures["slowest read ms"] = round(slowest * 1000, 1)
    return report


def many_writers(
    folder: Path,
    *,
    writers: int,
    each: int,
    strict: bool = True,
    progress: Progress = silent,
) -> Report:
    """Writers that do nothing else: everybody's turn comes, and nobody waits much longer."""
    call(_add, folder)  # making the schema is no part of a turn
    start = time.time() + 0.5
    children = [Child(_write, folder, who, each, start) for who in range(writers)]
    waits = sorted(wait for child in children for wait in child.result(1_800))
    progress(f"{writers} writers have done {each} writes each")
    middle, worst = median(waits), waits[-1]
    report = Report({"writers": writers, "writes": len(waits), "lost": 0})
    report.figures["median ms"] = round(middle * 1000, 1)
    report.figures["p99 ms"] = round(waits[int(len(waits) * 0.99)] * 1000, 1)
    report.figures["worst ms"] = round(worst * 1000, 1)
    if strict and worst > max(LARGEST_SHARE * middle, LARGEST_WAIT):
        report.broken("long waits", f"{worst:.3f} s, median {middle:.3f} s")
    stored = call(_count_memories, folder)
    if stored != writers * each + 1:
        report.broken("lost", f"{stored - 1} of {writers * each}")
    return report


def spooled(folder: Path, *, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """Writers that die while they take the spool in: each record is there once in the end."""
    report = Report({"rounds": 0, "kills": 0, "records": 0, "not once": 0, "findings": 0})
    dice, ticker = random.Random(seed), Ticker(progress, rounds)
    template = folder / "template"
    template.mkdir(parents=True)
    used = call(_left_behind, template)
    total = call(_added_events, template, folder / "count")
    for number in range(rounds):
        here = folder / "case"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(template, here)
        for point in sorted(dice.sample(range(1, total + 1), 3)):
            child = Child(_killed_adding, here, point)
            child.join()
            report.count("kills", child.code == -signal.SIGKILL)
        for name, detail in call(_check_once, here, used):
            report.broken(name, f"round {number}: {detail}")
        report.count("rounds")
        report.count("records", SEARCHES + 1)
        ticker.tick(number + 1)
    return report


def _random_point(folder: Path, case: Case, totals: dict[str, int], dice: random.Random) -> int:
    """The number of one of the events that a holder has."""
    template = _template(folder, case)
    if case.name not in totals:
        totals[case.name] = call(_held_at, template, folder / "count", case)
    return dice.randint(1, totals[case.name])


def _at_an_event(
    folder: Path, here: Path, case: Case, how: str, point: int | str
) -> tuple[str, Seen, str | None]:
    """One holder at a statement or file operation, by number or name, and somebody beside it."""
    shutil.copytree(_template(folder, case), here)
    holder = Child(_hold, here, case, point, how)
    if how == "dead":
        holder.join()
    else:
        _await(lambda: (here / "reached").exists() or _has_ended(holder.pid))
    if how == "stopped":
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    seen = call(_beside, here, LOCK_WAIT[how])
    added = None
    if how != "dead":
        if how == "stopped":
            os.kill(holder.pid, signal.SIGCONT)
        added = holder.result()
    return f"{case.name}, {how} at event {point}", seen, added


def _in_a_call(
    folder: Path, here: Path, case: Case, dice: random.Random
) -> tuple[str, str, Seen, str | None]:
    """One holder that stops inside SQLite, at a random system call."""
    template = _template(folder, case)
    made = _calls(folder, template, case)
    kind = dice.choice(sorted(made))
    point = dice.randint(1, made[kind])
    shutil.copytree(template, here)
    stop = f"{kind}:signal=STOP:when={point}"
    with tracing.attached(_CALLS, stop, _holding, here, case) as (holder, log):
        _await(lambda: _STOPPED.search("\n".join(log())) is not None or holder.has_ended())
        stopped = _STOPPED.search("\n".join(log()))
        seen = call(_beside, here, LOCK_WAIT["stopped"])
        if stopped is not None:
            os.kill(int(stopped[1]), signal.SIGCONT)
        said = holder.result()
    where = f"{case.name}, {kind} {point} of {made[kind]}"
    if stopped is None:
        raise AssertionError(f"{where}: the holder did not stop and go on")
    return "stopped", where, seen, said


def _calls(folder: Path, template: Path, case: Case) -> Counter[str]:
    """How many system calls of each kind the holder makes."""
    here = folder / "count"
    shutil.copytree(template, here)
    made, _ = tracing.traced(_CALLS, None, _holding, here, case)
    shutil.rmtree(here)
    return made


def _judge(report: Report, where: str, how: str, seen: Seen, *, strict: bool) -> None:
    """Compares what was seen with the bounds; without seconds, a wait that ended has ended.

    A holder that is stopped goes on only when everybody beside it is done.
    """
    report.count("reads", len(seen.reads))
    report.count("reads refused", seen.busy_reads)
    if seen.busy_reads:
        report.count(f"reads refused: {re.sub('[0-9]+', 'N', where)}")
    for seconds, what in seen.reads if strict else ():
        if seconds > READ_SECONDS:
            report.broken("slow reads", f"{where}: {what} took {seconds:.2f} s")
    late = seen.written > LOCK_WAIT[how] + BEYOND_SECONDS or seen.closed > 1.0 + BEYOND_SECONDS
    if strict and late:
        told = f"a write took {seen.written:.2f} s, close {seen.closed:.2f} s"
        report.broken("waits past their bound", f"{where}: {told}")
    report.count("writes refused", len(seen.refused_by))
    report.count("holder named", sum(pid is not None for pid in seen.refused_by))
    if seen.refused_by and how != "stopped":
        report.broken("writes refused for nothing", where)


def _template(folder: Path, case: Case) -> Path:
    template = folder / "templates" / case.name.replace(" ", "-")
    if not template.is_dir():
        template.mkdir(parents=True)
        call(prepared, template, case)
    return template


def _held_at(template: Path, here: Path, case: Case) -> int:
    """How many events the holder has."""
    shutil.copytree(template, here)
    events = watch(lambda _number: None)
    _holding(here, case)
    shutil.rmtree(here)
    return len(events)


def _hold(here: Path, case: Case, point: int | str, how: str) -> str | None:
    """In a child: do it, and stop, sleep or die at the point."""

    def hear(number: int) -> None:
        named = isinstance(point, str) and events[-1].startswith(point)
        if (number != point and not named) or (here / "reached").exists():
            return
        (here / "reached").touch()
        if how == "slow":
            time.sleep(SLOW_SECONDS)
        else:
            os.kill(os.getpid(), signal.SIGSTOP if how == "stopped" else signal.SIGKILL)

    events = watch(hear)
    return _holding(here, case)


def _holding(here: Path, case: Case) -> str | None:
    with MemoryMesh(db_dir=here, settings={"lock_wait_seconds": 60}) as mesh:
        case.act(mesh)
        return mesh.add("the holder adds zqholderx").id


def _beside(here: Path, lock_wait: float) -> Seen:
    """Reads, one write and the end of a process while another holds the lock, or not."""
    seen = Seen(unborn=not (here / "namespaces" / "default.db").exists())
    mesh = MemoryMesh(db_dir=here, settings={"lock_wait_seconds": lock_wait})
    memories: list[Memory] = _timed(seen, "get_all", mesh.get_all) or []
    seen.used = next((memory.id for memory in memories if memory.text.startswith("second")), None)
    while seen.searches < SEARCHES and seen.busy_reads < BUSY_READS:
        seen.searches += _timed(seen, "search", lambda: mesh.search("zqbeside")) is not None
    if seen.used is not None:
        used = seen.used
        seen.uses += _timed(seen, "get", lambda: mesh.get(used)) is not None
        _timed(seen, "explain", lambda: mesh.explain(used))
        _timed(seen, "history", lambda: mesh.history(used))
    _timed(seen, "context", lambda: mesh.context("coffee", record=False))
    _timed(seen, "stats", mesh.stats)
    begun = time.monotonic()
    try:
        seen.added = mesh.add("somebody beside adds zqbesidex").id
    except StoreIsBusy as error:
        seen.refused_by.append(error.pid)
    seen.written = time.monotonic() - begun
    begun = time.monotonic()
    mesh.close()
    seen.closed = time.monotonic() - begun
    return seen


def _timed(seen: Seen, what: str, read: Callable[[], T]) -> T | None:
    begun = time.monotonic()
    answer = None
    try:
        answer = read()
    except StoreIsBusy:
        seen.busy_reads += 1
    seen.reads.append((time.monotonic() - begun, what))
    return answer


def _check(here: Path, holder: str | None, seen: Seen) -> list[tuple[str, str]]:
    """In a new process, after one more write: all that was acknowledged, each read once."""
    with MemoryMesh(db_dir=here) as mesh:
        mesh.add("the write that takes the spool in")
        wrong = [("findings", str(finding)) for finding in mesh.care.verify().findings]
        told = [id_ for id_ in (holder, seen.added) if id_ is not None]
        wrong += [("lost", f"{id_} was acknowledged") for id_ in told if not mesh.history(id_)]
        uses = mesh.history(seen.used)[-1].uses if seen.used is not None else 0
    if (here / "namespaces" / "default.spool").exists():
        wrong.append(("lost", "the spool was not taken in"))
    with closing(sqlite3.connect(here / "namespaces" / "default.db")) as db:
        (found,) = db.execute(
            "SELECT count(*) FROM recall WHERE wire LIKE '%zqbeside%' OR metadata LIKE '%zqbeside%'"
        ).fetchone()
    # what was asked of a namespace that is not there is recorded only if it is made soon
    recorded = found <= seen.searches if seen.unborn else found == seen.searches
    if not recorded or uses != seen.uses:
        counted = f"{found} of {seen.searches} searches, {uses} of {seen.uses} uses are recorded"
        wrong.append(("not once", counted))
    return wrong


def _left_behind(here: Path) -> str:
    """A store whose lock was held when a reader ended: its records are in the spool."""
    with MemoryMesh(db_dir=here) as mesh:
        used = str(mesh.add("second memory about coffee").id)
    holder = Child(_stopped_holding, here)
    os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
    seen = call(_beside, here, 0.1)
    holder.kill()
    assert (seen.searches, seen.uses, seen.added) == (SEARCHES, 1, None)
    assert (here / "namespaces" / "default.spool").exists()
    return used


def _stopped_holding(here: Path) -> None:
    with MemoryMesh(db_dir=here) as mesh, mesh._opened().ledger._files.writing("default"):  # type: ignore[attr-defined]
        os.kill(os.getpid(), signal.SIGSTOP)


def _added_events(template: Path, here: Path) -> int:
    shutil.copytree(template, here)
    events = watch(lambda _number: None)
    _add(here)
    return len(events)


def _killed_adding(here: Path, point: int) -> None:
    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    _add(here)


def _add(here: Path) -> None:
    with MemoryMesh(db_dir=here) as mesh:
        mesh.add("the write that takes the spool in")


def _check_once(here: Path, used: str) -> list[tuple[str, str]]:
    return _check(here, None, Seen(used=used, uses=1, searches=SEARCHES))


def _write(folder: Path, who: int, each: int, start: float) -> list[float]:
    waits: list[float] = []
    with MemoryMesh(db_dir=folder, settings={"lock_wait_seconds": 60}) as mesh:
        time.sleep(max(0.0, start - time.time()))
        for number in range(each):
            begun = time.monotonic()
            mesh.add(f"writer {who} says {number}")
            waits.append(time.monotonic() - begun)
    return waits


def _count_memories(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db:
        (count,) = db.execute("SELECT count(*) FROM memory").fetchone()
        return int(count)


def _await(done: Callable[[], bool], limit: float = 60.0) -> None:
    end = time.monotonic() + limit
    while not done():
        if time.monotonic() > end:
            raise AssertionError("the holder did not come to its place")
        time.sleep(0.002)


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
