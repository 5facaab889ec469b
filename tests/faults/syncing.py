"""Machines of one person, in any order of events: their folds are equal, nothing lost or back.

`interleaved` runs the pure fold: three machines, and copies of them, that write, edit, delete and
erase, and see each other's records late, in parts and out of order. What was lost is told by an
account of its own: which text each act was made upon.
"""

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from memory_mesh.machines.fold import Fold, counts, fold, is_news
from memory_mesh.machines.records import (
    Change,
    DeviceChange,
    EraseChange,
    Place,
    PutChange,
    Record,
    RecordHeader,
    RevokeChange,
    latest_clock,
)
from tests.faults.report import Progress, Report, Ticker, silent

_STEPS = 32  # acts of a round, before everything is exchanged
_DELETED = "deleted"
_ACTS = {
    "add": 3, "edit": 9, "delete": 1, "erase": 1, "sync": 9, "clone": 1, "restore": 1,
    "rotate": 1, "revoke": 1, "skew": 1,
}  # fmt: skip
Number = tuple[str, int]


@dataclass
class Local:
    """A memory as one machine's store has it."""

    text: str
    status: str = "active"


@dataclass
class Written:
    """The account of one act: which text it made, upon which one, in which record."""

    place: Place
    text: str
    upon: str | None
    status: str
    record: Number = ("", 0)


@dataclass
class Machine:
    """A machine of the model: what it knows, what its store shows, what it has not sent."""

    key: str
    origin: str
    known: dict[Number, Record] = field(default_factory=dict)
    shown: Fold = field(default_factory=Fold)
    store: dict[Place, Local] = field(default_factory=dict)
    unsent: dict[Place, list[Written]] = field(default_factory=dict)
    erased: set[Place] = field(default_factory=set)
    extra: list[Change] = field(default_factory=list)
    year: int = 2026  # its clock may be wrong
    out: bool = False  # it was revoked, and has seen it

    def last(self, origin: str) -> int:
        """The last record of an origin that it knows."""
        return max((seq for of, seq in self.known if of == origin), default=0)


