"""SIGKILL while an index absorbs, forgets and is rebuilt: afterwards it equals its ledger.

The ledger is a file that says how many rows there are, which are dead and which body counts. A
worker in a process of its own changes it and the index for ever, until it is killed at a random
moment. At once the body that the ledger names must answer; after one more absorb, by another
process, the index must hold every live number once and nothing else.
"""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from memory_mesh.model import Body
from memory_mesh.models.lance.index import LanceIndex
from tests.faults.report import Progress, Report, Ticker, silent

ROOT = Path(__file__).resolve().parents[2]
_DIMENSION = 32
_NAME = ("a namespace", "a space")
_MOST = 6_000  # rows: then the ledger starts small again
_LONGEST_SECONDS = 0.8  # a round of the worker takes about as long


@dataclass
class Ledger:
    """What a real ledger knows of an index, in one file that is replaced as a whole."""

    path: Path
    rows: int = 0
    dead: set[int] = field(default_factory=set)
    body: Body | None = None
    doing: str = ""

    @classmethod
    def read(cls, path: Path) -> "Ledger":
        """As it was written last."""
        if not path.exists():
            return cls(path)
        kept = json.loads(path.read_text())
        body = Body(*kept["body"]) if kept["body"] else None
        return cls(path, kept["rows"], set(kept["dead"]), body, kept["doing"])

    def write(self, doing: str) -> None:
        """All or nothing."""
        self.doing = doing
        body = [self.body.version, self.body.highest, self.body.rows] if self.body else None
        new = self.path.with_suffix(".new")
        kept = {"rows": self.rows, "dead": sorted(self.dead), "body": body, "doing": doing}
        new.write_text(json.dumps(kept))
        new.replace(self.path)

    @property
    def live(self) -> set[int]:
        """The numbers the index is to hold."""
        return set(range(1, self.rows + 1)) - self.dead

    def above(self, number: int) -> Iterator[Sequence[tuple[int, bytes, int]]]:
        """Live rows above a number."""
        yield [
            (n, vector(n), n % 7) for n in range(number + 1, self.rows + 1) if n not in self.dead
        ]


def vector(number: int) -> bytes:
    """Always the same for a number."""
    made = np.random.default_rng(number).normal(size=_DIMENSION)
    return (made / np.linalg.norm(made)).astype("<f4").tobytes()


def killed_absorbs(folder: Path, *, seed: int, rounds: int, progress: Progress = silent) -> Report:
    """So many kills, each followed by a look at what is left and a recovery."""
    report = Report({"kills": 0, "missing": 0, "doubled": 0, "ghosts": 0, "unreadable": 0})
    dice, ticker, hit = random.Random(seed), Ticker(progress, rounds), Counter[str]()
    for round_ in range(rounds):
        _kill_a_worker(folder, dice)
        report.count("kills")
        ledger = Ledger.read(folder / "ledger.json")
        hit[ledger.doing] += 1
        _recover(LanceIndex(folder / "index"), ledger, report, f"round {round_}, {ledger.doing}")
        ticker.tick(round_ + 1, f"kills, {report.figures['missing']} missing")
    report.figures["killed while"] = dict(sorted(hit.items()))
    return report


def _kill_a_worker(folder: Path, dice: random.Random) -> None:
    command = [sys.executable, "-m", "tests.faults.index", str(folder), str(dice.random())]
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        time.sleep(dice.uniform(0, _LONGEST_SECONDS))
        assert worker.poll() is None, "the worker ended by itself"
    finally:
        worker.kill()
        worker.communicate()


def _recover(index: LanceIndex, ledger: Ledger, report: Report, where: str) -> None:
    """What upkeep does next, checked before and after."""
    if ledger.body is not None:
        found = index.near(*_NAME, body=ledger.body, vector=vector(1), limit=10)
        if found is None or not index.holds(*_NAME, ledger.body):
            report.broken("unreadable", f"{where}: the named body {ledger.body} does not answer")
    _absorb(index, ledger)
    _forget(index, ledger)
    held = Counter(index.numbers(*_NAME, ledger.body)) if ledger.body else Counter[int]()
    report.count("rows compared", len(ledger.live))
    for name, wrong in (
        ("missing", ledger.live - held.keys()),
        ("ghosts", held.keys() - ledger.live),
        ("doubled", {number for number, times in held.items() if times > 1}),
    ):
        if wrong:
            report.broken(name, f"{where}: {len(wrong)} numbers, {min(wrong)} to {max(wrong)}")


def _work_for_ever(folder: Path, dice: random.Random) -> None:
    """Grow, forget and rebuild, telling the ledger before and after each."""
    ledger = Ledger.read(folder / "ledger.json")
    index = LanceIndex(folder / "index")
    _ = index.holds(*_NAME, ledger.body or Body(1, 1, 1))  # Lance is loaded before the clock runs
    print("ready", flush=True)
    while True:
        if ledger.rows > _MOST:
            ledger.rows, ledger.body = 0, None
            ledger.dead.clear()
            ledger.write("drop")
            index.drop(*_NAME)
        match dice.choices(("absorb", "forget", "rebuild"), (5, 2, 3))[0]:
            case "absorb":
                ledger.rows += dice.randint(200, 2_000)
                ledger.write("absorb")
                _absorb(index, ledger)
            case "forget" if ledger.live:
                share = dice.choice((0.01, 0.3))
                live = sorted(ledger.live)
                ledger.dead |= set(dice.sample(live, int(share * len(live))))
                ledger.write("forget")
                _forget(index, ledger)
            case _:
                ledger.write("rebuild")
                ledger.body = index.absorb(
                    *_NAME, dimension=_DIMENSION, base=None, rows=ledger.above
                )
                ledger.write("idle")


def _absorb(index: LanceIndex, ledger: Ledger) -> None:
    ledger.body = index.absorb(*_NAME, dimension=_DIMENSION, base=ledger.body, rows=ledger.above)
    ledger.write("idle")


def _forget(index: LanceIndex, ledger: Ledger) -> None:
    if ledger.body is not None:
        ledger.body = index.forget(*_NAME, base=ledger.body, numbers=ledger.dead)
        ledger.write("idle")


if __name__ == "__main__":
    _work_for_ever(Path(sys.argv[1]), random.Random(sys.argv[2]))
