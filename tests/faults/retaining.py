"""Retention under random policies and clocks: what is protected is never touched."""

import random
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_mesh.learn import jobs
from memory_mesh.learn.rules.retention import JobRules, RetentionPolicy
from memory_mesh.model import Memory, Wanted
from memory_mesh.model.learning import LessonContext
from memory_mesh.model.trace import Trace
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.report import Progress, Report, Ticker, silent

START = datetime(2026, 1, 1, tzinfo=UTC)
OF_A_STORE = 50  # rounds until a store is made anew: by then most of it is in the archive
GOALS = ("Deploy the shop to staging", "Fix the login test", "Write the release notes")
ALONE = ("Translate menus", "Count elks", "Repaint bridge")  # each fits no other
PLAN = "Build, push and roll out. " * 40


def protected_untouched(
    folder: Path, *, rounds: int, seed: int, progress: Progress = silent
) -> Report:
    """Runs retention with a random policy at a random time, forward and back, again and again."""
    report = Report({"rounds": 0, "touched": 0, "archived": 0, "compressed": 0, "findings": 0})
    dice, ticker = random.Random(seed), Ticker(progress, rounds)
    for start in range(0, rounds, OF_A_STORE):
        here = folder / str(start)
        clock = FrozenClock(START)
        with MemoryMesh(db_dir=here, clock=clock, project="shop") as mesh:
            protected = _filled(mesh, dice)
            before = _versions(mesh, protected)
            for number in range(start, min(start + OF_A_STORE, rounds)):
                clock.set(START + timedelta(hours=dice.randint(-10_000, 100_000)))
                _run(mesh, clock.now(), _policy(dice), dice, report)
                now = _versions(mesh, protected)
                for one, other in zip(before, now, strict=True):
                    if one != other:
                        report.broken("touched", f"round {number}: {other.id} {other.status}")
                before = now
                report.count("rounds")
                ticker.tick(number + 1)
            for finding in mesh.care.verify().findings:
                report.broken("findings", f"store {start}: {finding}")
        shutil.rmtree(here)
    return report


def _filled(mesh: MemoryMesh, dice: random.Random) -> list[str]:
    """A store with traces, learnings, notes, a lesson and system memory; the protected ones."""
    traces = [Trace(dice.choice(GOALS), plan=PLAN) for _ in range(dice.randint(6, 20))]
    ids = [str(receipt.id) for receipt in mesh.traces.record_many(traces)]
    mesh.care.run_jobs(["consolidate-traces"])
    protected = dice.sample(ids, dice.randint(0, 4))
    learnings = [memory.id for memory in mesh.get_all(filter="label = 'learning'")]
    protected += [id_ for id_ in learnings if dice.random() < 0.3]
    for id_ in protected:
        mesh.pin(id_)
    protected += [str(mesh.traces.record(goal, plan=PLAN).id) for goal in ALONE]
    if dice.random() < 0.5:
        mesh.care.run_jobs(["consolidate-traces"])  # looked at, and left alone
    for tier in ("short_term", "long_term", "system"):
        protected.append(str(mesh.add(f"A note for {tier}", tier=tier).id))
    return [*protected, _lesson(mesh)]


def _lesson(mesh: MemoryMesh) -> str:
    return mesh.distill_lesson(
        LessonContext(
            situation="deploy",
            error_pattern="lock",
            oversight="none",
            fix="none",
            preventative_rule="Always take the lock",
            severity="high",
            applicable_scope="deploys",
        )
    ).memory_id


def _policy(dice: random.Random) -> RetentionPolicy:
    return RetentionPolicy(
        dice.choice((0, 1, 24, 10_000)), dice.choice((0, 1, 183)), dice.choice((0, 1, 365))
    )


def _run(
    mesh: MemoryMesh,
    now: datetime,
    policy: RetentionPolicy,
    dice: random.Random,
    report: Report,
) -> None:
    site = jobs.Site(
        access=mesh._access(),  # the policy of each round is another
        now=now,
        rules=JobRules(retention=policy),
        dry_run=dice.random() < 0.1,
    )
    names = ["consolidate-traces", "retention"] if dice.random() < 0.2 else ["retention"]
    done = jobs.run(site, names, shows=lambda _: True)[-1]
    if not site.dry_run:
        report.count("archived", done.count("archive"))
        report.count("compressed", done.count("compress"))


def _versions(mesh: MemoryMesh, ids: Sequence[str]) -> list[Memory]:
    """The memories as they are now: any change would be a new version."""
    access = mesh._access()
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.standing(Wanted(ids=tuple(ids))).memories
    return [found[id_] for id_ in ids]
