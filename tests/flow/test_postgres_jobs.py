"""Jobs in PostgreSQL: done by workers that may die, one per namespace at a time, tried again."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from procrastinate.schema import SchemaManager

from memory_mesh.care.server import delete_from_server
from memory_mesh.ledgers.postgres.setup import ROLE, all_namespaces
from memory_mesh.ledgers.queue import queue as queue_queue
from memory_mesh.ledgers.queue.queue import JobQueue
from memory_mesh.ledgers.queue.worker import JobWorker, Pace, Tell
from memory_mesh.mesh import worker
from memory_mesh.model.errors import InvalidInput, StoreError
from memory_mesh.model.job import ATTEMPTS
from memory_mesh.sync import MemoryMesh
from tests.embedding import shaped
from tests.postgres import SECRET, Server
from tests.servers import Reply, Request, serve
from tests.until import has_taken_signals, times_slept, until

LONG, FIRST = 20, 17  # texts, and how many of them are embedded together
PATIENCE = 60.0
JOBS = ["embed-pending", "consolidate-traces", "retention"]  # that the settings here ask for


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())


class Service:
    """An embedder's service on this machine; it can wait before a text, or refuse all."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.wait_at, self.refuses = "", False
        self.waits, self.goes_on = threading.Event(), threading.Event()

    def answer(self, request: Request) -> Reply:
        texts: list[str] = json.loads(request.body)["input"]
        if self.refuses:
            return Reply(f"cannot read {texts}".encode(), status=400)
        if self.wait_at and any(self.wait_at in text for text in texts):
            self.waits.set()
            self.goes_on.wait(PATIENCE)
        self.asked += texts
        digests = [sha256(text.encode()).digest()[:8] for text in texts]
        vectors = [[byte / 255 for byte in digest] for digest in digests]
        return Reply(json.dumps(shaped("ollama", vectors)).encode())


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    """The service that every process of the test is configured to use."""
    made = Service()
    with serve(made.answer) as server:
        monkeypatch.setenv("MEMORY_MESH_MODEL_DIR", str(tmp_path))  # so nobody else answers
        monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "ollama")
        monkeypatch.setenv("MEMORY_MESH_EMBEDDER_BASE_URL", server.url)
        yield made
        made.goes_on.set()


def _fill(database: str, namespace: str = "default") -> None:
    """Long texts without vectors: more than are embedded together."""
    with MemoryMesh(database, namespace=namespace, embedder="none") as mesh:
        mesh.add_many([f"text {number:02} {'word ' * 580}" for number in range(LONG)])


