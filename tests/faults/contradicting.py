"""Contradictions from several processes at once: one value is left, and nothing else is lost."""

import shutil
import time
from pathlib import Path

from memory_mesh.model import Outcome, Status
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent

VALUES = 50
PROCESSES = 4
_START_SECONDS = 0.1  # until all are there
Told = tuple[str, str, tuple[str, ...]]  # the id, the text, and what it took the place of


def one_value_is_left(folder: Path, *, rounds: int, progress: Progress = silent) -> Report:
    """50 values of one thing from 4 processes: one active, the others in one chain before it."""
    report = Report({"rounds": 0, "writes": 0, "several active": 0, "forked": 0, "findings": 0})
    ticker = Ticker(progress, rounds)
    for number in range(rounds):
        here = folder / str(number)
        start = time.time() + _START_SECONDS
        children = [Child(_contradict, here, start, who) for who in range(PROCESSES)]
        told = [each for child in children for each in child.result()]
        report.count("rounds")
        report.count("writes", len(told))
        for name, detail in call(_looked_at, here, told):
            report.broken(name, f"round {number}: {detail}")
        shutil.rmtree(here)
        ticker.tick(number + 1)
    return report


def no_step_is_lost(folder: Path, *, writers: int = 8, steps: int = 40) -> Report:
    """Texts that differ in a number only are all kept, whoever writes them."""
    report = Report({"stored": 0, "lost": 0, "findings": 0})
    start = time.time() + _START_SECONDS
    children = [Child(_count_up, folder, start, who, steps) for who in range(writers)]
    said = {text for child in children for text in child.result()}
    kept, findings = call(_kept, folder)
    report.figures["stored"] = len(kept)
    for text in sorted(said - kept):
        report.broken("lost", text)
    for finding in findings:
        report.broken("findings", finding)
    return report


def _contradict(here: Path, start: float, who: int) -> list[Told]:
    told: list[Told] = []
    with MemoryMesh(db_dir=here) as mesh:
        mesh.stats()
        time.sleep(max(0.0, start - time.time()))
        for value in range(who, VALUES, PROCESSES):
            claim = {"subject": "service", "predicate": "port", "value": str(value)}
            receipt = mesh.add(f"The port of the service is {value}", claim=claim)
            assert receipt.id is not None
            assert receipt.outcome is Outcome.STORED, receipt
            told.append((receipt.id, receipt.content, receipt.superseded))
    return told


def _looked_at(here: Path, told: list[Told]) -> list[tuple[str, str]]:
    """Every broken promise by name."""
    found: list[tuple[str, str]] = []
    with MemoryMesh(db_dir=here) as mesh:
        every = mesh.get_all(limit=1_000, include=list(Status))
        active = [memory for memory in every if memory.status is Status.ACTIVE]
        if len(every) != VALUES or {memory.id for memory in every} != {id_ for id_, _, _ in told}:
            found.append(("lost", f"{len(every)} of {len(told)} are there"))
        if len(active) != 1:
            found.append(("several active", f"{[memory.text for memory in active]}"))
        successors = [memory.successor for memory in every if memory.successor is not None]
        forked = len(set(successors)) != len(successors) or len(successors) != len(every) - 1
        taken = [old for _, _, gone in told for old in gone]
        if forked or len(set(taken)) != len(taken):
            found.append(
                ("forked", f"{len(successors)} successors, {len(set(successors))} of them")
            )
        line = mesh.review.chain(active[0].id) if active else []
        if len(line) != VALUES or [memory.successor for memory in line[:-1]] != [
            memory.id for memory in line[1:]
        ]:
            found.append(("forked", f"the line of supersessions has {len(line)} memories"))
        if mesh.review.conflicts(limit=1_000, pending=True):
            found.append(("pending", "a rule decides these; nobody has to"))
        found += [("findings", str(finding)) for finding in mesh.care.verify().findings]
    return found


def _count_up(folder: Path, start: float, who: int, steps: int) -> list[str]:
    said = []
    with MemoryMesh(db_dir=folder) as mesh:
        mesh.stats()
        time.sleep(max(0.0, start - time.time()))
        for number in range(steps):
            text = f"step {number * 8 + who} done"
            assert mesh.add(text).outcome is Outcome.STORED
            said.append(text)
    return said


def _kept(folder: Path) -> tuple[set[str], list[str]]:
    with MemoryMesh(db_dir=folder) as mesh:
        kept = {memory.text for memory in mesh.get_all(limit=1_000)}
        return kept, [str(finding) for finding in mesh.care.verify().findings]
