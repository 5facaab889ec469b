"""Many namespaces: a store with all of them in one folder beside one that fans out above 10,000.

    python -m bench.many_namespaces 10000 20000 50000

A hundred of the namespaces are real, spread over all names and opened one after the other; of the
others there is a database, a lock and a head file, all of them empty. Printed is processor time,
the least of three runs; that to make, delete and open is the mean of ten, ten and fifty namespaces.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from bench import stores
from memory_mesh import care
from memory_mesh.ledgers.sqlite import namespace_places as places
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model import Commit, Wanted
from memory_mesh.platform import moved_marks, system
from memory_mesh.platform.ids import SystemClock

_REAL = 100
_ENDINGS = (".db", ".lock", ".head")


def main() -> None:
    """Measures each number of namespaces, flat and fanned out."""
    with tempfile.TemporaryDirectory() as name:
        template = Path(name) / "template"
        with stores.keyword_mesh(template) as mesh:
            mesh.add("the only memory")
        for count in map(int, sys.argv[1:]):
            for most in (count + 1_000_000, places.FLAT_NAMESPACES):
                folder = Path(name) / "store"
                _fill(folder, stores.file_of(template), count, most)
                _measure(folder, count, most)
                shutil.rmtree(folder)


def _fill(folder: Path, template: Path, count: int, most: int) -> None:
    root = folder / "namespaces"
    system.make_folder(root)
    if count > most:
        moved_marks.mark_folders(folder)
    real = set(_real(count))
    for number in range(count):
        name = _name(number)
        place = places.both_folders(root, name)[number >= most]
        if number >= most:
            place.mkdir(exist_ok=True)
        path = place / places.file_name(name)
        for ending in _ENDINGS:
            if name in real:
                shutil.copy(template.with_suffix(ending), path.with_suffix(ending))
            else:
                os.close(os.open(f"{path}"[: -len(places.SUFFIX)] + ending, os.O_CREAT))


def _measure(folder: Path, count: int, most: int) -> None:
    ledger = SqliteLedger(folder, SystemClock(), allow_network=True, flat_namespaces=most)
    real = _real(count)
    opened, asked = iter(real), iter(real[::-1])
    made, deleted = (f"new-{number:05}" for number in range(1000)), iter(real)
    figures = {
        "list all": _cpu(lambda: list(ledger.namespaces())),
        "list a page of 1,000": _cpu(lambda: list(ledger.namespaces(limit=1000))),
        "open and read": _cpu(lambda: _read(ledger, next(opened)), 50),
        "stats": _cpu(lambda: ledger.stats(next(asked)), 10),
        "make": _cpu(lambda: _make(ledger, made, 10)) / 10,
    }
    ledger.close()
    figures["delete"] = _cpu(lambda: care.delete_namespace(folder, next(deleted)), 10)
    kind = "flat" if count < most else "fanned out"
    said = ", ".join(f"{what} {took:.2f}" for what, took in figures.items())
    print(f"{count:,} namespaces, {kind}, ms: {said}", flush=True)


def _real(count: int) -> list[str]:
    return [_name(number) for number in range(0, count, count // _REAL)][:_REAL]


def _name(number: int) -> str:
    return f"team-{number * 7919 % 1_000_003:07}"  # in no order, as users come


def _read(ledger: SqliteLedger, name: str) -> None:
    with ledger.read(name):  # which reads the end of its history
        pass


def _make(ledger: SqliteLedger, names: Iterator[str], count: int) -> None:
    for name in islice(names, count):
        ledger.commit(name, Wanted(), lambda _: Commit())


def _cpu(act: Callable[[], object], times: int = 1) -> float:
    """Milliseconds of the processor for one call, the least of three runs of so many."""
    took = []
    for _ in range(3 if times == 1 else 1):
        start = time.process_time()
        for _ in range(times):
            act()
        took.append((time.process_time() - start) / times)
    return min(took) * 1000


if __name__ == "__main__":
    main()
