"""An import that is killed again and again ends whole: each entry once, with the user it is of."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from memory_mesh.model.care import ImportedFile
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, silent
from tests.faults.sample import SEED

USERS = 40
_WAIT_SECONDS = 1_800.0  # for as many entries as are to be stored before a kill
_PAGE = 1_000


def killed(
    folder: Path, *, entries: int, kills: int, seed: int = SEED, progress: Progress = silent
) -> Report:
    """Kills an import at random places, runs it to its end, and counts what is stored."""
    report, dice = Report(), random.Random(seed)
    file, store, told = folder / "mem0.json", folder / "store", folder / "told"
    expected = _write(file, entries)
    places = sorted(dice.sample(range(entries // 10, entries * 4 // 5), kills))
    for place in places:
        child = Child(_imported, store, file, told)
        reached = _reached(told, place, child.has_ended)
        child.kill()
        report.count("kills", int(child.code == -9))
        progress(f"killed when {reached} of {entries} were told, for {place}")
        told.unlink(missing_ok=True)
    begun = time.monotonic()
    done = Child(_imported, store, file, told).result(_WAIT_SECONDS)
    report.figures |= {
        "entries": entries,
        "users": USERS,
        "stored before the last run": done.outcomes.get("merged", 0),
        "stored by the last run": done.outcomes.get("stored", 0),
        "seconds of the last run": round(time.monotonic() - begun, 1),
        "told on the way": len(told.read_text(encoding="ascii").split()),
    }
    found, flaws = call(_found, store)
    for name, wrong in {"lost": expected - found, "doubled": found - expected}.items():
        if wrong:
            report.broken(name, str(wrong.most_common(3)))
    for flaw in flaws:
        report.broken("not sound", flaw)
    if sum(done.outcomes.values()) != entries or report.figures.get("kills") != kills:
        report.broken("not whole", f"{done.outcomes}, {report.figures}")
    return report


def _write(file: Path, entries: int) -> Counter[tuple[str, str]]:
    """Writes an export of mem0 with entries of several users, and returns them."""
    rows = [
        (f"user-{number % USERS}", f"Parcel {number} went to shelf {number * 7 % 1_009}.")
        for number in range(entries)
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    items = [{"id": str(n), "memory": text, "user_id": user} for n, (user, text) in enumerate(rows)]
    file.write_text(json.dumps({"results": items}), encoding="utf-8")
    return Counter(rows)


def _imported(store: Path, file: Path, told: Path) -> ImportedFile:
    with (
        told.open("a", encoding="ascii") as line,
        MemoryMesh(db_dir=store, embedder="none") as mesh,
    ):

        def tell(done: int) -> None:
            line.write(f"{done}\n")
            line.flush()

        return mesh.import_(file, progress=tell)


def _reached(told: Path, place: int, has_ended: Callable[[], bool]) -> int:
    """Waits until an import has told of so many entries; returns how many it told of."""
    end, reached = time.monotonic() + _WAIT_SECONDS, 0
    while reached < place and not has_ended() and time.monotonic() < end:
        time.sleep(0.005)
        lines = told.read_text(encoding="ascii").split() if told.exists() else []
        reached = int(lines[-1]) if lines else 0
    return reached


def _found(store: Path) -> tuple[Counter[tuple[str, str]], list[str]]:
    """What is stored, of whom, and what a check of each chain finds."""
    found, flaws = Counter[tuple[str, str]](), []
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        for user in mesh.users():
            view, cursor = mesh.for_user(user), None
            while True:
                page = view.get_all(limit=_PAGE, cursor=cursor)
                found.update((user, memory.text) for memory in page)
                if (cursor := page.cursor) is None:
                    break
            flaws += [f"{user}: {finding}" for finding in view.care.verify().findings]
    return found, flaws
