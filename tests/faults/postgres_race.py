"""Processes of many threads write to the same namespaces at once: nothing lost, nothing twice."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime

from memory_mesh.model import Lens
from memory_mesh.model.ports import Ledger
from tests.faults import postgres_world as world
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent

NAMESPACES = ("shared", "other-1", "other-2")
_SIZES = (1, 1, 2, 5)
_LIMIT = 600.0  # seconds of one process
_LOCK_WAIT = 120.0  # seconds: here nobody gives up


@dataclass
class Heard:
    """What one thread was told, and what it saw as of a moment."""

    done: list[world.Batch] = field(default_factory=list)
    stored: Counter[str] = field(default_factory=Counter)  # by key: how often it was this thread
    seen: list[tuple[str, datetime, frozenset[str]]] = field(default_factory=list)
    unrepeatable: int = 0


def race(
    url: str, owner: str, *, processes: int, threads: int, writes: int, seed: int,
    progress: Progress = silent,
) -> Report:  # fmt: skip
    """All at once; then one look at what is there."""
    report = Report({"processes": processes, "threads": processes * threads, "lost": 0})
    report.figures |= {"twice": 0, "forks": 0, "gaps": 0, "findings": 0, "as of changed": 0}
    children = [Child(_process, url, who, threads, writes, seed) for who in range(processes)]
    heard = [one for child in children for one in child.result(_LIMIT)]
    progress(f"{processes * threads} threads have written {writes} batches each")
    stored = sum((one.stored for one in heard), Counter[str]())
    for key, times in stored.items():
        if times != 1:
            report.broken("twice", f"{key} was stored {times} times")
    report.figures["acknowledged"] = sum(len(one.done) for one in heard)
    report.figures["keys"] = len({each.name for one in heard for each in one.done})
    report.figures["looks as of a moment"] = sum(len(one.seen) for one in heard)
    for name, detail in call(_flaws, url, owner, heard):
        report.broken(name, detail)
    return report


def _process(url: str, who: int, threads: int, writes: int, seed: int) -> list[Heard]:
    with (
        closing(world.open_ledger(url, lock_wait=_LOCK_WAIT)) as ledger,
        ThreadPoolExecutor(threads) as pool,
    ):
        work = [pool.submit(_work, ledger, who, one, writes, seed) for one in range(threads)]
        return [each.result() for each in work]


def _work(ledger: Ledger, who: int, thread: int, writes: int, seed: int) -> Heard:
    """Own batches, batches that everybody writes under the same key, and looks at the past."""
    dice, heard = random.Random(f"{seed} {who} {thread}"), Heard()
    for number in range(writes):
        if number % 3 == 2:
            batch = world.Batch(f"key-{number}", 2, NAMESPACES[number % len(NAMESPACES)])
        else:
            name = f"{who}-{thread}-{number}"
            batch = world.Batch(name, dice.choice(_SIZES), dice.choice(NAMESPACES))
        heard.stored[batch.name] += world.write(ledger, batch)
        heard.done.append(batch)
        if number % 4 == 3:
            _look_back(ledger, dice.choice(heard.done), heard)
    return heard


def _look_back(ledger: Ledger, batch: world.Batch, heard: Heard) -> None:
    """What this thread stored, as of the moment when the batch was, in two transactions."""
    with ledger.read(batch.namespace) as snapshot:
        at = snapshot.get(batch.ids[:1], Lens(world.FAR))[0].recorded_from
    first, again = (_as_of(ledger, batch.namespace, at, heard.done) for _ in range(2))
    heard.unrepeatable += first != again
    heard.seen.append((batch.namespace, at, first))


def _as_of(
    ledger: Ledger, namespace: str, at: datetime, batches: list[world.Batch]
) -> frozenset[str]:
    ids = [id_ for batch in batches if batch.namespace == namespace for id_ in batch.ids]
    with ledger.read(namespace) as snapshot:
        return frozenset(memory.id for memory in snapshot.get(ids, Lens(world.FAR, as_of=at)))


def _flaws(url: str, owner: str, heard: list[Heard]) -> list[tuple[str, str]]:
    told = world.Told()
    for one in heard:
        told.begun |= {batch.name: batch for batch in one.done}
    told.done = set(told.begun)
    flaws = [
        ("as of changed", "between two reads") for one in heard for _ in range(one.unrepeatable)
    ]
    with closing(world.open_ledger(url)) as ledger:
        for namespace in NAMESPACES:
            batches = [each for each in told.begun.values() if each.namespace == namespace]
            with ledger.read(namespace) as snapshot:
                counts = world.present(snapshot, batches)
            flaws += world.flaws_of_presence(told, told, counts)
            flaws += world.findings(ledger, namespace) + world.flaws_of_chain(owner, namespace)
        for one in heard:
            for namespace, at, seen in one.seen:
                later = _as_of(ledger, namespace, at, one.done)
                if not seen <= later or not seen:
                    flaws.append(("as of changed", f"{namespace} at {at}: {seen - later} is gone"))
    return flaws
