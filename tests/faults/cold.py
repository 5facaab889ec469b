"""Namespaces go to object storage and come back under load, while processes are killed at random.

Each namespace has one writer, which notes what it is about to add before the call and what it heard
after it; a killed one is replaced by another that writes the last thing again under its key. Others
send namespaces away in a random order. A read of a writer must show all that was acknowledged.
"""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from memory_mesh.care import server as care
from memory_mesh.ledgers.postgres.copies import name_storage
from memory_mesh.model.errors import MayBeStored, NotFound, StoreIsAway, StoreIsBusy
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent
from tests.object_storage import CREDENTIALS, Storage
from tests.postgres import APP, SECRET, Server

WRITERS, SENDERS = 3, 2
_CHUNK, _CHECKED = 40, 10  # namespaces of one look; of which so many are verified
_RETRY = (StoreIsBusy, StoreIsAway, MayBeStored)


@contextmanager
def place(folder: Path) -> Iterator[tuple[Path, str]]:
    """A database, and an object storage that its archives go to."""
    server, storage = Server(), Storage()
    try:
        with among(folder, server, storage) as found:
            yield found
    finally:
        storage.stop()
        server.stop()


@contextmanager
def among(folder: Path, server: Server, storage: Storage) -> Iterator[tuple[Path, str]]:
    """The same where both are running."""
    folder.mkdir(parents=True, exist_ok=True)
    before = dict(os.environ)
    os.environ |= {"MEMORY_MESH_KEY": SECRET.hex(), "MEMORY_MESH_EMBEDDER": "none", **CREDENTIALS}
    try:
        name = server.database()
        name_storage(server.url(name), storage.address(name, days=0, keep_days=0))
        yield folder, server.url(name, APP)
        server.drop(name)
    finally:
        os.environ.clear()
        os.environ.update(before)


def out_and_back(
    folder: Path,
    url: str,
    *,
    namespaces: int,
    kills: int,
    seed: int,
    progress: Progress = silent,
) -> Report:
    """All namespaces go once at least; what was acknowledged is there whenever it is read."""
    report = Report(dict.fromkeys(("namespaces", "kills", "acknowledged", "lost", "doubled"), 0))
    dice = random.Random(seed)
    for first in range(0, namespaces, _CHUNK):
        call(_fill, url, range(first, min(first + _CHUNK, namespaces)))
    world = {f"writer-{number}": (_write_for_ever, number) for number in range(WRITERS)}
    world |= {f"sender-{number}": (_send_all, number) for number in range(SENDERS)}
    running = {
        name: Child(work, url, folder, number, namespaces, dice.random())
        for name, (work, number) in world.items()
    }
    ticker, begun, done = Ticker(progress, namespaces), time.monotonic(), 0
    while any(name.startswith("sender") for name in running):
        time.sleep(dice.uniform(0.02, 0.1))
        sent = sum(len(_lines(path)) for path in folder.glob("sender-*"))
        ticker.tick(min(sent, namespaces), f"sent, {done} killed")
        if done < kills and sent * (kills + 1) >= (done + 1) * namespaces:
            name = dice.choice(sorted(running))
            work, number = world[name]
            running[name].kill()
            running[name] = Child(work, url, folder, number, namespaces, dice.random())
            done += 1
        for name in [each for each in running if running[each].has_ended()]:
            running.pop(name).result()  # raises what ended it; a sender ends when it is done
            if name.startswith("writer"):
                report.broken("a writer ended", name)
    seconds = time.monotonic() - begun
    for child in running.values():
        child.kill()
    report.figures |= {"namespaces": namespaces, "kills": done, "seconds": round(seconds, 1)}
    _look(report, url, folder, namespaces)
    return report


def _fill(url: str, numbers: range) -> None:
    with MemoryMesh(url) as mesh:
        for number in numbers:
            mesh.view(namespace=f"n{number}").add(f"Shelf {number} of the archive is made of oak")


