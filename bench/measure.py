"""Clocks and summaries: nothing here knows what is measured."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

Figures: TypeAlias = dict[str, float | int | None]


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Times:
    """What each call of one side took, by the clock and of the processor, all threads included."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def take(self, call: Callable[[], object]) -> None:
        """Time one more call."""
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)


def alternate(
    rounds: int, first: Callable[[int], object], second: Callable[[int], object]
) -> tuple[Times, Times]:
    """Time two calls side by side, taking turns at going first, so that noise meets both."""
    one, two = in_turns(rounds, first, second)
    return one, two


def in_turns(rounds: int, *calls: Callable[[int], object]) -> list[Times]:
    """Time several calls side by side; the order is reversed after each round."""
    all_times = [Times() for _ in calls]
    sides = list(zip(calls, all_times, strict=True))
    for number in range(rounds):
        for call, times in sides:
            times.take(partial(call, number))
        sides.reverse()
    return all_times


def milliseconds(times: Times, figures: "Figures | None" = None, each: int = 1) -> "Sides":
    """One side in milliseconds for each of so many: the other side is one millisecond."""
    one = [each / 1e3] * len(times.cpu)
    return Sides(times, Times(list(one), list(one)), figures or {})


def median_ms(times: Sequence[float]) -> float:
    """The median in milliseconds."""
    return rounded(statistics.median(times) * 1e3)


def percentile_ms(times: Sequence[float], share: float) -> float:
    """The time that this share of the calls stays under, in milliseconds."""
    return rounded(sorted(times)[math.ceil(share * len(times)) - 1] * 1e3)


def median_ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """The median of the pairwise ratios."""
    return rounded(statistics.median(a / b for a, b in zip(over, under, strict=True)))


def ratio_of_medians(over: Sequence[float], under: Sequence[float]) -> float:
    """How the medians compare."""
    return rounded(statistics.median(over) / statistics.median(under))


def rounded(value: float) -> float:
    """Three significant digits say all that a noisy machine can."""
    return float(f"{value:.3g}")


def say(line: str) -> None:
    """Progress, at once."""
    print(line, flush=True)


class Skipped(Exception):
    """A measurement cannot be made here; the message says why."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Two sides of a ratio, and what else was measured on the way."""

    over: Times
    under: Times
    figures: Figures = field(default_factory=dict)
    note: str = ""

    def summary(self) -> dict[str, float]:
        """Both ratios of medians, and the medians in milliseconds."""
        return {
            "cpu_ratio": ratio_of_medians(self.over.cpu, self.under.cpu),
            "wall_ratio": ratio_of_medians(self.over.wall, self.under.wall),
            "over_cpu_ms": median_ms(self.over.cpu),
            "under_cpu_ms": median_ms(self.under.cpu),
            "over_wall_ms": median_ms(self.over.wall),
            "under_wall_ms": median_ms(self.under.wall),
        }
