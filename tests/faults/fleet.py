"""Places move, movers and servers are killed, while others write and read: nothing is lost.

Writers note what they are about to write and what they heard. Readers look for batches that were
acknowledged before: one that is missing or half there was read from an old copy. Each server whose
turn it is to die has a standby that stores all before a write is acknowledged, and is promoted.
"""

import json
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from memory_mesh.ledgers.postgres.owner import FleetOwner, set_up_fleet
from memory_mesh.ledgers.postgres.places import place_digest, slot_of
from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.ledgers.queue import queue
from memory_mesh.model.errors import MayBeStored, StoreIsAway, StoreIsBusy
from tests.faults import postgres_world as world
from tests.faults.crash import Journal
from tests.faults.processes import Child, ChildFailed, call
from tests.faults.report import Progress, Report, Ticker, silent
from tests.postgres import APP, SECRET, Server

STEPS = (
    "begun", "made", "copying", "copied", "fenced", "prepared", "decided", "opened", "told",
    "unsubscribed", "left",
)  # fmt: skip
_SIZES = (1, 1, 2, 4)
_PATIENCE = 120.0
_RECENT = 200  # acknowledged batches that a reader picks from, most of the time
_AROUND = 2.0  # seconds after a failover in which waits are told apart


@dataclass
class Fleet:
    """Servers, some with a standby, and the directory on the last one."""

    servers: list[Server]
    places: int
    hosts: list[str] = field(default_factory=list)  # the folders of each server's sockets

    def url(self, user: str = APP) -> str:
        """The address of the fleet."""
        return self.servers[-1].url("directory", user)

    def address(self, number: int) -> str:
        """That of a server as the directory knows it."""
        return f"postgresql:///memories?host={self.hosts[number]}"

    def names(self, count: int) -> list[str]:
        """Of namespaces, so that they fill the places evenly."""
        return [f"tenant-{number}" for number in range(count)]

    def place_of(self, namespace: str) -> str:
        """The schema that a namespace is in."""
        digest = place_digest(opening_key(SECRET), namespace)
        return f"place_{slot_of(digest, self.places):04}"

    def owner(self) -> FleetOwner:
        """The directory as its owner has it."""
        return FleetOwner(self.url("postgres"), SECRET)


@contextmanager
def fleet(servers: int, places: int, standbys: int = 0, *, safe: bool = False) -> Iterator[Fleet]:
    """A fleet of so many servers; the first ones have a synchronous standby."""
    with ExitStack() as stack:
        made = [Server(safe=safe, logical=True) for _ in range(servers)]
        for server in made:
            stack.callback(server.stop)
            with psycopg.connect(server.url(), autocommit=True) as db:
                db.execute("CREATE DATABASE memories")
        with psycopg.connect(made[-1].url(), autocommit=True) as db:
            db.execute("CREATE DATABASE directory")
        found = Fleet(made, places, [str(server.folder) for server in made])
        for number, server in enumerate(made[:standbys]):
            found.hosts[number] += f",{stack.enter_context(server.standby())}"
            with psycopg.connect(server.url(), autocommit=True) as db:
                db.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                db.execute("ALTER SYSTEM SET synchronous_commit = on")
                db.execute("SELECT pg_reload_conf()")
        set_up_fleet(found.url("postgres"), SECRET, login=APP, places=places)
        queue.set_up(found.url("postgres"), "memory_mesh_app")
        with closing(found.owner()) as owner:
            owner.add_servers([found.address(number) for number in range(servers)])
        yield found


def fail_over(server: Server, hosts: str) -> None:
    """Kills a server, and promotes its standby, which waits for none of its own then."""
    server.kill()
    standby = hosts.split(",")[1]
    with psycopg.connect(f"postgresql://postgres@/postgres?host={standby}", autocommit=True) as db:
        db.execute("SELECT pg_promote(true, 60)")
        db.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        db.execute("SELECT pg_reload_conf()")


def moved(
    folder: Path,
    *,
    servers: int,
    places: int,
    namespaces: int,
    writers: int,
    readers: int,
    moves: int,
    kills: int,
    failovers: int,
    seconds: int,
    checked: int,
    seed: int,
    progress: Progress = silent,
) -> Report:
    """So many moves in about so many seconds, some movers killed, one drain, some failovers."""
    names = ("moves", "movers killed", "went on", "taken back", "failovers", "acknowledged", "lost",
             "doubled", "stale or empty reads", "reads", "findings")  # fmt: skip
    report = Report(dict.fromkeys(names, 0))
    folder.mkdir(parents=True, exist_ok=True)
    with fleet(servers, places, failovers, safe=seconds > 0) as found:
        run = _Run(folder, found, namespaces, random.Random(seed), report)
        run.start(writers, readers)
        try:
            run.all(moves, kills, failovers, seconds, progress)
        finally:
            run.stop()
        run.check(checked)
    return report


