"""Real stores that share a folder: in any order of events they end the same; kills lose nothing.

`stores` lets three stores, copies and restored backups of them act and sync at random. `killed`
kills a sync at one of the files that it opens, makes, renames or removes, and lets the next one go
on. In the end every store says what the fold of all records says.
"""

import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from memory_mesh.care import backup, restore
from memory_mesh.machines import exchange, machine as machines, segments
from memory_mesh.machines.fold import Fold
from memory_mesh.machines.records import PutChange
from memory_mesh.model import Status
from memory_mesh.model.care import SyncReport
from memory_mesh.model.errors import MeshError, NotAllowed
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent

_EVENTS = frozenset(("open", "os.rename", "os.mkdir", "os.remove", "sqlite3.connect"))
_ALL = [status.value for status in Status if status is not Status.EXPIRED]
_ACTS = {
    "add": 4, "edit": 6, "delete": 2, "erase": 2, "sync": 9, "clone": 1, "restore": 1, "rotate": 1,
    "revoke": 1, "partition": 2,
}  # fmt: skip
_STEPS = 16
_KILLS_OF_A_WORLD = 25
_NAMES = ("amber", "birch", "coral")
State = dict[str, tuple[str, str]]


class Site:
    """One machine: its store, and its own view of the shared folder."""

    def __init__(self, name: str, store: Path, shared: Path) -> None:
        self.name, self.store, self.shared = name, store, shared
        self.out = False

    def open(self) -> MemoryMesh:
        """The store."""
        return MemoryMesh(db_dir=self.store, embedder="none")

    def sync(self) -> SyncReport:
        """One sync."""
        with self.open() as mesh:
            return exchange.run(mesh.care._sync_site())

    def key(self) -> str:
        """Its public key."""
        with self.open() as mesh:
            site = mesh.care._sync_site()
            return machines.read(site.store, site.environment).key.public

    def state(self) -> State:
        """What the store says: text and status of every memory that is not deleted."""
        with self.open() as mesh:
            found = mesh.get_all(limit=1000, include=_ALL)
            return {
                each.id: (each.content, str(each.status))
                for each in found
                if each.status is not Status.DELETED
            }

    def folded(self) -> Fold:
        """What its records come to."""
        with self.open() as mesh:
            site = mesh.care._sync_site()
            own = machines.read(site.store, site.environment)
            kept = machines.kept_in(machines.state_of(site.store, own), own)
        return kept.fold()

    def says(self) -> State:
        """The same as the store should say it."""
        return {
            id_: (str(each.put.said["text"]), each.put.status)
            for (_, id_), each in self.folded().memories.items()
            if each.put.status != Status.DELETED
        }

    def bodies(self) -> str:
        """Every text of the records that count, here and in the shared folder."""
        with self.open() as mesh:
            site = mesh.care._sync_site()
            key = machines.read(site.store, site.environment).key
        found = list[str]()
        counted = {path.name for path in (self.store / "sync" / "records").iterdir()}
        for folder in (self.store / "sync" / "records", self.shared):
            for path in folder.glob("*.segment"):
                if path.name not in counted:  # refused: of a revoked machine, say
                    continue
                with suppress(segments.NotReadableYet):
                    record = segments.opened(path.read_bytes(), key).record()
                    found += [
                        str(each.said["text"])
                        for each in record.changes
                        if isinstance(each, PutChange)
                    ]
        return "\0".join(found)


def paired(folder: Path, names: tuple[str, ...]) -> list[Site]:
    """Machines that are paired with each other through one folder."""
    shared = folder / "shared"
    sites = [Site(name, folder / name, shared) for name in names]
    keys = list[str]()
    for site in sites:
        with site.open() as mesh:
            mesh.add(f"the first memory of {site.name}")
            keys.append(exchange.pair(mesh.care._sync_site(), shared, site.name, keys).text)
    for site in sites:
        with site.open() as mesh:
            others = [key for key in keys if f"-{site.name}-" not in key]
            exchange.pair(mesh.care._sync_site(), shared, None, others)
    for site in (*sites, *sites):
        site.sync()
    return sites


