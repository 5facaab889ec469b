"""Consolidation and retention under kills and in several processes: always the same end, once."""

import os
import random
import re
import shutil
import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_mesh.learn.rules import trace_learnings
from memory_mesh.model import Status
from memory_mesh.model.trace import Trace
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.crashpoints import State, state, watch
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent
from tests.faults.sample import points
from tests.flow.executions import GROWING_TOGETHER

START = datetime(2026, 1, 1, tzinfo=UTC)
# Consolidation, the archive after a day, like learnings after half a year, packing after a year.
MOMENTS = tuple(START + timedelta(days=days) for days in (0.5, 3, 190, 560))
JOBS = ["consolidate-traces", "retention"]
STEPS = ("Build the image", "Push the image")
PLAN = "Build, push and roll out, then look at the graphs. " * 20
_ID = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{6}")
End = tuple[State, list[str]]


def killed_at_every_step(
    folder: Path, *, seed: int, share: float = 1.0, progress: Progress = silent
) -> Report:
    """A kill at each event of a life of traces; run again, it ends as an undisturbed one ends."""
    report = Report({"points": 0, "different": 0, "findings": 0})
    template, whole = folder / "template", folder / "whole"
    call(_prepare, template)
    shutil.copytree(template, whole)
    total = call(_counted, whole)
    wanted = call(_end, whole)
    twice = call(_run_again, whole)
    if twice != (wanted, []):
        report.broken("different", "after a second run of all of it")
    for point in points(total, share, random.Random(seed)):
        here = folder / "case"
        shutil.copytree(template, here)
        child = Child(_killed_at, here, point)
        child.join()
        if child.code == 0:
            break
        report.count("points")
        now, findings = call(_run_again, here)
        if now != wanted:
            report.broken("different", f"after a kill at event {point} of {total}")
        for finding in findings:
            report.broken("findings", f"after a kill at event {point} of {total}: {finding}")
        shutil.rmtree(here)
        if report.figures["points"] % 50 == 0:  # type: ignore[operator]  # a counter
            progress(f"{report.figures['points']} points, event {point} of {total}")
    report.figures["events"] = total
    return report


def several_at_once(folder: Path, *, rounds: int, processes: int = 4) -> Report:
    """Processes that consolidate at the same time; each trace must end in one learning."""
    report = Report({"rounds": 0, "doubled": 0, "missing": 0, "findings": 0})
    for number in range(rounds):
        here = folder / str(number)
        call(_prepare, here)
        children = [Child(_lived, here, MOMENTS[:1]) for _ in range(processes)]
        for child in children:
            child.result()
        counted, linked, findings = call(_learned, here)
        report.count("rounds")
        if len(linked) != len(set(linked)) or counted > len(set(linked)):
            report.broken("doubled", f"round {number}: {counted} counted, {len(linked)} links")
        if len(set(linked)) != len(_traces()) - 1 or counted < len(set(linked)):
            report.broken("missing", f"round {number}: {counted} counted, {len(linked)} links")
        for finding in findings:
            report.broken("findings", f"round {number}: {finding}")
        shutil.rmtree(here)
    return report


def _traces() -> list[Trace]:
    goals = (*GROWING_TOGETHER, "Deploy the shop to staging")
    return [
        Trace(
            goal,
            trace_id=f"trace-176722560000{number}-abcdef",
            plan=PLAN,
            learnings=("Wait for the rollout",),
            timestamp=START,
        )
        for number, goal in enumerate(goals)
    ]


def _prepare(here: Path) -> None:
    with MemoryMesh(db_dir=here, clock=FrozenClock(START)) as mesh:
        for trace in _traces():
            mesh.traces.record(trace, steps=STEPS)


def _lived(here: Path, moments: tuple[datetime, ...] = MOMENTS) -> None:
    """Runs the jobs at each moment, as a host that calls them now and then would."""
    for moment in moments:
        with MemoryMesh(db_dir=here, clock=FrozenClock(moment)) as mesh:
            mesh.care.run_jobs(JOBS)


def _counted(here: Path) -> int:
    events = watch(lambda _number: None)
    _lived(here)
    return len(events)


def _killed_at(here: Path, point: int) -> None:
    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    _lived(here)


def _run_again(here: Path) -> tuple[End, list[str]]:
    _lived(here)
    with MemoryMesh(db_dir=here) as mesh:
        findings = [str(finding) for finding in mesh.care.verify().findings]
    return _end(here), findings


def _end(here: Path) -> End:
    """The store, its small values and its links; ids differ from run to run."""
    with closing(sqlite3.connect(next(here.glob("**/default.db")))) as db:
        rows = db.execute("SELECT name, value FROM state ORDER BY name").fetchall()
        rows += db.execute("SELECT source, target || type FROM link ORDER BY 1, 2").fetchall()
    return state(here), sorted(_ID.sub("ID", f"{name}={value}") for name, value in rows)


def _learned(here: Path) -> tuple[int, list[str], list[str]]:
    """How many executions the learnings count, the traces they hold, and what verify finds."""
    with MemoryMesh(db_dir=here, clock=FrozenClock(MOMENTS[0])) as mesh:
        found = mesh.get_all(filter="label = 'learning'", include=list(Status))
        records = [trace_learnings.read(memory) for memory in found]
        linked = [link.target for memory in found for link in mesh.graph.links(memory.id)]
        findings = [str(finding) for finding in mesh.care.verify().findings]
    return sum(record.count for record in records if record is not None), linked, findings
