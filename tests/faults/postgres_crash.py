"""kill -9 of the server, of one of its processes, or of writers, under load, again and again.

Writers live on through the restarts of the server; those that were killed are replaced. Each notes
what it is about to write before the call, and what it heard after it. Looks are taken while they go
on: what was acknowledged before a snapshot is in it, and of each batch all memories or none.
"""

import os
import random
import signal
import time
from contextlib import closing, suppress
from pathlib import Path

import psycopg

from memory_mesh.model.errors import MayBeStored, StoreIsAway, StoreIsBusy
from memory_mesh.model.ports import Ledger
from tests.faults import postgres_world as world
from tests.faults.crash import Journal
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent
from tests.postgres import APP, Server

KINDS = ("server", "writers", "backend", "both")
_SIZES = (1, 1, 1, 2, 5)
_STAGE = 5  # rounds on one namespace, so that looks stay short
_PATIENCE = 120.0  # seconds until writers must have been told of a write again
_RECENT = 40  # batches that a reader looks at


def killed(
    folder: Path, *, rounds: int, writers: int, seed: int, progress: Progress = silent
) -> Report:
    """So many kills; what was promised is looked at after each."""
    report = Report(dict.fromkeys(("kills", "acknowledged", "lost", "torn", "forks", "gaps"), 0))
    report.figures |= {"refused but stored": 0, "findings": 0, "looks of readers": 0}
    server = Server(safe=True)
    try:
        case = _Case(folder, server, writers, seed, report)
        ticker = Ticker(progress, rounds)
        for round_ in range(rounds):
            case.round(round_)
            ticker.tick(round_ + 1, f"kills, {report.figures['acknowledged']} acknowledged")
        case.end()
    finally:
        server.stop()
    return report


