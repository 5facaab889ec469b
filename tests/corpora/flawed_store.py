"""A store of 1,000 memories with 200 planted flaws, each with its label.

It was written before `memory-mesh inspect`. Each half has 500 memories and 100 flaws: `dev` may be
read and tuned on, `held_out` is only reported. SEED decides which parts go to which half.

A flaw is a kind and the ids that make it up. A finding is right if it has the kind of a flaw and
all of its ids. `harmless` are memories that look like a flaw and are none: pairs that differ in a
number, a name or a "not" and are both true; texts that go on from another; numbers that are no
personal data; paths that are there. The paths are those of `project`.

    python -m tests.corpora.flawed_store dev > store.jsonl
"""

import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tests.corpora import everyday, pii

Half = Literal["dev", "held_out"]
Pair = tuple[str, str]

FOLDER = Path(__file__).parent
SEED = 20261119
SIZE, FLAWS = 500, 100  # of a half
NOW = datetime(2026, 11, 1, tzinfo=UTC)
THERE = ("prices.py", "data/hours.csv", "docs/returns.md", "templates/cart.html", "orders.py")
COUNTS = {  # of a half
    "duplicate": 20, "near duplicate": 20, "secret": 20, "echo": 15, "contradiction": 15,
    "expired": 3, "path gone": 3, "superseded": 4,
}  # fmt: skip
_PLAIN = {  # shapes of claim_pairs.jsonl that do not say that something changed
    *("moved, not said", "switched, not said", "value changed, not said", "version raised"),
    *("number of people or things", "price or rate", "time of a meeting"),
}
_SAID = {"moved, said so", "switched, from and to", "renamed"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory of the store; `role` is who said it, as other tools write it."""

    id: str
    text: str
    at: datetime
    until: datetime | None = None
    role: str = "user"

    def row(self) -> dict[str, str]:
        """It as a line of a file that `memory-mesh import` reads."""
        row = {"id": self.id, "content": self.text, "created_at": self.at.isoformat()}
        if self.until is not None:
            row["valid_until"] = self.until.isoformat()
        return {**row, "role": self.role}


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong, and the memories that make it up."""

    kind: str
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class Store:
    """The memories in an order of no meaning, and the flaws among them."""

    entries: tuple[Entry, ...]
    flaws: tuple[Flaw, ...]
    harmless: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How many flaws of a kind there are and were found, and the findings that are none."""

    planted: int
    found: int
    wrong: tuple[frozenset[str], ...]


@cache
def store(half: Half) -> Store:
    """One half: 500 memories, 100 flaws."""
    made = _Made(half)
    made.plant()
    return made.store()


def project(folder: Path) -> Path:
    """Writes the files that memories name, and returns the folder that they are in."""
    for name in THERE:
        path = folder / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    (folder / "shop" / "tests").mkdir(exist_ok=True)
    (folder / "shop" / "tests" / "orders.json").write_text("", encoding="utf-8")
    return folder


def lines(half: Half) -> Iterator[str]:
    """The half as a file of JSON lines."""
    yield from (json.dumps(entry.row(), ensure_ascii=False) for entry in store(half).entries)


def scored(store: Store, found: Iterable[tuple[str, frozenset[str]]]) -> dict[str, Score]:
    """By kind how many flaws there are, how many were found, and how many findings are wrong."""
    found = list(found)
    scores = {}
    for kind in COUNTS:
        planted = [flaw.ids for flaw in store.flaws if flaw.kind == kind]
        named = [ids for each, ids in found if each == kind]
        right = [ids for ids in planted if any(ids <= other for other in named)]
        wrong = [ids for ids in named if not any(other <= ids for other in planted)]
        scores[kind] = Score(len(planted), len(right), tuple(wrong))
    return scores


class _Made:
    """A half while it is made."""

    def __init__(self, half: Half) -> None:
        self.half = half
        self.rng = random.Random(f"{SEED} {half}")
        self.parts = json.loads((FOLDER / "flawed_store.json").read_text(encoding="utf-8"))
        self.base = [self.entry(each.text) for each in everyday.memories(self.of_corpora)]
        self.added: list[Entry] = []
        self.flaws: list[Flaw] = []
        self.harmless: list[Entry] = []
        self.unused = list(self.base)  # no memory has two flaws
        self.rng.shuffle(self.unused)

    @property
    def of_corpora(self) -> everyday.Half:
        return "open" if self.half == "dev" else "held_out"

    def entry(self, text: str, **more: datetime | str) -> Entry:
        at = NOW - timedelta(hours=self.rng.randint(24, 8_000))
        made = Entry(f"{self.half[0]}{self.rng.getrandbits(40):010x}", text, at)
        return replace(made, **more)  # type: ignore[arg-type]  # of its own fields

    def mine(self, name: str) -> list[Any]:
        """This half's share of a list of parts: the other half has the rest."""
        every = list(self.parts[name])
        random.Random(f"{SEED} {name}").shuffle(every)
        return every[::2] if self.half == "dev" else every[1::2]

    def pairs(self, shapes: set[str] | None, count: int) -> list[Pair]:
        """Some pairs of claim_pairs.jsonl of this half; without shapes those that are both true."""
        rows = map(json.loads, (FOLDER / "claim_pairs.jsonl").read_text("utf-8").splitlines())
        found = [
            (row["first"], row["second"])
            for row in rows
            if row["half"] == self.of_corpora
            and (row["kind"] == "both" if shapes is None else row["shape"] in shapes)
        ]
        return self.rng.sample(found, count)

    def flaw(self, kind: str, *new: Entry, of: Sequence[Entry] = ()) -> None:
        self.added += new
        self.flaws.append(Flaw(kind, frozenset(each.id for each in (*of, *new))))

    def pair(self, one: str, other: str) -> tuple[Entry, Entry]:
        """Two new memories; the second is the newer one."""
        first = self.entry(one)
        later = first.at + (NOW - first.at) * self.rng.uniform(0.2, 0.9)
        return first, self.entry(other, at=later)

    def plant(self) -> None:
        for turn in range(COUNTS["duplicate"]):
            known = self.unused.pop()
            self.flaw("duplicate", self.entry(_respelt(known.text, turn)), of=[known])
        for one, other in self.mine("near"):
            self.flaw("near duplicate", *self.pair(one, other))
        for case in self.secrets():
            self.flaw("secret", self.entry(case.text))
        self.plant_echoes()
        for one, other in [*self.pairs(_PLAIN, 12), *self.mine("opposed")]:
            self.flaw("contradiction", *self.pair(one, other))
        for one, other in self.pairs(_SAID, COUNTS["superseded"]):
            self.flaw("superseded", *self.pair(one, other))
        for text in self.mine("gone"):
            self.flaw("path gone", self.entry(text))
        for text in self.mine("expired"):
            until = NOW - timedelta(days=self.rng.randint(3, 90))
            at = until - timedelta(days=30)
            self.flaw("expired", self.entry(text, at=at, until=until))
        self.plant_harmless()

    def plant_echoes(self) -> None:
        for form in self.mine("echoes"):
            known = self.unused.pop()
            small = known.text[0].lower() + known.text[1:]
            said = form.replace("§", known.text).replace("@", small)
            after = known.at + (NOW - known.at) * self.rng.uniform(0.1, 0.9)
            self.flaw("echo", self.entry(said, at=after, role="assistant"), of=[known])

    def plant_harmless(self) -> None:
        pairs = [*self.mine("unlike"), *self.pairs(None, 10), *self.mine("longer")]
        self.harmless += [each for one, other in pairs for each in self.pair(one, other)]
        numbers = [case.text for case in pii.negatives() if _of_one_line(case.text)]
        self.harmless += map(self.entry, [*self.rng.sample(numbers, 10), *self.mine("here")])

    def secrets(self) -> list[pii.Case]:
        """Personal data and secrets, each of another kind, of the half that the corpus gives."""
        wanted = self.half == "held_out"
        found = [case for case in pii.positives() if case.reported is wanted and case.raw]
        by_kind = {case.kind: case for case in self.rng.sample(found, len(found))}
        kinds = self.rng.sample(sorted(by_kind), COUNTS["secret"])
        return [by_kind[kind] for kind in kinds]

    def store(self) -> Store:
        entries = [*self.base, *self.added, *self.harmless]
        found = everyday.filler(2 * SIZE)[self.half == "held_out" :: 2]
        entries += [self.entry(each.text) for each in found[: SIZE - len(entries)]]
        self.rng.shuffle(entries)
        return Store(tuple(entries), tuple(self.flaws), tuple(self.harmless))


def _respelt(text: str, turn: int) -> str:
    """The same text: as it is, or in other letters, spaces or marks at its end."""
    forms = (text, text.upper(), f"  {text.replace(' ', '  ')}\n", text.rstrip(".") + "!")
    return forms[turn % len(forms)]


def _of_one_line(text: str) -> bool:
    return "\n" not in text and len(text) < 200  # characters


if __name__ == "__main__":
    for half in sys.argv[1:]:
        print(*lines("dev" if half == "dev" else "held_out"), sep="\n")
