"""The log of experiences under many processes and kills: no number twice, no entry lost."""

import os
import random
import shutil
import signal
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.formats import memory_log
from memory_mesh.mesh import flows
from memory_mesh.model.learning import Experience, FinalOutcome
from memory_mesh.model.trace import Trace
from memory_mesh.sync import MemoryMesh
from tests.faults.crashpoints import watch
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent
from tests.faults.sample import points

AT = datetime(2026, 1, 1, tzinfo=UTC)
KEEP = 100  # so that a small log rolls


def many_processes(folder: Path, *, processes: int, each: int) -> Report:
    """Processes that log at the same time: every number once, increasing, and all in the log."""
    report = Report({"processes": processes, "logged": 0, "doubled": 0, "not increasing": 0})
    children = [Child(_log, folder, each) for _ in range(processes)]
    drawn = [child.result() for child in children]
    numbers = [number for one in drawn for number in one]
    report.figures["logged"] = len(numbers)
    if sorted(numbers) != list(range(1, processes * each + 1)):
        report.broken("doubled", f"{len(numbers)} drawn, {len(set(numbers))} different")
    for one in drawn:
        if one != sorted(set(one)):
            report.broken("not increasing", str(one))
    held, shown = call(_held, folder)
    if held != sorted(numbers):
        report.broken("lost", f"{len(held)} of {len(numbers)} are listed")
    if shown != sorted(numbers):
        report.broken("not in the file", f"{len(shown)} of {len(numbers)}")
    return report


def killed_at_every_step(
    folder: Path,
    *,
    seed: int,
    share: float = 1.0,
    entries: int = 350,
    progress: Progress = silent,
) -> Report:
    """A kill at each event of a roll; run again, files and ledger end as an undisturbed roll's."""
    report = Report({"points": 0, "different": 0, "seen between": 0})
    template, whole = folder / "template", folder / "whole"
    call(_fill, template, entries)
    shutil.copytree(template, whole)
    total = call(_counted, whole)
    wanted = call(_state, whole)
    for point in points(total, share, random.Random(seed)):
        here = folder / "case"
        shutil.copytree(template, here)
        child = Child(_killed_at, here, point)
        child.join()
        if child.code == 0:
            break
        report.count("points")
        if call(_listed, here) != list(range(1, entries + 1)):
            report.broken("seen between", f"after a kill at event {point} of {total}")
        call(_roll, here)
        if call(_state, here) != wanted:
            report.broken("different", f"after a kill at event {point} of {total}")
        shutil.rmtree(here)
    progress(f"{report.figures['points']} points of {total}")
    return report


def while_rolling(folder: Path, *, writers: int, each: int) -> Report:
    """Writers and rollers at the same time: each entry is listed once, archived or not."""
    report = Report({"logged": 0, "lost or doubled": 0})
    children = [Child(_log_and_roll, folder, each) for _ in range(writers)]
    numbers = [number for child in children for number in child.result()]
    report.figures["logged"] = len(numbers)
    listed = call(_listed, folder)
    if listed != sorted(numbers):
        report.broken("lost or doubled", f"{len(listed)} listed of {len(numbers)}")
    return report


def _mesh(folder: Path) -> MemoryMesh:
    return MemoryMesh(db_dir=folder, settings={"system_memory": True})


def _log(folder: Path, each: int) -> list[int]:
    with _mesh(folder) as mesh:
        return [
            mesh.traces.log_experience(Trace("Fix it", timestamp=AT)).number for _ in range(each)
        ]


def _log_and_roll(folder: Path, each: int) -> list[int]:
    numbers = []
    with _mesh(folder) as mesh:
        access, files = mesh.traces._system()
        for _ in range(each):
            numbers.append(mesh.traces.log_experience(Trace("Fix it", timestamp=AT)).number)
            flows.system_memory.roll(access, files, keep=KEEP)
    return numbers


def _fill(folder: Path, entries: int) -> None:
    with _mesh(folder) as mesh:
        access, files = mesh.traces._system()
        given = [
            Experience(
                number=0,
                project_name="no project",
                primary_goal="fix task",
                final_outcome=FinalOutcome.SUCCESS,
                timestamp=AT,
            )
        ] * entries
        flows.system_memory.append(access, files, given, keep=entries)


def _roll(folder: Path) -> int:
    with _mesh(folder) as mesh:
        access, files = mesh.traces._system()
        return flows.system_memory.roll(access, files, keep=KEEP)


def _counted(folder: Path) -> int:
    events = watch(lambda _number: None)
    _roll(folder)
    return len(events)


def _killed_at(folder: Path, point: int) -> None:
    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    _roll(folder)


def _listed(folder: Path) -> list[int]:
    with _mesh(folder) as mesh:
        access, files = mesh.traces._system()
        return [one.number for one in flows.system_memory.every(access, files)]


def _held(folder: Path) -> tuple[list[int], list[int]]:
    """The numbers that are listed, and those in the file of active entries."""
    with _mesh(folder) as mesh:
        text = (mesh.folder / "system" / "memory_log.md").read_text(encoding="utf-8")
    return _listed(folder), [one.number for one in memory_log.parse(text).entries]


def _state(folder: Path) -> tuple[dict[str, bytes], dict[str, str], list[str]]:
    """The files, the values of the ledger and what its check finds."""
    with _mesh(folder) as mesh:
        shared = mesh._of_same_store("system", None, None)
        findings = [str(finding) for finding in shared.care.verify().findings]
        with shared._read() as snapshot:
            states = snapshot.states("")
    files = (path for path in (folder / "system").iterdir() if path.name != ".lock")
    return {path.name: path.read_bytes() for path in files}, states, findings
