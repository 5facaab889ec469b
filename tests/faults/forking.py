"""fork() while threads write, read, open and close: both go on, nothing is lost or doubled."""

import multiprocessing
import os
import random
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from memory_mesh.model.errors import Closed
from memory_mesh.sync import MemoryMesh
from tests.faults.crash import word
from tests.faults.processes import Child, ChildFailed, call
from tests.faults.report import Progress, Report, Ticker, silent

P = ParamSpec("P")
T = TypeVar("T")
_PATIENCE_SECONDS = 30.0
Acknowledged = dict[str, str]  # id and text
Round = Callable[[Path, float], Acknowledged]


def fork_rounds(folder: Path, *, rounds: int, seed: int, progress: Progress = silent) -> Report:
    """Every scenario in turn, three times on one store; each round in a process of its own."""
    report = Report({"rounds": 0, "acknowledged": 0, "deadlocks": 0, "lost": 0, "findings": 0})
    dice = random.Random(seed)
    ticker = Ticker(progress, rounds)
    acknowledged: Acknowledged = {}
    for round_ in range(rounds):
        scenario = SCENARIOS[round_ % len(SCENARIOS)]
        here = folder / f"store-{round_ // (3 * len(SCENARIOS))}"
        if not here.exists():
            acknowledged = {}
        where = f"round {round_}, {scenario.__name__}"
        try:
            told = Child(_quietly, scenario, here, dice.random()).result(_PATIENCE_SECONDS)
        except ChildFailed as failure:
            kind = "deadlocks" if "in time" in str(failure) else "errors"
            report.broken(kind, f"{where}: {failure}")
            continue
        acknowledged |= told
        report.count("rounds")
        report.count("acknowledged", len(told))
        for id_ in call(_missing, here, acknowledged):
            report.broken("lost", f"{where}: {id_} {acknowledged.pop(id_)}")
        for finding in call(_findings, here):
            report.broken("findings", f"{where}: {finding}")
        ticker.tick(round_ + 1, "rounds")
    return report


def recalls_after_fork(folder: Path, *, seed: int) -> Report:
    """Recall blocks that wait in the parent at a fork are written once, the child's own too."""
    report = Report({"recalls": 0, "doubled": 0})
    expected = call(_quietly, _recall_in_both, folder, seed)
    written = call(_recalled, folder)
    report.figures |= {"recalls": len(written), "expected": expected}
    if sorted(written) != sorted(f"zq{word(number)}" for number in range(expected)):
        report.broken("doubled", f"{len(written)} recall blocks for {expected} searches")
    return report


def add_while_a_thread_adds(folder: Path, seed: float) -> Acknowledged:
    """Fork while a thread commits one memory after another."""
    with MemoryMesh(db_dir=folder) as mesh:
        writer = _Writer(lambda number: {str(mesh.add(number).id): number})
        time.sleep(random.Random(seed).uniform(0, 0.05))
        children = [Child(_write_and_read, mesh, 5) for _ in range(3)]
        told = _write_and_read(mesh, 5)
        for child in children:
            told |= child.result(_PATIENCE_SECONDS)
        return told | writer.stopped()


def fork_in_a_long_load(folder: Path, seed: float) -> Acknowledged:
    """Fork while a thread is somewhere inside add_many."""

    def load(text: str) -> Acknowledged:
        texts = [f"{text} part {number}" for number in range(600)]
        return {str(r.id): t for r, t in zip(mesh.add_many(texts), texts, strict=True)}

    with MemoryMesh(db_dir=folder) as mesh:
        writer = _Writer(load, rounds=1)
        time.sleep(random.Random(seed).uniform(0, 0.15))
        child = Child(_write_and_read, mesh, 5)
        told = _write_and_read(mesh, 5)
        return told | child.result(_PATIENCE_SECONDS) | writer.stopped()


