"""Replicas of the service over one PostgreSQL: killed under load, replaced one by one, and shared.

::

    callers ──▶ replica one, two (processes of their own) ──▶ PostgreSQL ◀── worker
            └─▶ HAProxy ──▶ the same, where nobody may notice a restart
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from memory_mesh.mesh.worker import defer
from memory_mesh.sync import MemoryMesh
from tests.faults.report import Progress, Report, silent
from tests.postgres import APP, SECRET, Server
from tests.until import until

HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
BALANCER = Path(__file__).resolve().parents[2] / "deploy/haproxy.cfg"
_PATIENCE = 240.0  # seconds; a machine may be busy
_AGAIN = frozenset((429, 502, 503))
_TROUBLE = (OSError, HTTPException)


def has_haproxy() -> bool:
    """Whether the balancer is installed."""
    return HAPROXY is not None


class Process:
    """A process of ours that can be killed and begun again on the same port."""

    def __init__(self, folder: Path, database: str, words: Sequence[str], port: int = 0) -> None:
        self.port, self._words = port, words
        plain = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_MESH")}
        self._environment = plain | {
            "MEMORY_MESH_KEY": SECRET.hex(),
            "MEMORY_MESH_STORE": database,
            "MEMORY_MESH_EMBEDDER": "none",
            "MEMORY_MESH_DIR": str(folder),
            "HOME": str(folder),
        }
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "log"
        self.start()

    def start(self) -> None:
        """Begins it; `ready` waits until it answers."""
        command = [sys.executable, "-m", "memory_mesh", *self._words]
        with self._log.open("ab") as log:
            self._running = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def end(self, how: signal.Signals) -> None:
        """Ends it, and waits until it is gone."""
        self._running.send_signal(how)
        self._running.wait(_PATIENCE)

    def ready(self) -> None:
        """Waits until it answers."""
        end = time.monotonic() + _PATIENCE
        while not self._answers():
            assert time.monotonic() < end, self._log.read_text("utf-8")[-2_000:]
            time.sleep(0.1)

    def _answers(self) -> bool:
        assert self._running.poll() is None, self._log.read_text("utf-8")[-2_000:]
        with suppress(*_TROUBLE):
            return _asked(f"127.0.0.1:{self.port}", "GET", "/readyz", None, {})[0] == 200
        return False


@dataclass
class Ground:
    """A database with its replicas, and a key of everything."""

    database: str
    owner: str
    replicas: list[Process]
    key: str
    mesh: MemoryMesh

    @property
    def addresses(self) -> list[str]:
        """Where the replicas listen."""
        return [f"127.0.0.1:{each.port}" for each in self.replicas]


@contextmanager
def _ground(folder: Path, replicas: int) -> Iterator[Ground]:
    server = Server(safe=True)
    with ExitStack() as ends:
        ends.callback(server.stop)
        name = server.database()
        database = server.url(name, APP)
        os.environ["MEMORY_MESH_KEY"] = SECRET.hex()
        mesh = ends.enter_context(
            MemoryMesh(database, db_dir=str(folder / "looking"), embedder="none")
        )
        key = mesh.care.access_keys.add("load", grants={"*": "admin"}, speaks_as="user").text
        started = []
        for number in range(replicas):
            port = free_port()
            words = ("serve", "--port", str(port), "--rate", "1000000")
            each = Process(folder / f"replica-{number}", database, words, port)
            ends.callback(_ended, each)
            started.append(each)
        for each in started:
            each.ready()
        yield Ground(database, server.url(name), started, key or "", mesh)


def _ended(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.end(signal.SIGKILL)


def free_port() -> int:
    """A port of loopback that nobody listens to."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Load:
    """What callers did, each in a thread: how many of what, and how long searches took."""

    ground: Ground
    over: threading.Event = field(default_factory=threading.Event)
    acknowledged: dict[str, str] = field(default_factory=dict)  # ids by text
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def begin(self, run: Callable[[int], None], threads: int) -> None:
        """Runs the same in several threads until it is over."""
        for number in range(threads):
            thread = threading.Thread(target=self._guarded, args=(run, number))
            thread.start()
            self._threads.append(thread)

    def _guarded(self, run: Callable[[int], None], number: int) -> None:
        while not self.over.is_set():
            try:
                run(number)
            except _TROUBLE as error:
                self.failed.append(repr(error))
                time.sleep(0.05)

    def end(self) -> None:
        """Lets every caller finish what it began."""
        self.over.set()
        for thread in self._threads:
            thread.join()

    def ask(
        self,
        address: str,
        name: str,
        body: dict[str, Any],
        kept: HTTPConnection | None = None,
        **more: str,
    ) -> tuple[int, Any]:
        """One call of an operation."""
        headers = {"Authorization": f"Bearer {self.ground.key}"} | {
            each.replace("_", "-"): text for each, text in more.items()
        }
        return _asked(address, "POST", f"/v1/{name}", body, headers, kept=kept)


