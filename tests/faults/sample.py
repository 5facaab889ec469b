"""How much of a fault suite the gate runs, and under which seed.

`just prove` runs every count in full. The gate runs two per cent of it, but every kind of case at
least once; tests whose whole the night runs do alike. The seed is made from the tree of src: one
tree gets one answer, the next one gets other cases; `FAULT_SEED` repeats a seed that a run has
printed.
"""

import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

SHARE = 0.02
VARIABLE = "FAULT_SEED"
ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")
C = TypeVar("C", bound=tuple[object, ...])


def some(full: int, least: int = 1) -> int:
    """The part of a full count that the gate runs; `least` is what every kind of case needs."""
    return min(full, max(least, round(full * SHARE)))


def is_whole() -> bool:
    """Whether the night runs, which takes no sample where it can afford all."""
    return os.environ.get("HYPOTHESIS_PROFILE") == "night"


def gated(cases: Sequence[C]) -> list[C]:
    """All cases at night; in the gate each value of each of their parts at least once."""
    return list(cases) if is_whole() else covering(cases, random.Random(SEED))


def spread(most: int, stride: int) -> range:
    """Every number from 1 below `most` at night; in the gate one of as many as `stride`."""
    step = 1 if is_whole() else stride
    return range(1 + SEED % step, most, step)


def points(total: int, share: float, dice: random.Random) -> list[int]:
    """A share of the places 1 to `total`, at least one: one of each of as many equal parts."""
    count = min(total, max(1, int(total * share)))
    edges = [total * part // count for part in range(count + 1)] if count else [0]
    return [dice.randint(low + 1, high) for low, high in pairwise(edges)]


def dealt(kinds: Sequence[T], dice: random.Random, weights: Sequence[float] = ()) -> Iterator[T]:
    """Every kind once in a random order, then any, for ever."""
    yield from dice.sample(kinds, len(kinds))
    while True:
        yield from dice.choices(kinds, weights or None)


def covering(cases: Sequence[C], dice: random.Random) -> list[C]:
    """Some of the cases in a random order: each value of each of their parts at least once."""
    found, seen = list[C](), set[tuple[int, object]]()
    for case in dice.sample(cases, len(cases)):
        if new := {*enumerate(case)} - seen:
            found.append(case)
            seen |= new
    return found


def _seed() -> int:
    stated = os.environ.get(VARIABLE)
    if stated is None:
        command = ["git", "rev-parse", "HEAD:src"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        stated = str(int(done.stdout[:8], 16)) if done.returncode == 0 else "2026"
        os.environ[VARIABLE] = stated  # the processes of this run draw alike
    return int(stated)


SEED = _seed()
