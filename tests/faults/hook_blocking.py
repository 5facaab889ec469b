"""Whatever goes wrong around a hook, the prompt goes on: exit status 0, a whole JSON or nothing.

::

    daemon killed    at a random moment of the hook
    daemon stopped   SIGSTOP
    disk full        not a byte is free
    store locked     by a writer of ours that is stopped in its transaction
    store shut       by a process of others that lets nobody read
    socket corrupt   a file, a folder, one that is silent, one that answers nonsense

Each prompt comes in the words of one host, of all in turns.

A run is blocked if it takes longer than its budget and what a script of the same form needs that
does nothing, the slowest of those that ran in turns with it. Where many processes share a machine
(`strict=False`) a run counts as blocked if it has not ended by itself long before the blocker does.
What a hook leaves running (its capture) is ended before the next: nobody types three prompts a
second, and what is measured is one prompt beside one fault.
"""

import fcntl
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from bench.agent_runs import BUDGET_MS, HOOK, Host, Run
from memory_mesh.agents.daemon import place
from memory_mesh.agents.hook.hosts import EVENTS, PROMPT as HEARD, TOOL
from memory_mesh.agents.hook.main import TOOL_BUDGET_MS
from memory_mesh.sync import MemoryMesh
from tests.agents.host_events import NAMES, sent
from tests.faults.crashpoints import watch
from tests.faults.disk import small_disk
from tests.faults.processes import Child
from tests.faults.report import Progress, Report, Ticker, silent

PROMPT = "which port does the staging database of the shop use?"
PLANTED = "The staging database of the shop listens on port 6543 behind pgbouncer."
GENEROUS_SECONDS = 20.0  # every blocker lasts longer than that
BLOCKER_SECONDS = 3_600.0
_INSIDE = "UPDATE store"  # a statement of every write
Runner = Callable[[int], Run]
Fault = Callable[["SpeakingHost", random.Random], AbstractContextManager[Runner]]


def before_tools(
    folder: Path, *, runs: int, seed: int, strict: bool = True, progress: Progress = silent
) -> Report:
    """Run the hooks of Claude Code before its tools run, in the same way."""
    return blocking(folder, runs=runs, seed=seed, strict=strict, progress=progress, hosts=(TOOL,))


def blocking(
    folder: Path,
    *,
    runs: int,
    seed: int,
    strict: bool = True,
    progress: Progress = silent,
    hosts: Sequence[str] = NAMES,
) -> Report:
    """Run hooks beside each fault, and count those that were held up."""
    cache = folder / "cache"
    report = Report({"runs": 0, "blocked": 0, "not whole": 0, "answered": 0, "silent": 0})
    ticker, shares = Ticker(progress, runs), Counter(islice(cycle(KINDS), runs))
    turns = cycle(hosts)
    for number, (name, each) in enumerate(shares.items()):
        here = folder / str(number)
        speaks = list(islice(turns, each))
        part = Child(_runs, here, cache, name, speaks, seed).result(3_600)
        for host in speaks:
            report.count(f"prompts of {host}")
        _count(report, name, part, strict=strict)
        ticker.tick(int(str(report.figures["runs"])), f"hooks run, {name} is done")
    return report


def _count(report: Report, name: str, part: "Timed", *, strict: bool) -> None:
    """Judge the runs beside one fault."""
    budget = TOOL_BUDGET_MS if f"prompts of {TOOL}" in report.figures else BUDGET_MS
    most = budget / 1000 + max(part.idle) if strict else GENEROUS_SECONDS
    mine = Report(
        {"runs": len(part.runs), "blocked": 0, "not whole": 0, "answered": 0, "silent": 0}
    )
    for at, run in enumerate(part.runs):
        if run.code is None or run.seconds > most:
            mine.broken("blocked", f"{name}, run {at}: {run.seconds:.3f} s of {most:.3f} s")
        if run.code or not run.is_whole:
            mine.broken("not whole", f"{name}, run {at}: {run.code} {run.said[:300]!r}")
        mine.count("answered" if PLANTED.encode() in run.said else "silent")
    for figure in ("runs", "blocked", "not whole", "answered", "silent"):
        report.count(figure, int(str(mine.figures[figure])))
    report.failures += mine.failures
    mine.figures["median ms"] = _ms(part.seconds, 0.5)
    mine.figures["slowest ms"] = _ms(part.seconds, 1.0)
    mine.figures["script that does nothing, median ms"] = _ms(part.idle, 0.5)
    mine.figures["script that does nothing, slowest ms"] = _ms(part.idle, 1.0)
    report.figures[name] = dict(mine.figures)