def _asked(
    address: str,
    method: str,
    path: str,
    body: object,
    headers: dict[str, str],
    *,
    kept: HTTPConnection | None = None,
) -> tuple[int, Any]:
    connection = kept or HTTPConnection(address, timeout=60)
    try:
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        said = answer.read()
        is_ours = "json" in (answer.headers["Content-Type"] or "")  # else of the balancer
        return answer.status, json.loads(said) if is_ours else said
    finally:
        if kept is None:
            connection.close()


def killed(
    folder: Path,
    *,
    kills: int,
    most_seconds: float,
    writers: int,
    seed: int,
    progress: Progress = silent,
) -> Report:
    """kill -9 of replicas and of the worker at random; each write is sent until it is answered."""
    report = Report(dict.fromkeys(("kills", "acknowledged", "lost", "doubled", "jobs lost"), 0))
    dice = random.Random(seed)
    with _ground(folder, 2) as ground:
        load = Load(ground)
        words = ("server", "worker", "--every", "1", "--dead-after", "3")
        worker = Process(folder / "worker", ground.database, words)
        load.begin(lambda number: _write(load, number, report), writers)
        end = time.monotonic() + most_seconds
        while int(str(report.figures["kills"])) < kills and time.monotonic() < end:
            time.sleep(dice.uniform(0.2, 1.5))
            victim = dice.choice((*ground.replicas, *ground.replicas, worker))
            victim.end(signal.SIGKILL)
            victim.start()
            report.count("kills")
            team = ground.mesh.view(namespace=f"team-{dice.randrange(2)}")
            report.count("jobs put in", len(defer(team, ["retention", "embed-pending"])))
            if victim is not worker and dice.random() < 0.5:
                victim.ready()
            progress(f"{report.figures['kills']} kills, {len(load.acknowledged)} acknowledged")
        for each in ground.replicas:
            each.ready()
        load.end()
        _ended(worker)
        _hold(report, ground, load)
        _work_off(report, folder, ground)
    return report


def _write(load: Load, number: int, report: Report) -> None:
    """One memory under a key of its own, sent to any replica until one has answered."""
    at = load.counts[f"writer {number}"]
    load.counts[f"writer {number}"] += 1
    text, namespace = f"writer {number} notes the number {at} of its list", f"team-{number % 2}"
    end = time.monotonic() + _PATIENCE
    for turn in range(100_000):
        addresses = load.ground.addresses
        address = addresses[(number + turn) % len(addresses)]
        with suppress(*_TROUBLE):
            status, said = load.ask(
                address, "add", {"content": text}, Idempotency_Key=f"{number}/{at}",
                Memory_Mesh_Namespace=namespace,
            )  # fmt: skip
            if status == 200:
                load.acknowledged[text] = said["id"]
                report.count("acknowledged")
                return
            if status not in _AGAIN:
                report.broken("refused", f"{status}: {said}")
                return
        if time.monotonic() > end:
            report.broken("never answered", text)
            return
        load.counts["sent again"] += 1
        time.sleep(0.05)


def _hold(report: Report, ground: Ground, load: Load) -> None:
    """What was acknowledged is there, once, under the id that was told."""
    report.figures["sent again"] = load.counts["sent again"]
    stored = Counter[tuple[str, str]]()
    for namespace in ("team-0", "team-1"):
        view, cursor = ground.mesh.view(namespace=namespace), None
        while True:
            page = view.get_all(limit=1_000, cursor=cursor)
            stored.update((one.text, one.id) for one in page)
            cursor = page.cursor
            if cursor is None:
                break
        if not view.care.verify().ok:
            report.broken("findings", f"{view.care.verify()}")
    texts = Counter(text for text, _ in stored)
    for text, id_ in load.acknowledged.items():
        if (text, id_) not in stored:
            report.broken("lost", text)
    for text, count in texts.items():
        if count > 1:
            report.broken("doubled", f"{count} times {text}")


def _work_off(report: Report, folder: Path, ground: Ground) -> None:
    """A worker that lives does what the killed ones left."""
    worker = Process(
        folder / "last", ground.database, ("server", "worker", "--every", "1", "--dead-after", "3")
    )
    with psycopg.connect(ground.owner, autocommit=True) as db:
        row = db.execute("SELECT oid::regclass::text FROM pg_class WHERE relname = %s",
                         ("procrastinate_jobs",)).fetchone()  # fmt: skip
        assert row is not None

        def states() -> dict[str, int]:
            found = db.execute(
                f"SELECT status::text, count(*) FROM {row[0]} "
                "WHERE scheduled_at IS NULL OR scheduled_at <= now() GROUP BY 1"
            )
            return dict(found.fetchall())

        def done() -> bool:
            return not {"doing", "todo"} & states().keys()

        try:
            with suppress(AssertionError, TimeoutError):
                until(done)
        finally:
            _ended(worker)
        left = states()
        for state in ("doing", "todo", "failed", "aborted"):
            if left.get(state):
                report.broken("jobs lost", f"{left[state]} are {state}")


