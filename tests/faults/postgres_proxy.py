"""A network that swallows, delays and cuts: acknowledged writes are there, no call hangs."""

import random
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice, product
from pathlib import Path

from memory_mesh.model.errors import MayBeStored, StoreIsAway, StoreIsBusy
from memory_mesh.model.ports import Ledger
from tests.faults import postgres_world as world
from tests.faults.fault_proxy import Direction, Fault, FaultProxy, Kind
from tests.faults.processes import LIMIT_SECONDS, Child
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import covering, dealt

NAMESPACE = "proxied"
_ANSWER, _LOCK = 0.4, 0.6  # seconds that the ledger waits here
_BYTES = 6_000  # that a write sends and hears, more or less
_WRITES = 4  # until the fault has struck
_TRIES = 100  # to write again; the server ends in a moment what waits for nobody
_COMMIT, _AT_COMMIT = b"COMMIT\0", "at COMMIT"
_MOST: tuple[Kind, ...] = ("swallow", "cut", "delay")
_WAYS: tuple[Direction, ...] = ("to server", "to client")
_FAULTS = tuple(product(_MOST, _WAYS, (_AT_COMMIT, "anywhere")))
KINDS = (*_FAULTS, None)  # None: everything is swallowed
_WEIGHTS = [*(2 if kind == "cut" else 1 for kind, _, _ in _FAULTS), 1]


@dataclass(frozen=True)
class Place:
    """Where the server is, how its users and its owner reach a database, and room for a proxy."""

    server: Path
    url: str
    owner: str
    folder: Path


@dataclass
class _Told(world.Told):
    """What the writer was told, and how long it took at most."""

    slowest: float = 0.0


def struck(
    place: Place,
    *,
    rounds: int,
    seed: int,
    longest: float | None = None,
    progress: Progress = silent,
) -> Report:
    """So many faults, one after another, on the connections of one ledger.

    No call takes more than `longest` seconds, if that is given. Without it, one that has ended did
    not hang: a fault lasts until the call is over.
    """
    report, slowest = Child(_strike, place, rounds, seed, progress).result(
        LIMIT_SECONDS + 10 * rounds
    )
    report.figures["slowest call s"] = round(slowest, 1)
    if longest is not None and slowest > longest:
        report.broken("hung", f"a call took {slowest:.1f} s")
    return report


def _strike(place: Place, rounds: int, seed: int, progress: Progress) -> tuple[Report, float]:
    report = Report(dict.fromkeys(("faults", "acknowledged", "lost", "torn", "forks", "gaps"), 0))
    report.figures |= {"refused but stored": 0, "hung": 0, "findings": 0}
    dice, told, ticker = random.Random(seed), _Told(), Ticker(progress, rounds)
    proxy = FaultProxy(place.server, place.folder)
    options = {"lock_wait": _LOCK, "answer_wait": _ANSWER}
    with closing(proxy), closing(world.open_ledger(proxy.url(place.url), **options)) as ledger:
        _try(ledger, _batch(told, dice), told, report)
        kinds = chain(covering(_FAULTS, dice), dealt(KINDS, dice, _WEIGHTS))
        for round_, kind in enumerate(islice(kinds, rounds)):
            _round(ledger, proxy, _Drawn(kind, dice), told, report)
            ticker.tick(round_ + 1, f"faults, {len(told.done)} acknowledged")
    with closing(world.open_ledger(place.url)) as direct:
        with direct.read(NAMESPACE) as snapshot:
            counts = world.present(snapshot, list(told.begun.values()))
        flaws = world.flaws_of_presence(told, told, counts) + world.findings(direct, NAMESPACE)
    for name, detail in flaws + world.flaws_of_chain(place.owner, NAMESPACE):
        report.broken(name, detail)
    unknown = told.begun.keys() - told.done - told.refused
    report.figures["acknowledged"] = len(told.done)
    report.figures["may be stored, and were"] = sum(counts[name] > 0 for name in unknown)
    report.figures["may be stored, and were not"] = sum(not counts[name] for name in unknown)
    return report, told.slowest


def _round(ledger: Ledger, proxy: FaultProxy, drawn: "_Drawn", told: _Told, report: Report) -> None:
    """Writes until a fault has struck; then everything goes through again, and so do writes."""
    fault, dice = proxy.arm(drawn.fault()), drawn.dice
    proxy.everything = drawn.kind is None
    for _ in range(_WRITES):
        _try(ledger, _batch(told, dice), told, report)
        if fault.struck.is_set() or proxy.everything:
            report.count("faults")
            report.count("everything swallowed" if proxy.everything else _named(fault))
            break
    proxy.disarm()
    for _ in range(_TRIES):
        if _try(ledger, _batch(told, dice), told, report):
            return
        time.sleep(0.05)
    report.broken("hung", "no write went through after the fault was over")


@dataclass(frozen=True)
class _Drawn:
    """A kind of fault, None where everything is swallowed, and the dice for the rest."""

    kind: tuple[Kind, Direction, str] | None
    dice: random.Random

    def fault(self) -> Fault:
        """At COMMIT or its answer, or after any number of bytes."""
        kind, direction, where = self.kind or self.dice.choice(_FAULTS)
        seconds = self.dice.choice((0.05, 2 * _ANSWER))
        if where == _AT_COMMIT:
            return Fault(kind, direction, 0, _COMMIT, self.dice.random() < 0.5, seconds)
        return Fault(kind, direction, self.dice.randrange(_BYTES), seconds=seconds)


def _named(fault: Fault) -> str:
    where = _AT_COMMIT if fault.marker else "anywhere"
    return f"{fault.kind} {fault.direction} {where}"


def _batch(told: _Told, dice: random.Random) -> world.Batch:
    batch = world.Batch(f"p{len(told.begun)}", dice.choice((1, 2, 5)), NAMESPACE)
    told.begun[batch.name] = batch
    return batch


def _try(ledger: Ledger, batch: world.Batch, told: _Told, report: Report) -> bool:
    """Writes once; whether it was acknowledged."""
    begun = time.monotonic()
    try:
        world.write(ledger, batch)
        told.done.add(batch.name)
    except MayBeStored:
        report.count("told that it may be stored")
    except (StoreIsAway, StoreIsBusy) as error:
        told.refused.add(batch.name)
        report.count(f"told {type(error).__name__}")
    told.slowest = max(told.slowest, time.monotonic() - begun)
    return batch.name in told.done