def close_in_the_parent(folder: Path, seed: float) -> Acknowledged:
    """The parent closes while its child has the store open: the child's log stays in place."""
    mesh = MemoryMesh(db_dir=folder)
    told = _write_and_read(mesh, 2)
    go_on = multiprocessing.get_context("fork").Event()
    child = Child(_write_around, mesh, go_on)
    time.sleep(0.1 + seed / 20)
    mesh.close()
    go_on.set()
    return told | child.result(_PATIENCE_SECONDS)


def close_in_the_child(folder: Path, seed: float) -> Acknowledged:
    """A child closes, or just ends, while the parent goes on."""
    with MemoryMesh(db_dir=folder) as mesh:
        told = _write_and_read(mesh, 2)
        closing, ending = Child(_write_and_close, mesh), Child(_write_and_read, mesh, 3)
        time.sleep(seed / 50)
        told |= _write_and_read(mesh, 5)
        told |= closing.result(_PATIENCE_SECONDS) | ending.result(_PATIENCE_SECONDS)
        return told | _write_and_read(mesh, 5)


def fork_in_a_child(folder: Path, seed: float) -> Acknowledged:
    """A grandchild of a process with a thread at work."""
    with MemoryMesh(db_dir=folder) as mesh:
        writer = _Writer(lambda number: {str(mesh.add(number).id): number})
        time.sleep(seed / 50)
        child = Child(_fork_again, mesh)
        return child.result(_PATIENCE_SECONDS) | writer.stopped() | _write_and_read(mesh, 2)


def pool_of_workers(folder: Path, seed: float) -> Acknowledged:
    """multiprocessing's fork pool over an open mesh, with a thread at work in the parent."""
    global _shared
    with MemoryMesh(db_dir=folder) as _shared:
        mesh = _shared
        writer = _Writer(lambda number: {str(mesh.add(number).id): number})
        time.sleep(seed / 50)
        told: Acknowledged = {}
        with multiprocessing.get_context("fork").Pool(3) as pool:
            for part in pool.imap_unordered(_write_in_pool, range(9)):
                told |= part
        return told | writer.stopped()


def fork_while_threads_open(folder: Path, seed: float) -> Acknowledged:
    """Fork while threads open stores and read namespaces that do not exist."""
    stop = threading.Event()
    mesh = MemoryMesh(db_dir=folder)
    nowhere = MemoryMesh(db_dir=folder, namespace="nowhere")

    def read_nothing() -> None:
        while not stop.is_set():
            assert nowhere.search("anything") == []

    def open_anew() -> None:
        while not stop.is_set():
            other = MemoryMesh(db_dir=folder)
            meshes[0] = other
            other.init()
            other.stats()
            other.close()

    meshes = [mesh]
    threads = [threading.Thread(target=task) for task in (read_nothing, open_anew)]
    for thread in threads:
        thread.start()
    told: Acknowledged = {}
    try:
        for _ in range(8):
            time.sleep(seed / 100)
            told |= Child(_open_and_write, meshes[0], nowhere, folder).result(_PATIENCE_SECONDS)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    mesh.close()
    nowhere.close()
    return told


SCENARIOS: tuple[Round, ...] = (
    add_while_a_thread_adds,
    fork_in_a_long_load,
    close_in_the_parent,
    close_in_the_child,
    fork_in_a_child,
    pool_of_workers,
    fork_while_threads_open,
)
_shared: MemoryMesh


class _Writer:
    """A thread that writes until it is stopped, or so many rounds."""

    def __init__(self, write: Callable[[str], Acknowledged], rounds: int = 10**9) -> None:
        self._write, self._rounds = write, rounds
        self._told: Acknowledged = {}
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def stopped(self) -> Acknowledged:
        """Let it end; all it was told."""
        if self._rounds > 1:
            self._stop.set()
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the writing thread hangs"
        if self._failure is not None:
            raise self._failure
        return self._told

    def _work(self) -> None:
        try:
            for _ in range(self._rounds):
                if self._stop.is_set():
                    return
                self._told |= self._write(_text())
        except BaseException as failure:  # noqa: BLE001  # handed to the thread that asks
            self._failure = failure