def restarted(
    folder: Path, *, rounds: int, callers: int, seed: int, progress: Progress = silent
) -> Report:
    """Every replica is replaced in turn behind HAProxy; callers do not try twice.

    Every second caller keeps its connection, as a client of ours does.
    """
    del seed
    report = Report({"restarts": 0, "requests": 0, "failed requests": 0})
    kept = threading.local()
    with _ground(folder, 2) as ground, _balancer(folder, ground) as address:
        load = Load(ground)

        def call(number: int) -> None:
            at = load.counts[f"caller {number}"]
            load.counts[f"caller {number}"] += 1
            name, body = (
                ("add", {"content": f"caller {number} notes the number {at}"}),
                ("search", {"query": f"number {at}"}),
                ("stats", {}),
            )[at % 3]
            if number % 2 and getattr(kept, "connection", None) is None:
                kept.connection = HTTPConnection(address, timeout=60)
            status, said = load.ask(
                address,
                name,
                body,
                getattr(kept, "connection", None),
                Memory_Mesh_Namespace="calls",
            )
            load.counts["requests"] += 1
            if status != 200:
                load.failed.append(f"{status}: {said}")

        load.begin(call, callers)
        for _ in range(rounds):
            for each in ground.replicas:
                each.end(signal.SIGTERM)
                each.start()
                each.ready()
                time.sleep(1.5)  # until HAProxy has seen it
                report.count("restarts")
                progress(f"{report.figures['restarts']} restarts, {len(load.failed)} failed")
        load.end()
    report.figures["requests"] = load.counts["requests"]
    if load.counts["requests"] < rounds * callers:
        report.failures.append("hardly anything was asked: this run proves nothing")
    for said in load.failed:
        report.broken("failed requests", said)
    return report


@contextmanager
def _balancer(folder: Path, ground: Ground) -> Iterator[str]:
    assert HAPROXY is not None
    address = f"127.0.0.1:{free_port()}"
    one, two = ground.addresses
    stated = os.environ | {"LISTEN": address, "ONE": one, "TWO": two}
    with (folder / "haproxy.log").open("wb") as log:
        running = subprocess.Popen(
            [HAPROXY, "-f", str(BALANCER)], env=stated, stdout=log, stderr=log
        )
    try:
        until(lambda: _reached(address))
        yield address
    finally:
        running.terminate()
        running.wait()


def _reached(address: str) -> bool:
    with suppress(*_TROUBLE):
        return _asked(address, "GET", "/readyz", None, {})[0] == 200
    return False


def shared(
    folder: Path,
    *,
    searches: int,
    turns: int,
    loaders: int,
    most: float | None,
    seed: int,
    progress: Progress = silent,
) -> Report:
    """The median of one tenant's searches, alone and beside the bulk load of another, in turns."""
    report, took = Report(), {"alone": list[float](), "beside a load": list[float]()}
    dice = random.Random(seed)
    with _ground(folder, 2) as ground:
        quiet = ground.mesh.view(namespace="quiet")
        quiet.add_many([f"note {at} about the ship {dice.random()}" for at in range(500)])
        for turn in range(turns):
            for when, durations in took.items():
                load = Load(ground)
                if when != "alone":
                    load.begin(partial(_bulk, load, turn), loaders)
                for at in range(searches):
                    begun = time.monotonic()
                    status, said = load.ask(
                        dice.choice(ground.addresses), "search", {"query": f"ship {turn} {at}"},
                        Memory_Mesh_Namespace="quiet",
                    )  # fmt: skip
                    assert status == 200, said
                    durations.append(time.monotonic() - begun)
                load.end()
                assert not load.failed, load.failed
                report.count("loaded beside", load.counts["items"])
            progress(f"{turn + 1} of {turns}")
    alone, beside = (median(durations) for durations in took.values())
    report.figures |= {"searches": turns * searches, "percent": round(100 * beside / alone)}
    report.figures["median alone, ms"] = round(1000 * alone, 1)
    if most is not None and beside > most * alone:
        report.failures.append(f"{beside / alone:.2f} times the median alone, {most} at most")
    return report


def _bulk(load: Load, turn: int, number: int) -> None:
    items = [f"bulk {turn} {number} {load.counts['items']} {at}" for at in range(200)]
    address = load.ground.addresses[number % 2]
    status, said = load.ask(address, "add_many", {"items": items}, Memory_Mesh_Namespace="bulk")
    if status in _AGAIN:  # as Retry-After asks
        time.sleep(0.5)
    elif status != 200:
        load.failed.append(f"{status}: {said}")
    load.counts["items"] += len(items) * (status == 200)