class World:
    """All machines and the folder that they share."""

    def __init__(self, dice: random.Random, report: Report) -> None:
        self.dice, self.report = dice, report
        self.folder: dict[Number, Record] = {}
        self.machines = [Machine(key, f"{key}-1") for key in ("a", "b", "c")]
        self.account: list[Written] = []
        self.backups: list[tuple[int, dict[Place, Local]]] = []
        self.wiped: dict[Place, set[str | None]] = {}
        self.texts = self.origins = 0

    def text(self) -> str:
        """Words that nobody wrote before."""
        self.texts += 1
        return f"text {self.texts}"

    def new_origin(self, at: Machine) -> None:
        """Lets a machine go on under a name that nobody used."""
        self.origins += 1
        at.origin = f"{at.key}-{self.origins + 1}"

    def act(self, what: str, at: Machine) -> None:
        """One event at a machine."""
        getattr(self, f"_{what}")(at)
        self.report.count(what)

    def _add(self, at: Machine) -> None:
        self._put(at, ("", f"mem_{self.dice.randrange(1 << 40)}_x"), self.text(), None)

    def _edit(self, at: Machine) -> None:
        if live := [place for place, each in at.store.items() if each.status != _DELETED]:
            place = self.dice.choice(live)
            self._put(at, place, self.text(), at.store[place].text)

    def _delete(self, at: Machine) -> None:
        if live := [place for place, each in at.store.items() if each.status != _DELETED]:
            place = self.dice.choice(live)
            text = at.store[place].text
            self._put(at, place, text, text, _DELETED)

    def _put(
        self, at: Machine, place: Place, text: str, upon: str | None, status: str = "active"
    ) -> None:
        at.store[place] = Local(text, status)
        said = Written(place, text, upon, status)
        at.unsent.setdefault(place, []).append(said)

    def _erase(self, at: Machine) -> None:
        if at.store:
            place = self.dice.choice([*at.store])
            words = {at.store.pop(place).text, *(each.upon for each in at.unsent.pop(place, ()))}
            self.wiped.setdefault(place, set()).update(words)  # of a concurrent edit, too
            at.erased.add(place)

    def _clone(self, at: Machine) -> None:
        if len(self.machines) < 5:
            copy = deepcopy(at)
            self.new_origin(copy)
            self.machines.append(copy)

    def _restore(self, at: Machine) -> None:
        here = self.machines.index(at)
        kept = [store for machine, store in self.backups if machine == here]
        if not kept:
            now = {place: Local(each.text, each.status) for place, each in at.store.items()}
            self.backups.append((here, now))
            return
        if at.unsent or at.erased:  # what was not sent goes with the disk: no fault of the sync
            self.sync(at)
        store = {place: Local(each.text, each.status) for place, each in kept[-1].items()}
        at.store, at.known, at.shown, at.unsent = store, {}, Fold(), {}
        self.new_origin(at)

    def _skew(self, at: Machine) -> None:
        at.year = self.dice.choice((1970, 2026, 2099))

    def _rotate(self, at: Machine) -> None:
        self.sync(at)
        if at.out or sum(each.key == at.key for each in self.machines) > 1:
            return  # a copy has the key, too: it would be revoked with it
        new = f"{at.key}+"
        lasts = {origin: at.last(origin) for origin, _ in at.known if origin.startswith(at.key)}
        ends = {**lasts, at.origin: at.last(at.origin) + 1}
        self._publish(at, [DeviceChange(new, new), RevokeChange(at.key, ends)])
        at.key = new
        self.new_origin(at)

    def _revoke(self, at: Machine) -> None:
        keys = {each.key for each in self.machines} - {at.key}
        if len(keys) > 1 and not at.out and not at.shown.ends:
            self.sync(at)
            key = self.dice.choice(sorted(keys))
            seen = {of: at.last(of) for of, _ in at.known if at.known[of, 1].header.key == key}
            if at.key not in at.shown.ends:
                self._publish(at, [RevokeChange(key, seen)])

    def _sync(self, at: Machine) -> None:
        self.sync(at, self.dice.random())

    def sync(self, at: Machine, share: float = 1.0) -> None:
        """Takes in what arrived of the folder, sends, and shows what all of it comes to."""
        if at.out:
            return
        arrived = [each for each in sorted(self.folder) if self.dice.random() <= share]
        self.dice.shuffle(arrived)
        grown = True
        while grown:
            grown = False
            for number in arrived:
                origin, seq = number
                ready = number not in at.known and at.last(origin) == seq - 1
                if ready and counts(self.folder[number], fold(at.known.values()).ends):
                    at.known[number], grown = self.folder[number], True
        if at.key in fold(at.known.values()).ends:
            at.out = True
            return
        self._send(at)
        self._show(at)

    def _send(self, at: Machine) -> None:
        full = fold(at.known.values())
        changes: list[Change] = [EraseChange(*place) for place in sorted(at.erased - full.erased)]
        sent: list[Written] = []
        restored = not at.shown.memories
        for place in sorted(at.store if restored else at.unsent):
            here, winner = at.store[place], at.shown.memories.get(place)
            put = PutChange(
                *place, f"{at.year}-01-01T00:00:00+00:00", here.status, {"text": here.text},
                None if winner is None else winner.stamp,
            )  # fmt: skip
            if is_news(put, at.shown, full) and place not in full.erased:
                changes.append(put)
                sent += at.unsent.get(place, [])
        at.unsent, at.erased = {}, set()
        record = self._publish(at, changes) if changes else None
        for said in sent:
            said.record = record.number if record else ("", 0)
            self.account.append(said)

    def _publish(self, at: Machine, changes: list[Change]) -> Record:
        clock = latest_clock(at.known.values()) + 1
        header = RecordHeader(at.origin, at.last(at.origin) + 1, "", clock, at.key, {}, ())
        record = Record(header, tuple(changes))
        at.known[record.number] = record
        assert record.number not in self.folder, "one number for two records"
        self.folder[record.number] = record
        return record

    def _show(self, at: Machine) -> None:
        at.shown = fold(at.known.values())
        at.store = {
            place: Local(str(each.put.said["text"]), each.put.status)
            for place, each in at.shown.memories.items()
        }

    def end(self) -> Iterator[tuple[str, str]]:
        """Exchanges everything, and tells what is wrong then."""
        for _ in range(3):
            for each in self.machines:
                self.sync(each)
        live = [each for each in self.machines if not each.out]
        folds = [each.shown for each in live]
        whole = fold(self.folder.values())
        for other in folds:
            if other != whole:
                yield "folds that differ", f"{_shown(other)} and {_shown(whole)}"
        yield from self._wrong(whole)

    def _wrong(self, whole: Fold) -> Iterator[tuple[str, str]]:
        counted = [
            said
            for said in self.account
            if said.record in self.folder and counts(self.folder[said.record], whole.ends)
        ]
        deleted = {said.place for said in counted if said.status == _DELETED}
        erased = {
            change.place
            for record in self.folder.values()
            if counts(record, whole.ends)
            for change in record.changes
            if isinstance(change, EraseChange)
        }
        upon = {said.upon for said in counted}.union(*(self.wiped[place] for place in erased))
        there = {str(each.put.said["text"]) for each in whole.memories.values()}
        for place, each in whole.memories.items():
            if place in erased or (place in deleted and each.put.status != _DELETED):
                yield "resurrected", f"{place}: {each}"
        for said in counted:
            gone = said.place in erased | deleted or said.text in upon
            if not gone and said.text not in there:
                yield "lost", f"{said}, of {_shown(whole)}"


def interleaved(*, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """So many random interleavings; every kind of event happens in each round with some chance."""
    report = Report({"rounds": 0, "records": 0, "conflicts": 0})
    ticker = Ticker(progress, rounds)
    for number in range(rounds):
        dice = random.Random(f"{seed} {number}")
        world = World(dice, report)
        for _ in range(_STEPS):
            (what,) = dice.choices([*_ACTS], [*_ACTS.values()])
            world.act(what, dice.choice(world.machines))
        for name, detail in world.end():
            report.broken(name, f"round {number}: {detail}")
        _in_any_order(world, dice, report)
        report.count("rounds")
        report.count("records", len(world.folder))
        whole = fold(world.folder.values())
        report.count("conflicts", sum(each.copy_of is not None for each in whole.memories.values()))
        ticker.tick(number + 1, "interleavings")
    return report


def _in_any_order(world: World, dice: random.Random, report: Report) -> None:
    """The fold of the same records in another order is the same."""
    given = [*world.folder.values()]
    dice.shuffle(given)
    if fold(given) != fold(world.folder.values()):
        report.broken("folds that differ", "the same records in another order")


def _shown(found: Fold) -> dict[Place, tuple[object, str]]:
    return {
        place: (each.put.said["text"], each.put.status) for place, each in found.memories.items()
    }