@contextmanager
def own_keys(folder: Path) -> Iterator[None]:
    """Keys of these stores alone."""
    before = os.environ.get("MEMORY_MESH_KEY_DIR")
    os.environ["MEMORY_MESH_KEY_DIR"] = str(folder / "keys")
    try:
        yield
    finally:
        os.environ.pop("MEMORY_MESH_KEY_DIR")
        if before is not None:
            os.environ["MEMORY_MESH_KEY_DIR"] = before


class World:
    """Three machines and what happens to them."""

    def __init__(self, folder: Path, dice: random.Random, report: Report) -> None:
        self.folder, self.dice, self.report = folder, dice, report
        self.sites = paired(folder, _NAMES)
        self.numbers = count()
        self.backups: dict[str, Path] = {}
        self.erased = list[tuple[str, str]]()

    def act(self, what: str, at: Site) -> None:
        """One event at a machine."""
        getattr(self, f"_{what}")(at)
        self.report.count(what)

    def _text(self) -> str:
        return f"note number {next(self.numbers)} of the {self.dice.randrange(1 << 40)} run"

    def _add(self, at: Site) -> None:
        with at.open() as mesh:
            mesh.add(self._text())

    def _one(self, at: Site) -> tuple[str, str] | None:
        live = {id_: text for id_, (text, status) in at.state().items() if status == "active"}
        return self.dice.choice(sorted(live.items())) if live else None

    def _edit(self, at: Site) -> None:
        if found := self._one(at):
            with at.open() as mesh:
                mesh.update(found[0], self._text())

    def _delete(self, at: Site) -> None:
        if found := self._one(at):
            with at.open() as mesh:
                mesh.delete(found[0])

    def _erase(self, at: Site) -> None:
        if found := self._one(at):
            with at.open() as mesh:
                mesh.erase(found[0])
            if not at.out:
                self.erased.append(found)

    def _sync(self, at: Site) -> None:
        if not at.out:
            try:
                at.sync()
            except NotAllowed:
                at.out = True

    def _partition(self, at: Site) -> None:
        """The machine sees only a part of the folder for one sync."""
        hidden = self.folder / "hidden"
        hidden.mkdir(exist_ok=True)
        files = sorted(at.shared.glob("*.segment"))
        away = self.dice.sample(files, len(files) // 2)
        for path in away:
            path.rename(hidden / path.name)
        self._sync(at)
        for path in hidden.iterdir():
            path.replace(at.shared / path.name)

    def _clone(self, at: Site) -> None:
        if len(self.sites) < 4:
            copy = Site(at.name, self.folder / f"copy of {at.name}", at.shared)
            shutil.copytree(at.store, copy.store)
            copy.out = at.out
            self.sites.append(copy)

    def _restore(self, at: Site) -> None:
        kept = self.backups.pop(str(at.store), None)
        if kept is None:
            to = self.folder / "backups" / at.store.name
            self.backups[str(at.store)] = Path(backup(at.store, to).folder)
        else:
            self._sync(at)  # what was not sent goes with the disk
            restore(kept, at.store, replace=True)

    def _rotate(self, at: Site) -> None:
        if not at.out and sum(each.name == at.name for each in self.sites) == 1:
            self._revoked(at, at.name)

    def _revoke(self, at: Site) -> None:
        others = sorted({each.name for each in self.sites} - {at.name})
        if not at.out and self.report.figures.get("ended", 0) == 0 and len(others) > 1:
            self._revoked(at, self.dice.choice(others))
            self.report.count("ended")

    def _revoked(self, at: Site, name: str) -> None:
        with suppress(MeshError), at.open() as mesh:
            exchange.revoke(mesh.care._sync_site(), name)

    def end(self) -> None:
        """Exchanges everything and compares."""
        for _ in range(4):
            for each in self.sites:
                self._sync(each)
        ends = {key for each in self.sites for key in each.folded().ends}
        for each in self.sites:  # nobody seals anything for a machine that was revoked
            each.out |= each.key() in ends
        live = [each for each in self.sites if not each.out]
        states = [(each.store.name, each.state(), each.says()) for each in live]
        for name, state, says in states:
            if state != says:
                self.report.broken("a store differs from its records", f"{name}: {state} {says}")
            if says != states[0][2]:
                self.report.broken("folds that differ", f"{name}: {says} {states[0][2]}")
        for each in live:
            self._looked_through(each)

    def _looked_through(self, at: Site) -> None:
        """No file holds words that were erased, and the store is sound."""
        bodies, ids = at.bodies(), {id_ for _, id_ in at.folded().erased}
        said = {text for text, _ in at.state().values()}
        for id_, text in self.erased:
            if id_ in ids and text in bodies and text not in said:
                self.report.broken("erased text in a record", f"{at.name}: {text}")
        with at.open() as mesh:
            if not (found := mesh.care.verify()).ok:
                self.report.broken("findings", str(found.findings))


def stores(folder: Path, *, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """So many worlds of real stores."""
    report, ticker = Report({"rounds": 0}), Ticker(progress, rounds)
    for number in range(rounds):
        report.figures.pop("ended", None)
        dice, place = random.Random(f"{seed} {number}"), folder / f"round-{number}"
        with own_keys(place):
            world = World(place, dice, report)
            for what in dice.choices([*_ACTS], [*_ACTS.values()], k=_STEPS):
                world.act(what, dice.choice(world.sites))
            before = len(report.failures)
            world.end()
            report.failures[before:] = [f"round {number}: {e}" for e in report.failures[before:]]
        report.count("rounds")
        shutil.rmtree(place)
        ticker.tick(number + 1, "worlds")
    return report


def killed(folder: Path, *, kills: int, seed: int, progress: Progress = silent) -> Report:
    """So many kills of a sync, each at a place of its own, with changes on both sides."""
    report = Report({"kills": 0, "killed": 0, "lost": 0})
    dice, ticker = random.Random(seed), Ticker(progress, kills)
    with own_keys(folder):
        for number in range(kills):
            if number % _KILLS_OF_A_WORLD == 0:  # what all records come to takes time
                world = paired(folder / f"world-{number}", _NAMES[:2])
                events = call(_counted, world[0])
            texts = {f"kept {number} by {site.name} {dice.randrange(1 << 30)}" for site in world}
            for site, text in zip(world, sorted(texts), strict=True):
                _changed(site, text, dice)
            victim, other = dice.sample(world, 2)
            other.sync()
            child = Child(_until_killed, victim, dice.randint(1, 2 * events))
            child.join()
            report.count("killed", int(child.code == -signal.SIGKILL))
            for site in (victim, other, victim):
                found = site.sync().findings
                if found:
                    report.broken("findings", f"kill {number}: {found}")
            _compared(report, world, texts, number)
            report.count("kills")
            ticker.tick(number + 1, "kills")
    return report


def _changed(site: Site, text: str, dice: random.Random) -> None:
    """A new memory, and mostly a change of another."""
    with site.open() as mesh:
        mesh.add(text)
        ids = sorted(id_ for id_, (_, status) in site.state().items() if status == "active")
        acts: tuple[Callable[[str], object], ...] = (mesh.delete, mesh.erase, mesh.get)
        if len(ids) > 6:
            dice.choice(acts)(ids[0])


def _compared(report: Report, world: list[Site], texts: set[str], number: int) -> None:
    states = [site.state() for site in world]
    if states[0] != states[1] or states[0] != world[0].says():
        report.broken("stores that differ", f"kill {number}: {states} {world[0].says()}")
    said = {text for text, _ in states[0].values()}
    for text in texts - said:
        report.broken("lost", f"kill {number}: {text}")
    for site in world:
        with site.open() as mesh:
            if not (found := mesh.care.verify()).ok:
                report.broken("damage", f"kill {number}: {found.findings}")


def _counted(site: Site) -> int:
    """How many events a sync has that there is something to do for."""
    seen = [0]
    with site.open() as mesh:
        mesh.add("something to send")
    sys.addaudithook(lambda event, _: seen.__setitem__(0, seen[0] + (event in _EVENTS)))
    site.sync()
    return seen[0]


def _until_killed(site: Site, at: int) -> None:
    """Syncs, and dies at the n-th event."""
    left = [at]

    def hook(event: str, _: object) -> None:
        if event in _EVENTS:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    site.sync()
