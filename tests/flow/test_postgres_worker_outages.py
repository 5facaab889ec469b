"""A worker outlives its server: it waits while the database is away, and works again."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.cli.main import run
from memory_mesh.ledgers.postgres.setup import all_namespaces
from memory_mesh.ledgers.queue import worker
from memory_mesh.ledgers.queue.queue import JobQueue
from memory_mesh.ledgers.queue.worker import JobWorker, Pace, Tell
from memory_mesh.model.errors import StoreIsAway
from memory_mesh.sync import MemoryMesh
from tests.postgres import APP, SECRET, Server

PATIENCE = 60.0
# The command, which looks more often and sooner whether its server is there.
EAGER = """
import sys
from memory_mesh.cli.main import run
from memory_mesh.ledgers.queue import queue, worker as lasting
queue.CONNECT_SECONDS = 3.0
from memory_mesh.ledgers.queue import worker as running
running.CONNECT_SECONDS = 3.0
lasting.FIRST, lasting.LONGEST = 0.1, 1
sys.exit(run(sys.argv[1:]))
"""
WAITS, WORKS, AGAIN = "waiting for it", "Working for", "working again"


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that a test may kill: what was committed is there when it starts again."""
    made = Server(safe=True)
    yield made
    made.stop()


def _until_said(file: Path, words: str, times: int = 1) -> None:
    end = time.monotonic() + PATIENCE
    while file.read_text(encoding="utf-8").count(words) < times:
        assert time.monotonic() < end, file.read_text(encoding="utf-8")
        time.sleep(0.05)


def test_a_worker_waits_for_its_server_and_can_be_stopped_meanwhile(
    server: Server, tmp_path: Path
) -> None:
    url = server.url(server.database(), APP)
    server.kill()
    words = [sys.executable, "-c", EAGER, "--store", url, "worker", "--every", "1"]
    said = tmp_path / "said.txt"
    with (
        said.open("wb") as file,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=file) as process,
    ):
        try:
            _until_said(said, WAITS)
            server.start()
            _until_said(said, WORKS)
            server.kill()
            _until_said(said, WAITS, 2)
            server.start()
            _until_said(said, AGAIN)
            server.kill()
            _until_said(said, WAITS, 3)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    server.start()
    assert process.returncode == 0
    assert b"Done 0 jobs" in out
    lines = said.read_text(encoding="utf-8").splitlines()
    assert [next(word for word in (WAITS, WORKS, AGAIN) if word in line) for line in lines] == [
        *(WAITS, WORKS, WAITS, AGAIN, WAITS)
    ]


def test_the_job_that_was_done_when_the_server_died_is_done_later(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "CONNECT_SECONDS", 2.0)  # then a worker knows that it is away
    url = server.url(server.database(), APP)
    seen: Counter[str] = Counter()
    workers: list[JobWorker] = []

    def work(namespace: str, tell: Tell) -> None:
        seen[namespace] += 1
        if seen[namespace] == 1:
            server.kill()
            raise StoreIsAway
        workers[-1].stop()

    with closing(JobQueue(url, all_namespaces(SECRET))) as queue:
        queue.defer(["a"], "shop")

        def begun() -> JobWorker:
            queue.listed(None, 1)
            workers.append(JobWorker(url, queue, {"a": work}, Pace(every=1, dead_after=1.0)))
            return workers[-1]

        worker.work(begun, away=server.start)
        assert queue.listed(None, 10) == []
    assert seen == {"shop": 2}
    assert len(workers) > 1


def test_pauses_grow_and_are_bounded() -> None:
    waited: list[float] = []

    def pause(seconds: float) -> bool:
        waited.append(seconds)
        return len(waited) == 8

    def begun() -> JobWorker:
        raise StoreIsAway

    told: list[str] = []
    worker.work(begun, away=lambda: told.append("away"), pause=pause)
    assert waited == [1, 2, 4, 8, 16, 30, 30, 30]
    assert told == ["away"]


def test_what_waiting_does_not_mend_ends_a_worker_at_once(
    database: str,
    postgres: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for url, why in (
        (postgres.url("nosuch", APP), "nosuch"),
        (postgres.url("postgres", APP), "setup-server"),
        (database.replace(APP, "nobody"), "nobody"),
    ):
        assert run(["--store", url, "worker"]) == 1
        assert why in capsys.readouterr().err
    monkeypatch.setenv("MEMORY_MESH_KEY", bytes(32).hex())
    assert run(["--store", database, "worker", "--json"]) == 1
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["error"]["code"] == "wrong_key"


def test_a_worker_that_works_once_does_not_wait(server: Server) -> None:
    url = server.url(server.database(), APP)
    server.kill()
    try:
        assert run(["--store", url, "worker", "--once"]) == 1
    finally:
        server.start()
    with MemoryMesh(url) as mesh:
        assert mesh.care.namespaces() == []
