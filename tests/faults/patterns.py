"""Every regular expression of the source on strings that were made to keep it busy.

A pattern is linear if ten times as many characters take it at most fifteen times as long. Only the
processor's time of the process counts, the least of several runs, and nothing below a floor that no
quadratic pattern stays under. Each pattern has a process of its own: one that hangs is killed.
"""

import random
import re
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.faults.pattern_attacks import Attack, attacks
from tests.faults.pattern_sources import Expression, collected
from tests.faults.processes import Child, ChildFailed
from tests.faults.report import Progress, Report, Ticker, silent

FEW, MANY = 10_000, 100_000
MOST_GROWTH = 15.0
MOST_ON_A_BUSY_MACHINE = 50.0  # a quadratic pattern grows 100 x
FLOOR_SECONDS = 0.005  # a quadratic pattern needs seconds for 100,000 characters
_RUNS = 5
_TRIES = 8  # a busy machine is asked again
_LIMIT_SECONDS = 120  # of the processor, for all attacks on one pattern
_WAIT_FACTOR = 40.0  # a busy machine may take its time


@dataclass(frozen=True)
class Sizes:
    """How long a text is, ten times which another one is, and which times count."""

    few: int = FEW
    floor: float = FLOOR_SECONDS
    slow: float = 0.3  # seconds of few characters: it is asked first how it grew up to there


SMALL = Sizes(1_000, 0.0005, 0.02)


@dataclass(frozen=True)
class Growth:
    """How much longer the worst attack took with ten times as many characters."""

    method: str
    attack: Attack
    ratio: float
    seconds: float


def linear(
    *,
    seed: int,
    share: float = 1.0,
    most: float = MOST_GROWTH,
    small: bool = False,
    progress: Progress = silent,
) -> Report:
    """Attack a share of all patterns; every one whose time grows faster than its text is broken."""
    every = collected()
    chosen = random.Random(seed).sample(every, max(1, round(share * len(every))))
    sizes = SMALL if small else Sizes()
    report = attacked(chosen, seed=seed, most=most, sizes=sizes, progress=progress)
    report.figures["patterns in the source"] = len(every)
    return report


def attacked(
    chosen: Sequence[Expression],
    *,
    seed: int,
    limit_seconds: int = _LIMIT_SECONDS,
    most: float = MOST_GROWTH,
    sizes: Sizes | None = None,
    progress: Progress = silent,
) -> Report:
    """Attack these patterns, each in a process that may use so many seconds of the processor."""
    report, worst, slowest = Report(), 0.0, 0.0
    ticker = Ticker(progress, len(chosen))
    for number, each in enumerate(chosen, start=1):
        report.count("patterns")
        report.count("attacks", len(attacks(each.pattern, seed)) * len(each.methods))
        try:
            child = Child(growth, each, seed, limit_seconds, sizes or Sizes())
            found = child.result(_WAIT_FACTOR * limit_seconds)
        except ChildFailed as error:
            report.broken("no end", f"{each.where}: {each.pattern.pattern!r}: {error}")
            continue
        worst, slowest = max(worst, found.ratio), max(slowest, found.seconds)
        if found.ratio > most:
            report.broken("not linear", f"{_said(each, found)}")
        ticker.tick(number, f"worst growth {worst:.1f}")
    report.figures |= {"largest growth": round(worst, 1), "slowest seconds": round(slowest, 2)}
    return report


def growth(expression: Expression, seed: int, limit_seconds: int, sizes: Sizes) -> Growth:
    """Returns the worst growth of one pattern over its methods and attacks."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit_seconds, limit_seconds))
    worst = Growth("", Attack("", " ", ""), 0.0, 0.0)
    for method in sorted(expression.methods):
        for attack in attacks(expression.pattern, seed):
            use = _use(expression.pattern, method)
            ratio, seconds = _grown(use, attack, expression.pattern, sizes)
            if ratio > worst.ratio:
                worst = Growth(method, attack, ratio, max(seconds, worst.seconds))
            if ratio > MOST_GROWTH:
                return worst
    return worst


def _grown(
    use: Callable[[str | bytes], object],
    attack: Attack,
    pattern: "re.Pattern[str] | re.Pattern[bytes]",
    sizes: Sizes,
) -> tuple[float, float]:
    few, many = (_text(attack, size, pattern) for size in (sizes.few, 10 * sizes.few))
    before = seconds(use, few, runs=1)
    if before > sizes.slow and (before := seconds(use, few)) > sizes.slow:  # not by chance
        fewer = max(seconds(use, _text(attack, sizes.few // 10, pattern)), sizes.floor / 10)
        if before > MOST_GROWTH * fewer:
            return before / fewer, before
    after = seconds(use, many, runs=1)
    for _ in range(_TRIES):
        if after <= MOST_GROWTH * max(before, sizes.floor):
            break
        before, after = seconds(use, few), seconds(use, many)
    return after / max(before, sizes.floor), after


def seconds(use: Callable[[str | bytes], object], text: str | bytes, *, runs: int = _RUNS) -> float:
    """The processor's time for a text, the least of several runs."""
    least = float("inf")
    for _ in range(runs):
        start = time.process_time()
        use(text)
        least = min(least, time.process_time() - start)
    return least


def _text(attack: Attack, size: int, pattern: "re.Pattern[str] | re.Pattern[bytes]") -> str | bytes:
    made = attack.text(size)
    return made if isinstance(pattern.pattern, str) else made.encode("latin-1", "replace")


def _use(
    pattern: "re.Pattern[str] | re.Pattern[bytes]", method: str
) -> Callable[[str | bytes], object]:
    called = getattr(pattern, method)
    if method == "finditer":
        return lambda text: sum(1 for _ in called(text))
    return called  # type: ignore[no-any-return]


def _said(expression: Expression, found: Growth) -> str:
    attack = found.attack
    return (
        f"{expression.where}: {expression.pattern.pattern!r}.{found.method} on "
        f"{attack.before[-40:]!r} + {attack.pump[:40]!r} * n + {attack.after!r}: "
        f"{found.ratio:.0f} x, {found.seconds:.2f} s"
    )
