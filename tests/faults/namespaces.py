"""Many namespaces, new ones made by several processes at once, and files that are not ours."""

import random
import threading
import time
from contextlib import suppress
from pathlib import Path

from memory_mesh.ledgers.sqlite.connections import OPEN_FILES
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.platform.ids import SystemClock
from memory_mesh.sync import MemoryMesh
from tests.faults.processes import Child, call
from tests.faults.report import Progress, Report, Ticker, silent

_PROCESSES = 4
_THREADS = 8


def created_at_once(folder: Path, *, rounds: int, progress: Progress = silent) -> Report:
    """Several processes make the same new namespace in the same moment."""
    report = Report({"rounds": 0, "acknowledged": 0, "lost": 0, "findings": 0})
    ticker = Ticker(progress, rounds)
    for round_ in range(rounds):
        start = time.time() + 0.05
        children = [
            Child(_add_at, folder, f"new-{round_}", start, who) for who in range(_PROCESSES)
        ]
        told = {id_: text for child in children for id_, text in child.result().items()}
        missing, findings = call(_compared, folder, f"new-{round_}", told)
        for id_ in missing:
            report.broken("lost", f"round {round_}: {id_}")
        for finding in findings:
            report.broken("findings", f"round {round_}: {finding}")
        report.count("rounds")
        report.count("acknowledged", len(told))
        ticker.tick(round_ + 1, "namespaces made")
    return report


def many_open(folder: Path, *, namespaces: int, operations: int, seed: int) -> Report:
    """Threads over more namespaces than may be open: right answers, and few files open."""
    report = Report({"namespaces": namespaces, "operations": operations * _THREADS, "wrong": 0})
    wrong, most = call(_juggle, folder, namespaces, operations, seed)
    report.figures["most files open"] = most
    for detail in wrong:
        report.broken("wrong", detail)
    if most > OPEN_FILES + _THREADS:
        report.broken("too many open", f"{most} files")
    return report


def _add_at(folder: Path, namespace: str, start: float, who: int) -> dict[str, str]:
    with MemoryMesh(db_dir=folder, namespace=namespace) as mesh:
        time.sleep(max(0.0, start - time.time()))
        texts = [f"process {who} number {number}" for number in range(3)]
        return {str(mesh.add(text).id): text for text in texts}


def _compared(folder: Path, namespace: str, told: dict[str, str]) -> tuple[list[str], list[str]]:
    with MemoryMesh(db_dir=folder, namespace=namespace) as mesh:
        found = {memory.id: memory.text for memory in mesh.get_all()}
        missing = [id_ for id_, text in told.items() if found.get(id_) != text]
        return missing, [str(finding) for finding in mesh.care.verify().findings]


def _juggle(folder: Path, namespaces: int, operations: int, seed: int) -> tuple[list[str], int]:
    """All threads share one ledger; each namespace must hold what was written to it."""
    ledger = SqliteLedger(folder, SystemClock())
    meshes = [MemoryMesh(db_dir=folder, namespace=f"space-{n}") for n in range(namespaces)]
    for mesh in meshes:  # one ledger, one set of open files
        object.__setattr__(mesh._opened(), "ledger", ledger)
    wrong: list[str] = []
    written: list[dict[str, str]] = [{} for _ in meshes]
    most = [0]

    def work(who: int) -> None:
        dice = random.Random(seed * 100 + who)
        for number in range(operations):
            place = dice.randrange(namespaces)
            text = f"thread {who} number {number} in space {place}"
            id_ = str(meshes[place].add(text).id)
            written[place][id_] = text
            other = dice.randrange(namespaces)
            for known, expected in list(written[other].items())[:3]:
                memory = meshes[other].get(known)
                if memory is None or memory.text != expected:
                    wrong.append(f"space {other} does not give {known}")
            most[0] = max(most[0], _open_databases(folder))

    threads = [threading.Thread(target=work, args=(who,)) for who in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place, mesh in enumerate(meshes):
        found = {memory.id: memory.text for memory in mesh.get_all(limit=1000)}
        if found != written[place]:
            wrong.append(f"space {place} holds {len(found)}, not {len(written[place])}")
    ledger.close()
    return wrong, most[0]


def _open_databases(folder: Path) -> int:
    """How many different databases of the store this process has open."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.add(entry.readlink())
    return sum(path.suffix == ".db" and path.is_relative_to(folder) for path in found)