def _quietly(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Python warns of fork in a process with threads; that is what is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return function(*args, **kwargs)


def _text() -> str:
    return f"forked words {word(int.from_bytes(os.urandom(7), 'big'))}"


def _write_and_read(mesh: MemoryMesh, count: int) -> Acknowledged:
    told: Acknowledged = {}
    for _ in range(count):
        text = _text()
        id_ = str(mesh.add(text).id)
        told[id_] = text
        assert [hit.id for hit in mesh.search(text.split()[-1])] == [id_]
        memory = mesh.get(id_)
        assert memory is not None
        assert memory.text == text
    return told


def _write_around(mesh: MemoryMesh, go_on: "multiprocessing.synchronize.Event") -> Acknowledged:
    told = _write_and_read(mesh, 2)
    assert go_on.wait(_PATIENCE_SECONDS)
    return told | _write_and_read(mesh, 5)


def _write_and_close(mesh: MemoryMesh) -> Acknowledged:
    told = _write_and_read(mesh, 3)
    mesh.close()
    return told


def _fork_again(mesh: MemoryMesh) -> Acknowledged:
    grandchild = Child(_write_and_read, mesh, 3)
    told = _write_and_read(mesh, 3)
    return told | grandchild.result(_PATIENCE_SECONDS)


def _write_in_pool(_number: int) -> Acknowledged:
    return _write_and_read(_shared, 3)


def _open_and_write(half_open: MemoryMesh, nowhere: MemoryMesh, folder: Path) -> Acknowledged:
    assert nowhere.search("anything") == []
    try:
        told = _write_and_read(half_open, 1)
    except Closed:  # the parent's thread had closed it before the fork
        told = {}
    with MemoryMesh(db_dir=folder) as own:
        return told | _write_and_read(own, 1)


def _recall_in_both(folder: Path, seed: int) -> int:
    """Searches before the fork, in the child and after; how many there were."""
    numbers = iter(range(1000))
    mesh = MemoryMesh(db_dir=folder)
    mesh.add("something to find")
    _search(mesh, [next(numbers) for _ in range(5 + seed % 7)])
    writer = _Writer(lambda number: {str(mesh.add(number).id): number})
    children = []
    for _ in range(4):
        children.append(Child(_search_and_close, mesh, [next(numbers) for _ in range(3)]))
        _search(mesh, [next(numbers) for _ in range(3)])
    for child in children:
        child.result(_PATIENCE_SECONDS)
    writer.stopped()
    mesh.close()
    return next(numbers)


def _search(mesh: MemoryMesh, numbers: list[int]) -> None:
    for number in numbers:
        mesh.search(f"zq{word(number)}")


def _search_and_close(mesh: MemoryMesh, numbers: list[int]) -> None:
    _search(mesh, numbers)
    mesh.close()


def _recalled(folder: Path) -> list[str]:
    with MemoryMesh(db_dir=folder) as mesh:
        wires = [block.entry.wire or "" for block in mesh.care.recalls(limit=1_000, as_owner=True)]
        return [
            line.strip().removeprefix("query;").rstrip(";")
            for wire in wires
            for line in wire.splitlines()
            if line.strip().startswith("query;zqzq")
        ]


def _missing(folder: Path, acknowledged: Acknowledged) -> list[str]:
    with MemoryMesh(db_dir=folder) as mesh:
        found = {memory.id: memory.text for memory in mesh.get_many(list(acknowledged))}
        return [id_ for id_, text in acknowledged.items() if found.get(id_) != text]


def _findings(folder: Path) -> list[str]:
    with MemoryMesh(db_dir=folder) as mesh:
        return [str(finding) for finding in mesh.care.verify().findings]