@contextmanager
def _process(database: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A real worker."""
    words = [sys.executable, "-m", "memory_mesh", "--store", database, "worker", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _once(database: str, namespace: str = "default", dead_after: float = 30.0) -> worker.Worked:
    with MemoryMesh(database, namespace=namespace) as mesh:
        return worker.run(mesh, once=True, dead_after=dead_after)


def _queue(database: str) -> set[tuple[str, str]]:
    with MemoryMesh(database) as mesh:
        return {(each.job, each.state) for each in worker.queued(mesh)}


def _embedded(database: str) -> int:
    """How many of the texts have vectors, in a namespace that is whole."""
    with MemoryMesh(database) as mesh:
        assert mesh.care.verify().ok
        (state,) = mesh.stats().spaces
        return LONG - state.pending


def _owner(postgres: Server, database: str) -> psycopg.Connection:
    name = database.partition("@/")[2].partition("?")[0]
    return psycopg.connect(queue_queue.conninfo(postgres.url(name)), autocommit=True)


def test_a_killed_worker_s_job_is_finished_by_another(database: str, service: Service) -> None:
    _fill(database)
    service.wait_at = "text 19"
    with _process(database) as process:
        until(service.waits.is_set)  # the first slice is committed, the second is being made
        process.kill()
    assert process.returncode == -signal.SIGKILL
    before = len(service.asked)
    service.wait_at = ""
    service.goes_on.set()
    assert _once(database).done == 0  # it may still be alive
    assert ("embed-pending", "runs") in _queue(database)
    until(lambda: _once(database, dead_after=1.0).done)
    assert _queue(database) == set()
    assert _embedded(database) == LONG
    texts = [text for text in service.asked[before:] if text.startswith("text")]
    assert sorted(text[:7] for text in texts if text[:7] < "text 17") == []  # none of the first
    assert {text[:7] for text in texts} == {"text 17", "text 18", "text 19"}


def test_ctrl_c_ends_a_worker_after_the_slice_that_it_is_at(
    database: str, service: Service
) -> None:
    _fill(database)
    service.wait_at = "text 00"
    with _process(database, "--json") as process:
        until(service.waits.is_set)
        slept = times_slept(process.pid)
        process.send_signal(signal.SIGINT)
        until(lambda: has_taken_signals(process.pid, slept))  # before the answer comes
        service.goes_on.set()
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert json.loads(out) == {"done": 0, "retried": 0, "failed": 0}
    assert _embedded(database) == FIRST
    with MemoryMesh(database) as mesh:
        (waits,) = (job for job in worker.queued(mesh) if job.job == "embed-pending")
    assert (waits.state, waits.done, waits.total) == ("waits", FIRST, LONG)
    service.wait_at = ""
    _once(database)
    assert _embedded(database) == LONG


_LEFT_BEHIND = """
WITH dead AS (
    INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')
    RETURNING id
)
INSERT INTO procrastinate_jobs
    (queue_name, task_name, lock, queueing_lock, args, status, worker_id)
SELECT 'retention', 'retention', 'default', 'retention default', '{"namespace": "default"}',
    'doing', id
FROM dead
"""  # what a worker that died an hour ago held: the lock of the namespace


def test_a_worker_finds_what_changed_and_what_was_left_behind_by_itself(
    database: str, postgres: Server, service: Service
) -> None:
    with (
        _process(database, "--every", "1", "--concurrency", "2") as process,
        _owner(postgres, database) as db,
    ):
        until(lambda: db.execute("SELECT 1 FROM procrastinate_workers").fetchone())
        db.execute(_LEFT_BEHIND)
        _fill(database)  # both after the look with which a worker begins
        until(lambda: any(text.startswith("text 19") for text in service.asked))
        until(lambda: _queue(database) == set())
        assert process.poll() is None
    assert _embedded(database) == LONG


def test_two_workers_never_work_on_one_namespace_at_once(database: str) -> None:
    for name in ("one", "two"):
        _fill(database, name)
    both = threading.Barrier(2)
    active: Counter[str] = Counter()
    seen: list[tuple[str, int]] = []

    def work(namespace: str, tell: Tell) -> None:
        active[namespace] += 1
        if len(seen) < 2:
            both.wait(PATIENCE)  # a job of each namespace runs at this moment
        seen.append((namespace, active[namespace]))
        time.sleep(0.05)
        active[namespace] -= 1

    jobs = dict.fromkeys(("a", "b", "c"), work)
    with closing(JobQueue(database, all_namespaces(SECRET))) as queue:
        for name in ("one", "two"):
            assert queue.defer(list(jobs), name) == ["a", "b", "c"]
            assert queue.defer(["a"], name) == []  # it waits already
        workers = [JobWorker(database, queue, jobs, Pace(concurrency=2)) for _ in range(2)]
        threads = [threading.Thread(target=each.run, kwargs={"once": True}) for each in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        while any(job.state == "waits" for job in queue.listed(None, 100)):
            workers[0].run(once=True)  # what a lock kept from both
    assert Counter(name for name, _ in seen) >= Counter({"one": 3, "two": 3})
    assert {most for _, most in seen} == {1}


def test_a_job_that_fails_is_tried_again_later_and_others_go_first(
    database: str, service: Service
) -> None:
    _fill(database)
    service.refuses = True
    first = _once(database)
    assert first.done == 2  # the others
    assert first.retried  # more than once where the machine is slower than the wait
    with MemoryMesh(database) as mesh:
        assert worker.defer(mesh) == ["consolidate-traces", "retention"]  # it waits already
        job = next(each for each in worker.queued(mesh) if each.job == "embed-pending")
        assert (job.state, job.attempts) == ("waits", first.retried)
        assert job.not_before is not None
        assert (job.failure or "").startswith("EmbeddingError: ")
    assert (_once(database).done, _queue(database)) == (2, {("embed-pending", "waits")})
    until(lambda: _once(database).retried)
    service.refuses = False
    until(lambda: _once(database).done)
    assert _queue(database) == set()
    assert _embedded(database) == LONG


def test_what_failed_too_often_waits_for_a_person(
    database: str, postgres: Server, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    from memory_mesh.cli.main import run

    _fill(database)
    service.refuses = True
    with MemoryMesh(database) as mesh:
        worker.defer(mesh, ["embed-pending"])
    with _owner(postgres, database) as db:
        db.execute("UPDATE procrastinate_jobs SET attempts = %s", (ATTEMPTS - 1,))
    assert _once(database).failed == 1
    assert _queue(database) == {("embed-pending", "failed")}
    assert run(["--store", database, "jobs"]) == 0
    assert "embed-pending failed" in capsys.readouterr().out
    service.refuses = False
    assert run(["--store", database, "jobs", "retry", "--json"]) == 0
    (back,) = json.loads(capsys.readouterr().out)["items"]
    assert (back["state"], back["attempts"]) == ("waits", 0)
    assert _once(database).done
    assert _embedded(database) == LONG


def test_the_queue_holds_nothing_of_what_is_stored(
    database: str, postgres: Server, service: Service
) -> None:
    service.refuses = True  # and repeats the text in its answer
    with MemoryMesh(database, embedder="none") as mesh:
        mesh.add("Zanzibar is where the spare key lies")
    assert _once(database).retried
    with _owner(postgres, database) as db:
        tables = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        rows = [db.execute(f'SELECT x::text FROM "{name}" x').fetchall() for (name,) in tables]
    assert "default" in str(rows)
    assert "EmbeddingError" in str(rows)
    assert "anzibar" not in str(rows)


def test_a_deleted_namespace_leaves_no_job_and_no_job_brings_it_back(
    database: str, postgres: Server
) -> None:
    _fill(database, "gone")
    with MemoryMesh(database, namespace="gone") as mesh:
        assert worker.defer(mesh) == JOBS
        delete_from_server(mesh.config)
        assert worker.queued(mesh) == []
        worker.defer(mesh)
    settings = {"likes": {"cardinality": "multi"}}  # are written into a namespace at its first use
    with MemoryMesh(database, namespace="other", predicates=settings) as mesh:
        assert worker.run(mesh, once=True).done >= len(JOBS)
        assert mesh.care.namespaces() == ["other"]
    with _owner(postgres, database) as db:
        assert db.execute("SELECT count(*) FROM memory_mesh.due").fetchone() == (1,)


def test_planning_reads_what_changed_and_not_all(database: str, postgres: Server) -> None:
    with (
        _owner(postgres, database) as db,
        MemoryMesh(database, embedder="none") as mesh,
        closing(JobQueue(database, all_namespaces(SECRET))) as queue,
    ):
        costs = list[int]()
        for count in (200, 20_000):
            db.execute(
                "INSERT INTO memory_mesh.namespace (name) "
                "SELECT 'n' || generate_series(%s::int, %s::int)",
                (count, 2 * count - 1),
            )
            db.execute(
                "INSERT INTO memory_mesh.due SELECT ns, now(), now() + interval '1 day' "
                "FROM memory_mesh.namespace WHERE name LIKE 'n%' ON CONFLICT DO NOTHING"
            )
            db.execute("ANALYZE memory_mesh.due, memory_mesh.namespace")
            for name in ("one", "two"):
                mesh.view(namespace=name).add(f"changed at {count}")
            costs.append(_blocks_read(db))
            assert queue.plan(["embed-pending"]) == (2 if count == 200 else 0)  # they wait already
            assert queue.plan(["retention"]) == 0  # nothing changed since
    assert costs[1] < 3 * costs[0]  # deeper trees; the whole list has five times as many blocks


def _blocks_read(db: psycopg.Connection) -> int:
    """Blocks that a look at the list touches, once the statement and the catalog are known."""
    look = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT memory_mesh.take_due(%s, 1000)"
    touched = 0
    for _ in range(2):
        with db.transaction(force_rollback=True):
            (found,) = db.execute(look, (all_namespaces(SECRET),)).fetchone() or ([],)
            plan = found[0]["Plan"]
            touched = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return int(touched)


def test_an_older_queue_is_brought_up_to_date_once(postgres: Server) -> None:
    name = postgres.database()
    files = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    older = [path for path in files if path.name < "03.03"]
    with psycopg.connect(queue_queue.conninfo(postgres.url(name)), autocommit=True) as db:
        db.execute(f"DROP SCHEMA {queue_queue.SCHEMA} CASCADE")
        with closing(JobQueue(postgres.url(name), all_namespaces(SECRET))) as queue:
            for call in (
                lambda: queue.defer(["retention"], "default"),
                JobWorker(postgres.url(name), queue, {}, Pace()).run,
            ):
                with pytest.raises(StoreError, match="setup-server"):
                    call()
        db.execute(f"CREATE SCHEMA {queue_queue.SCHEMA}")
        for path in older:
            db.execute(path.read_bytes())
        db.execute("CREATE TABLE migrated (name text PRIMARY KEY)")
        db.execute("INSERT INTO migrated VALUES (%s)", (older[-1].name,))
        for _ in range(2):
            queue_queue.set_up(postgres.url(name), ROLE)
            ran = [row[0] for row in db.execute("SELECT name FROM migrated ORDER BY name")]
            assert ran == [path.name for path in files[len(older) - 1 :]]
    with closing(JobQueue(postgres.url(name), all_namespaces(SECRET))) as queue:
        assert queue.defer(["retention"], "default") == ["retention"]


def test_a_store_in_a_folder_has_no_queue(tmp_path: Path) -> None:
    with MemoryMesh(tmp_path / "store") as mesh:
        assert (worker.queued(mesh), worker.retry(mesh)) == ([], 0)
        for call in (worker.defer, worker.run):
            with pytest.raises(InvalidInput, match="has no queue"):
                call(mesh)