class _Run:
    """The load, the moves, and what was told."""

    def __init__(
        self, folder: Path, of: Fleet, namespaces: int, dice: random.Random, report: Report
    ) -> None:
        self._folder, self._fleet, self._dice, self._report = folder, of, dice, report
        self._names = of.names(namespaces)
        self._children: list[Child[None]] = []
        self._failed_over: list[tuple[float, float]] = []

    def start(self, writers: int, readers: int) -> None:
        url = self._fleet.url()
        for who in range(writers):
            self._children.append(
                Child(_write, url, self._folder, who, self._names, self._dice.random())
            )
        for who in range(readers):
            self._children.append(Child(_read, url, self._folder, who, self._dice.random()))
        end = time.monotonic() + _PATIENCE
        while not all(
            (self._folder / f"journal-{who}").exists() for who in range(writers)
        ) or not any(self._folder.glob("reader-*")):
            assert time.monotonic() < end, "no load"
            time.sleep(0.02)

    def all(self, moves: int, kills: int, failovers: int, seconds: int, progress: Progress) -> None:
        begun, ticker = time.monotonic(), Ticker(progress, moves)
        killed = self._dice.sample(range(moves), min(kills, moves))
        steps = [STEPS[turn % len(STEPS)] for turn in range(max(kills, len(STEPS)))]
        self._dice.shuffle(steps)
        failing = [moves * (turn + 1) // (failovers + 1) for turn in range(failovers)]
        for number in range(moves):
            if number in failing:
                self._fail_over(failing.index(number))
            self._move(steps.pop() if number in killed and steps else None)
            if number == moves // 2:
                self._drain()
            ticker.tick(number + 1, f"moves, {self._report.figures['movers killed']} killed")
            time.sleep(max(0.0, begun + seconds * (number + 1) / moves - time.monotonic()))

    def stop(self) -> None:
        """Ends the load; a process that ended early says why."""
        for child in self._children:
            if child.has_ended():
                child.result()
            child.kill()

    def _move(self, kill_at: str | None) -> None:
        with closing(self._fleet.owner()) as owner:
            servers = [address for address, draining in owner.servers() if not draining]
            place = self._dice.choice([each for each in owner.shown() if not each.state])
        target = self._dice.choice([each for each in servers if each != place.server])
        self._begin(place.name, target, kill_at)
        if kill_at is not None and self._dice.random() < 0.5:
            with closing(self._fleet.owner()) as owner:
                if owner.back(place.name):
                    self._report.count("taken back")
        elif kill_at is not None:
            self._begin(place.name, target, None)
            self._report.count("went on")
        self._report.count("moves")

    def _begin(self, place: str, target: str, kill_at: str | None) -> None:
        """In a process of its own; what a failover broke is begun again."""
        end = time.monotonic() + _PATIENCE
        while True:
            child = Child(_mover, self._fleet.url("postgres"), place, target, kill_at)
            try:
                child.result()
            except ChildFailed as error:
                if child.code == -signal.SIGKILL and kill_at:
                    self._report.count("movers killed")
                    self._report.count(f"killed when {kill_at}")
                    return
                if time.monotonic() > end:
                    raise
                self._report.count("moves begun again")
                self._report.figures["last reason"] = str(error)[-200:]
                time.sleep(0.2)
            else:
                return

    def _drain(self) -> None:
        with closing(self._fleet.owner()) as owner:
            address = owner.servers()[0][0]
            for _ in owner.drain(address):
                self._report.count("moves of the drain")
            left = [each for each in owner.shown() if each.server == address]
            if left:
                self._report.broken("not drained", str(left))
            owner.add_servers([address])  # it takes places again

    def _fail_over(self, number: int) -> None:
        """Kills a server while a place leaves it or comes, if there is one that can."""
        with closing(self._fleet.owner()) as owner:
            servers = [address for address, _ in owner.servers()]
            here, there = servers[number], servers[-1]
            places = [each for each in owner.shown() if each.server in {here, there}]
        place = self._dice.choice(places)
        target = there if place.server == here else here
        url = self._fleet.url("postgres")
        mover = Child(_mover, url, place.name, target, None)
        time.sleep(self._dice.uniform(0.0, 0.8))
        begun = time.time()
        fail_over(self._fleet.servers[number], self._fleet.hosts[number])
        self._failed_over.append((begun, time.time() + _AROUND))
        self._report.count("failovers")
        try:
            mover.result()
        except ChildFailed:
            self._report.count("moves broken by a failover")
            self._begin(place.name, target, None)

    def check(self, checked: int) -> None:
        """Looks at every batch once more, and at so many namespaces whole."""
        journals = sorted(self._folder.glob("journal-*"))
        told = world.read_journals(journals)
        self._report.figures["acknowledged"] = len(told.done)
        for name, detail in call(_flaws, self._fleet.url(), journals, self._names[:checked]):
            self._report.broken(name, detail)
        with closing(self._fleet.owner()) as owner:
            homes = {each.name: each.server for each in owner.shown()}
        for name in self._names:
            place = self._fleet.place_of(name)
            for kind, detail in world.flaws_of_chain(
                f"{homes[place]} user=postgres", name, schema=place
            ):
                self._report.broken("doubled" if kind == "twice" else kind, detail)
        self._waits()

    def _waits(self) -> None:
        """The longest an operation took, beside a failover and elsewhere."""
        longest = {"longest write": 0.0, "longest read": 0.0, "longest beside a failover": 0.0}
        for path in [*self._folder.glob("journal-*"), *self._folder.glob("reader-*")]:
            text = path.read_text(encoding="utf-8")
            for line in text[: text.rfind("\n") + 1].splitlines():
                entry = json.loads(line)
                took, at = entry.get("took", 0.0), entry.get("at", 0.0)
                around = any(at - took <= end and begun <= at for begun, end in self._failed_over)
                kind = "longest write" if path.name.startswith("journal") else "longest read"
                name = "longest beside a failover" if around else kind
                longest[name] = max(longest[name], took)
                if "flaw" in entry:
                    self._report.broken("stale or empty reads", entry["flaw"])
                self._report.count("reads", "fine" in entry)
                self._report.count("told that it may be stored", "maybe" in entry)
                self._report.count("told that nothing is stored", "refused" in entry)
        self._report.figures |= {name: round(value, 3) for name, value in longest.items()}


def _mover(url: str, place: str, target: str, kill_at: str | None) -> None:
    def tell(step: str) -> None:
        if step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    with closing(FleetOwner(url, SECRET)) as owner:
        owner.move(place, target, tell)


def _write(url: str, folder: Path, who: int, names: Sequence[str], seed: float) -> None:
    """Batch after batch; one that may be stored is written again under its key until it is told."""
    dice, notes, number = random.Random(seed), Journal(folder / f"journal-{who}"), 0
    with closing(world.open_ledger(url)) as ledger:
        while True:
            number += 1
            batch = world.Batch(f"{who}x{number}", dice.choice(_SIZES), dice.choice(names))
            notes.note({"batch": batch.name, "size": batch.size, "namespace": batch.namespace})
            begun, uncertain = time.time(), False
            while True:
                try:
                    world.write(ledger, batch)
                except MayBeStored:
                    uncertain = True
                    notes.note({"maybe": batch.name})
                except (StoreIsAway, StoreIsBusy):
                    time.sleep(0.02)
                    if not uncertain:
                        notes.note({"refused": batch.name, **_timed(begun)})
                        break
                else:
                    notes.note({"done": batch.name, **_timed(begun)})
                    break
            time.sleep(dice.uniform(0.0, 0.02))


def _timed(begun: float) -> dict[str, Any]:
    return {"at": time.time(), "took": time.time() - begun}


def _read(url: str, folder: Path, who: int, seed: float) -> None:
    """Looks for batches that were acknowledged before it begins to look."""
    dice, notes = random.Random(seed), Journal(folder / f"reader-{who}")
    tails: dict[Path, int] = {}
    begun_: dict[str, world.Batch] = {}
    done: list[world.Batch] = []
    with closing(world.open_ledger(url)) as ledger:
        while True:
            for path in folder.glob("journal-*"):
                _tailed(path, tails, begun_, done)
            if not done:
                time.sleep(0.02)
                continue
            recent = done[-_RECENT:] if dice.random() < 0.7 else done
            batch, begun = dice.choice(recent), time.time()
            try:
                with ledger.read(batch.namespace) as snapshot:
                    counts = world.present(snapshot, [batch])
            except (StoreIsAway, StoreIsBusy):
                time.sleep(0.02)
                notes.note({"away": batch.name, **_timed(begun)})
                continue
            flaw = (
                {"fine": 1} if counts[batch.name] == batch.size else {"flaw": f"{batch} {counts}"}
            )
            notes.note({**flaw, **_timed(begun)})
            time.sleep(dice.uniform(0.0, 0.02))


def _tailed(
    path: Path, tails: dict[Path, int], begun: dict[str, world.Batch], done: list[world.Batch]
) -> None:
    with path.open("rb") as file:
        file.seek(tails.get(path, 0))
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    tails[path] = tails.get(path, 0) + len(whole)
    for line in whole.splitlines():
        entry = json.loads(line)
        if "batch" in entry:
            begun[entry["batch"]] = world.Batch(entry["batch"], entry["size"], entry["namespace"])
        elif "done" in entry:
            done.append(begun.pop(entry["done"]))


def _flaws(url: str, journals: list[Path], checked: Sequence[str]) -> list[tuple[str, str]]:
    told = world.read_journals(journals)
    by_namespace: dict[str, list[world.Batch]] = {}
    for batch in told.begun.values():
        by_namespace.setdefault(batch.namespace, []).append(batch)
    flaws = []
    with closing(world.open_ledger(url)) as ledger:
        for name, batches in by_namespace.items():
            with ledger.read(name) as snapshot:
                counts = world.present(snapshot, batches)
            flaws += world.flaws_of_presence(told, told, counts)
        for name in checked:
            flaws += world.findings(ledger, name)
    return flaws