class Timed:
    """Runs of hooks, and those of a script that does nothing, in turns with them."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.idle: list[float] = []

    @property
    def seconds(self) -> list[float]:
        return [run.seconds for run in self.runs]


def _runs(here: Path, cache: Path, name: str, hosts: Sequence[str], seed: int) -> Timed:
    """In a process of its own: prepare a home, bring the fault about, run hooks."""
    here.mkdir(parents=True)
    if name == FULL:
        small_disk(here)
    host, timed = SpeakingHost(here / "home", cache, speaks=hosts), Timed()
    with host.mesh() as mesh:
        mesh.add(PLANTED)
        mesh.lessons.record(f"`rm -rf build` is wrong here. {PLANTED}")
    host.warmed(PROMPT)
    try:
        with FAULTS[name](host, random.Random(f"{seed} {name}")) as run:
            for number in range(len(hosts)):
                timed.idle.append(host.idle().seconds)
                timed.runs.append(run(number))
                host.end_all(daemons=False)
    finally:
        host.end_all()
    return timed


@dataclass
class SpeakingHost(Host):
    """Sends the prompt of a number in the words of the host whose turn it is."""

    speaks: Sequence[str] = ()

    def said(self, number: int) -> Run:
        """Runs a hook for one prompt."""
        host = self.speaks[number]
        if host == TOOL:
            return self._before_tool(number)
        event = next(theirs for theirs, ours in EVENTS[host].items() if ours == HEARD)
        given = sent(host, event, str(self.folder), session_id=f"session {number}")
        return self.run([str(HOOK), "--host", host, event], given)

    def _before_tool(self, number: int) -> Run:
        given = {
            "hook_event_name": TOOL,
            "session_id": f"session {number}",
            "cwd": str(self.folder),
            "tool_name": "Bash",
            "tool_input": {"command": "rm -rf ./build && ls"},
        }
        return self.run([str(HOOK), "--host", "claude-code", TOOL], json.dumps(given).encode())


def _hooks(host: "SpeakingHost") -> Runner:
    return host.said


@contextmanager
def _killed(host: SpeakingHost, dice: random.Random) -> Iterator[Runner]:
    """The daemon is killed while the hook runs; each hook starts the next one."""

    def run(number: int) -> Run:
        pid = host.started()
        killer = threading.Timer(dice.uniform(0, 0.2), _kill, (pid,))
        killer.start()
        try:
            return host.said(number)
        finally:
            killer.join()

    with host.daemon():
        yield run


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def _stopped(host: SpeakingHost, _dice: random.Random) -> Iterator[Runner]:
    """The daemon stands still: it takes connections and never answers."""
    with host.daemon() as pid:
        os.kill(pid, signal.SIGSTOP)
        yield _hooks(host)


@contextmanager
def _full(host: SpeakingHost, _dice: random.Random) -> Iterator[Runner]:
    """The home lies on a disk without a free byte; a daemon is wanted and none is there."""
    host.idle()  # its script is written before
    filler = os.open(host.home.parent / "filler", os.O_WRONLY | os.O_CREAT)
    for size in (1 << 16, 1 << 12, 1):
        with suppress(OSError):
            while True:
                os.write(filler, b"x" * size)
    os.close(filler)
    if os.statvfs(host.home).f_bavail:  # no small disk could be made: then no file may grow
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    host.variables["MEMORY_MESH_DAEMON"] = "1"
    yield _hooks(host)


@contextmanager
def _locked(host: SpeakingHost, _dice: random.Random) -> Iterator[Runner]:
    """A writer of ours was stopped in the middle of its transaction."""
    writer = Child(_write_and_stop, host.store)
    os.waitid(os.P_PID, writer.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    try:
        yield _hooks(host)
    finally:
        writer.kill()


def _write_and_stop(store: Path) -> None:
    def hear(_number: int) -> None:
        if events[-1].startswith(_INSIDE):
            os.kill(os.getpid(), signal.SIGSTOP)

    events = watch(hear)
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        mesh.add("a memory that is never stored")


@contextmanager
def _shut(host: SpeakingHost, _dice: random.Random) -> Iterator[Runner]:
    """A process of others keeps the file of the namespace to itself."""
    keeper = Child(_keep, host.store)
    os.waitid(os.P_PID, keeper.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    try:
        yield _hooks(host)
    finally:
        keeper.kill()


def _keep(store: Path) -> None:
    [file] = (store / "namespaces").glob("*.db")
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    os.kill(os.getpid(), signal.SIGSTOP)


@contextmanager
def _corrupt(host: SpeakingHost, _dice: random.Random) -> Iterator[Runner]:
    """Where the socket should be there is something else, in turns; no daemon takes it away."""
    lock = os.open(place.lock_path(str(host.store)), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.ftruncate(lock, 0)
    host.variables["MEMORY_MESH_DAEMON"] = "1"

    def run(number: int) -> Run:
        with SOCKETS[number % len(SOCKETS)](host.socket()):
            return host.said(number)

    try:
        yield run
    finally:
        os.close(lock)


@contextmanager
def _a_file(path: Path) -> Iterator[None]:
    path.write_bytes(b"no socket")
    yield


@contextmanager
def _a_folder(path: Path) -> Iterator[None]:
    path.mkdir()
    yield


@contextmanager
def _silent(path: Path) -> Iterator[None]:
    """A socket that takes connections and says nothing."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield


@contextmanager
def _nonsense(path: Path) -> Iterator[None]:
    """A socket that answers what is no reply."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        talker = Child(_talk, listener)
        try:
            yield
        finally:
            talker.kill()


def _talk(listener: socket.socket) -> None:
    end = time.monotonic() + BLOCKER_SECONDS
    while time.monotonic() < end:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(b"\x00\xff nonsense {\n")


SOCKETS = (_a_file, _a_folder, _silent, _nonsense)
FULL, CORRUPT = "disk full", "socket corrupt"
FAULTS: dict[str, Fault] = {
    "daemon killed": _killed,
    "daemon stopped": _stopped,
    FULL: _full,
    "store locked by a stopped writer": _locked,
    "store shut by another process": _shut,
    CORRUPT: _corrupt,
}
KINDS = (*FAULTS, *[CORRUPT] * (len(SOCKETS) - 1))  # each thing in the place of a socket is one


def _ms(seconds: list[float], share: float) -> float:
    return round(sorted(seconds)[max(0, round(share * len(seconds)) - 1)] * 1000, 1)