def _write_for_ever(url: str, folder: Path, who: int, namespaces: int, seed: float) -> None:
    """Adds to and reads its own namespaces at random, the last begun thing first."""
    dice, journal = random.Random(seed), folder / f"writer-{who}"
    told = [json.loads(line) for line in _lines(journal)]
    known: dict[int, set[str]] = {}
    for each in told:
        known.setdefault(each["in"], set()).update(filter(None, [each.get("done")]))
    own = range(who, namespaces, WRITERS)
    again = list[dict[str, Any]]()  # what was begun last, unless it is done
    for each in told:
        again = [each] if "key" in each else [] if "done" in each else again
    with MemoryMesh(url) as mesh, journal.open("a", encoding="utf-8") as file:

        def note(**said: object) -> None:
            file.write(json.dumps(said) + "\n")
            file.flush()

        while True:
            number = again[0]["in"] if again else dice.choice(own)
            view = mesh.view(namespace=f"n{number}")
            key = again.pop()["key"] if again else f"{who} {dice.getrandbits(64):x}"
            start = time.perf_counter()
            try:
                if dice.random() < 0.5:
                    note(**{"in": number, "key": key})
                    made = view.add(f"Reading {key} of the meter on the wall", key=key)
                    known.setdefault(number, set()).add(str(made.id))
                    said = {"in": number, "done": made.id}
                else:
                    found = {each.id for each in view.get_all(limit=1_000)}
                    missing = known.get(number, set()) - found
                    said = {"in": number, "read": True, "missing": len(missing) + (not found)}
            except _RETRY as error:
                note(**{"in": number, "retry": type(error).__name__})
                continue
            woken = mesh._store.opened().woken.pop(f"n{number}", None)  # of this call
            note(**said, ms=round((time.perf_counter() - start) * 1000, 2), woken=woken is not None)


def _send_all(url: str, folder: Path, who: int, namespaces: int, seed: float) -> None:
    """Sends its namespaces away in a random order, those that a killed one did not reach."""
    journal = folder / f"sender-{who}"
    gone = {json.loads(line)["in"] for line in _lines(journal)}
    left = [number for number in range(who, namespaces, SENDERS) if number not in gone]
    random.Random(seed).shuffle(left)
    config = care.settings_of(url)
    with journal.open("a", encoding="utf-8") as file:
        for number in left:
            start = time.perf_counter()
            try:
                care.make_cold(replace(config, namespace=f"n{number}"))
            except (*_RETRY, NotFound):
                continue
            ms = round((time.perf_counter() - start) * 1000, 2)
            file.write(json.dumps({"in": number, "ms": ms}) + "\n")
            file.flush()


def _look(report: Report, url: str, folder: Path, namespaces: int) -> None:
    """Everything is read once more, and so comes back; then the chain of each is checked."""
    told = [json.loads(line) for path in folder.glob("writer-*") for line in _lines(path)]
    done: dict[int, set[str]] = {}
    for each in told:
        if "done" in each:
            done.setdefault(each["in"], set()).add(each["done"])
    begun = Counter(each["in"] for each in told if "key" in each)
    found, cold, wrong = list[list[str]](), 0, list[str]()
    for first in range(0, namespaces, _CHUNK):
        part = call(_read_all, url, range(first, min(first + _CHUNK, namespaces)))
        found, cold, wrong = found + part[0], cold + part[1], wrong + part[2]
    for number in range(namespaces):
        missing = done.get(number, set()) - set(found[number])
        if missing or not found[number]:
            report.broken("lost", f"n{number}: {len(missing)} are not there")
        if len(found[number]) > begun[number] + 1:
            report.broken("doubled", f"n{number}: {len(found[number])} of {begun[number] + 1}")
    for each in told:
        if each.get("missing"):
            report.broken("read too little", str(each))
    for finding in wrong:
        report.broken("findings", finding)
    asked = [each for each in told if "ms" in each]
    woken = [each["ms"] for each in asked if each["woken"]]
    warm = [each["ms"] for each in asked if not each["woken"]]
    sent = [json.loads(line) for path in folder.glob("sender-*") for line in _lines(path)]
    report.figures |= {
        "acknowledged": sum(map(len, done.values())),
        "sent": len(sent),
        "came back when asked for": len(woken),
        "cold at the end": cold,
        "calls": len(asked),
        "calls that found it cold": round(len(woken) / max(1, len(asked)), 4),
        "told to retry": sum("retry" in each for each in told),
        "ms of a warm call": round(median(warm or [0]), 1),
        "ms of a call that brings back": round(median(woken or [0]), 1),
        "longest": round(max((*woken, *warm, 0)), 1),
        "ms to send": round(median([each["ms"] for each in sent] or [0]), 1),
    }


def _read_all(url: str, numbers: range) -> tuple[list[list[str]], int, list[str]]:
    """What is in each, how many were cold, and what `verify` finds in every tenth."""
    names = [f"n{number}" for number in numbers]
    cold = len(care.cold_among(care.settings_of(url), names))
    with MemoryMesh(url) as mesh:
        views = [mesh.view(namespace=name) for name in names]
        found = [[each.id for each in view.get_all(limit=1_000)] for view in views]
        wrong = [
            f"{name}: {finding}"
            for name, view in list(zip(names, views, strict=True))[::_CHECKED]
            for finding in view.care.verify().findings
        ]
    return found, cold, wrong


def _lines(path: Path) -> list[str]:
    """The whole lines of a journal."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()
