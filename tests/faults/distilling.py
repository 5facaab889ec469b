"""Distillation under kills and in several processes: each pattern once, and always the same end."""

import os
import random
import shutil
import signal
from pathlib import Path

from memory_mesh.sync import MemoryMesh
from tests.faults.crashpoints import State, state, watch
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent
from tests.faults.sample import points

PATTERNS = ("lock", "quota", "format")


def killed_at_every_step(
    folder: Path, *, seed: int, share: float = 1.0, progress: Progress = silent
) -> Report:
    """A kill at each event of a cycle; run again, it ends where an undisturbed one ends."""
    report = Report({"points": 0, "different": 0, "findings": 0})
    template, whole = folder / "template", folder / "whole"
    call(_prepare, template)
    shutil.copytree(template, whole)
    total = call(_counted, whole)
    wanted = call(state, whole)
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
    progress(f"{report.figures['points']} points of {total}")
    return report


def several_at_once(folder: Path, *, rounds: int, processes: int = 4) -> Report:
    """Processes that run the cycle at the same time; each pattern must be learned once."""
    report = Report({"rounds": 0, "doubled": 0, "missing": 0, "findings": 0})
    for number in range(rounds):
        here = folder / str(number)
        call(_prepare, here)
        children = [Child(_cycle, here) for _ in range(processes)]
        learned = [id_ for child in children for id_ in child.result()]
        kept, findings = call(_lessons, here)
        report.count("rounds")
        if len(learned) > len(PATTERNS) or len(kept) > len(PATTERNS):
            report.broken("doubled", f"round {number}: {len(kept)} lessons, {len(learned)} learned")
        if len(kept) < len(PATTERNS) or set(kept) != set(learned):
            report.broken("missing", f"round {number}: {len(kept)} lessons, {len(learned)} learned")
        for finding in findings:
            report.broken("findings", f"round {number}: {finding}")
        shutil.rmtree(here)
    return report


def _prepare(here: Path) -> None:
    with MemoryMesh(db_dir=here) as mesh:
        for name in PATTERNS:
            said = {"status": "error", "error_pattern": name, "rule": f"Always check the {name}"}
            mesh.add(f"the {name} was wrong", said)
            mesh.add(f"the {name} was wrong once more", said)


def _cycle(here: Path) -> list[str]:
    with MemoryMesh(db_dir=here) as mesh:
        return [block.lesson_id for block in mesh.lessons.distill().learned]


def _counted(here: Path) -> int:
    events = watch(lambda _number: None)
    _cycle(here)
    return len(events)


def _killed_at(here: Path, point: int) -> None:
    def die(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(die)
    _cycle(here)


def _run_again(here: Path) -> tuple[State, list[str]]:
    _cycle(here)
    with MemoryMesh(db_dir=here) as mesh:
        findings = [str(finding) for finding in mesh.care.verify().findings]
    return state(here), findings


def _lessons(here: Path) -> tuple[list[str], list[str]]:
    with MemoryMesh(db_dir=here) as mesh:
        kept = [block.lesson_id for block in mesh.query_lessons("", limit=100)]
        return kept, [str(finding) for finding in mesh.care.verify().findings]
