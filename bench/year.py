"""A year of an agent's life in minutes: what upkeep keeps findable, and how the store grows.

    python -m bench.year                      a year, 20 memories a day; results/benchmarks/year.*
    python -m bench.year --days 30 --out DIR  a rehearsal

Every day an agent stores what passes with the day, says again what it knows in other words, and
learns the new value of something; every third day somebody plants a fact that no other memory
names. Upkeep runs at the end of each day. At the end of each month every planted fact is asked for.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from bench.measure import say
from memory_mesh.model import Status
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock

OUT = Path(__file__).resolve().parent.parent / "results" / "benchmarks"
MONTH = 30
PER_DAY = 20
PARTS = [
    "parser",
    "importer",
    "billing",
    "search",
    "login",
    "mailer",
    "export",
    "cache",
    "scheduler",
    "gateway",
]
PEOPLE = ["Ines", "Bram", "Odile", "Tarik", "Wanda", "Yusuf", "Greta", "Milo", "Pia", "Ruben"]
THINGS = ["badge", "locker", "bike", "parking", "desk", "phone", "visa", "laptop", "key", "mug"]


@dataclass(frozen=True, slots=True)
class Month:
    """The store at the end of a month."""

    day: int
    written: int
    active: int
    archived: int
    planted: int
    found: float  # share of the planted facts among the first five
    kept: float  # share that is active
    bytes: int
    search_ms: float  # of the processor, the median of the questions
    upkeep_seconds: float  # of the processor, in this month


def simulate(
    folder: Path, days: int, per_day: int = PER_DAY, seed: int = 2026, embedder: str = "static"
) -> Iterator[Month]:
    """Live some days and tell of each month; the same seed gives the same days."""
    dice, clock = random.Random(seed), FrozenClock()
    planted: list[tuple[str, str]] = []  # question and id
    written = 0
    upkeep = 0.0
    with MemoryMesh(db_dir=folder, clock=clock, embedder=embedder) as mesh:
        for day in range(1, days + 1):
            for text, source in _day(dice, day, per_day):
                mesh.add(text, {"source": source})
                written += 1
                clock.advance(timedelta(minutes=10))
            if day % 3 == 0:
                question, text = _fact(dice, len(planted))
                source = dice.choice(("user_explicit", "inference"))
                planted.append((question, str(mesh.add(text, {"source": source}).id)))
                written += 1
            begun = time.process_time()
            mesh.care.upkeep()
            upkeep += time.process_time() - begun
            clock.advance(timedelta(days=1) - timedelta(minutes=10) * per_day)
            if day % MONTH == 0 or day == days:
                yield _month(mesh, day, written, planted, upkeep)
                upkeep = 0.0


def _day(dice: random.Random, day: int, count: int) -> Iterator[tuple[str, str]]:
    for _ in range(count):
        part, other = dice.sample(PARTS, 2)
        kind = dice.random()
        if kind < 0.6:
            ran, failed = dice.randrange(40, 400), dice.randrange(5)
            yield (
                f"Ran {ran} tests of the {part} after changing the {other}, {failed} failed",
                "inference",
            )
        elif kind < 0.85:
            yield dice.choice((
                f"The {part} calls the {other} through its queue",
                f"The {part} uses its queue when it calls the {other}",
                f"Calls of the {part} to the {other} go through its queue",
            )), "inference"  # fmt: skip
        else:
            yield (
                f"The timeout of the {part} is {day + dice.randrange(9)} seconds now",
                "user_explicit",
            )


def _fact(dice: random.Random, number: int) -> tuple[str, str]:
    person, thing = PEOPLE[number % len(PEOPLE)], THINGS[number // len(PEOPLE) % len(THINGS)]
    where = f"{dice.choice('ABCDEF')}{dice.randrange(100, 999)}"
    more = f" of round {number // 100 + 1}" if number >= 100 else ""
    return f"Where is {person}'s {thing}{more}?", f"{person}'s {thing}{more} is in room {where}."


def _month(
    mesh: MemoryMesh, day: int, written: int, planted: list[tuple[str, str]], upkeep: float
) -> Month:
    found, times = 0, []
    for question, id_ in planted:
        begun = time.process_time()
        hits = mesh.search(question, limit=5)
        times.append(time.process_time() - begun)
        found += any(hit.id == id_ for hit in hits)
    stats = mesh.stats()
    now = [mesh.get(id_) for _, id_ in planted]
    kept = sum(each is not None and each.status is Status.ACTIVE for each in now)
    return Month(
        day=day, written=written, active=stats.by_status.get("active", 0),
        archived=stats.by_status.get("archived", 0), planted=len(planted),
        found=round(found / len(planted), 3), kept=round(kept / len(planted), 3), bytes=stats.bytes,
        search_ms=round(sorted(times)[len(times) // 2] * 1000, 2), upkeep_seconds=round(upkeep, 2),
    )  # fmt: skip


def main() -> int:
    """Live the year and write what became of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        months = []
        for month in simulate(Path(folder), options.days):
            months.append(asdict(month))
            say(json.dumps(months[-1]))
    (options.out / "year.json").write_text(json.dumps(months, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