class _Case:
    """A server with writers and a reader, and one kill after another."""

    def __init__(
        self, folder: Path, server: Server, writers: int, seed: int, report: Report
    ) -> None:
        self._folder, self._server, self._report = folder, server, report
        self._dice, self._names, self._born = random.Random(seed), [""], 0
        self._database = server.database()
        self._url = server.url(self._database, APP)
        folder.mkdir(parents=True, exist_ok=True)
        self._stage(0)
        self._writers: dict[int, Child[None]] = {}
        for _ in range(writers):
            self._start_writer()
        self._reader = Child(_read_for_ever, self._url, folder)

    def round(self, round_: int) -> None:
        """Lets them write, kills, waits until all write again, and looks."""
        if round_ % _STAGE == 0:
            self._stage(round_ // _STAGE)
        self._await_all()
        time.sleep(self._dice.uniform(0.0, 0.2))
        kind = KINDS[round_ % len(KINDS)]
        self._kill(kind)
        self._report.count("kills")
        self._report.count(f"kills of {kind}")
        self._await_all()
        self._look(f"round {round_}, {kind}")

    def end(self) -> None:
        """Ends everybody, and looks once more."""
        for child in [*self._writers.values(), self._reader]:
            child.kill()
            if child.code != -signal.SIGKILL:
                self._report.broken("ended early", f"a process ended with {child.code}")
        self._look("the end")
        told = world.read_journals(self._journals())
        self._report.figures["acknowledged"] = len(told.done)
        self._report.figures["told that nothing is stored"] = len(told.refused - told.done)
        text = "".join(path.read_text() for path in self._journals())
        self._report.figures["told that it may be stored"] = text.count('"maybe"')
        looks = (self._folder / "reader").read_text().splitlines()
        self._report.figures["looks of readers"] = len(looks)
        for look in looks:
            if look != "fine":
                self._report.broken("half a commit was read", look)

    def _kill(self, kind: str) -> None:
        if kind in {"writers", "both"}:
            for who in self._dice.sample(sorted(self._writers), k=-(-len(self._writers) // 2)):
                self._writers.pop(who).kill()
                self._start_writer()
        if kind in {"server", "both"}:
            self._server.kill()
            time.sleep(self._dice.choice((0.0, 0.1)))
            self._server.start()
        if kind == "backend":
            with psycopg.connect(self._server.url()) as db:
                found = db.execute(
                    "SELECT pid FROM pg_stat_activity WHERE usename = %s", (APP,)
                ).fetchall()
            with suppress(ProcessLookupError):
                os.kill(self._dice.choice(found)[0], signal.SIGKILL)
            self._server.start()

    def _look(self, where: str) -> None:
        """In a process of its own, so that this one never opens the store."""
        owner = self._server.url(self._database)
        for name, detail in call(_flaws, self._url, owner, self._journals(), self._names[-1]):
            self._report.broken(name, f"{where}: {detail}")
        self._report.figures["acknowledged"] = len(world.read_journals(self._journals()).done)

    def _stage(self, number: int) -> None:
        self._names.append(f"stage-{number}")
        (self._folder / "next").write_text(self._names[-1])
        (self._folder / "next").replace(self._folder / "stage")

    def _start_writer(self) -> None:
        self._born += 1
        self._writers[self._born] = Child(
            _write_for_ever, self._url, self._folder, self._born, self._dice.random()
        )

    def _journals(self) -> list[Path]:
        return [self._folder / f"journal-{who}" for who in range(1, self._born + 1)]

    def _await_all(self) -> None:
        """Until each living writer was told of another write."""
        living = [self._folder / f"journal-{who}" for who in self._writers]
        before = {path: len(world.read_journals([path]).done) for path in living}
        end = time.monotonic() + _PATIENCE
        while any(len(world.read_journals([path]).done) <= before[path] for path in living):
            for child in self._writers.values():
                if child.has_ended():
                    child.result()  # raises what ended it
            if time.monotonic() > end:
                os.kill(next(iter(self._writers.values())).pid, signal.SIGUSR1)
                raise AssertionError(f"a writer was told of nothing in {_PATIENCE} s")
            time.sleep(0.02)


def _write_for_ever(url: str, folder: Path, who: int, seed: float) -> None:
    """Batch after batch; one that may be stored is written again under its key until it is told."""
    dice, notes = random.Random(seed), Journal(folder / f"journal-{who}")
    number = 0
    with closing(world.open_ledger(url)) as ledger:
        while True:
            number += 1
            namespace = (folder / "stage").read_text()
            batch = world.Batch(f"{who}x{number}", dice.choice(_SIZES), namespace)
            notes.note({"batch": batch.name, "size": batch.size, "namespace": namespace})
            _write(ledger, batch, notes)


def _write(ledger: Ledger, batch: world.Batch, notes: Journal) -> None:
    uncertain = False
    while True:
        try:
            world.write(ledger, batch)
        except MayBeStored:
            uncertain = True
            notes.note({"maybe": batch.name})
        except (StoreIsAway, StoreIsBusy):
            time.sleep(0.02)
            if not uncertain:
                notes.note({"refused": batch.name})
                return
        else:
            notes.note({"done": batch.name})
            return


def _read_for_ever(url: str, folder: Path) -> None:
    """Looks at the latest batches in one snapshot after another, and notes what it saw."""
    seen = os.open(folder / "reader", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with closing(world.open_ledger(url)) as ledger:
        while True:
            namespace = (folder / "stage").read_text()
            before = world.read_journals(folder.glob("journal-*"))
            batches = [each for each in before.begun.values() if each.namespace == namespace]
            try:
                with ledger.read(namespace) as snapshot:
                    counts = world.present(snapshot, batches[-_RECENT:])
            except (StoreIsAway, StoreIsBusy):
                time.sleep(0.02)
                continue
            flaws = world.flaws_of_presence(before, before, counts)
            os.write(seen, (f"{flaws[0]}\n" if flaws else "fine\n").encode())


def _flaws(url: str, owner: str, journals: list[Path], namespace: str) -> list[tuple[str, str]]:
    with closing(world.open_ledger(url)) as ledger:
        before = world.read_journals(journals)
        batches = [each for each in before.begun.values() if each.namespace == namespace]
        with ledger.read(namespace) as snapshot:
            counts = world.present(snapshot, batches)
        told = world.read_journals(journals)
        flaws = world.flaws_of_presence(told, before, counts)
        flaws += world.findings(ledger, namespace)
    return flaws + world.flaws_of_chain(owner, namespace)
