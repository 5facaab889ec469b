"""Workers of a store in PostgreSQL: sinks beside other jobs, and what `jobs` says of them."""

import json
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import psycopg
import pytest

from memory_mesh.care.server import queue_of, settings_of, tidy
from memory_mesh.cli.main import run
from memory_mesh.ledgers.postgres.copies import name_storage
from memory_mesh.ledgers.queue.worker import JobWorker, Pace, Tell
from memory_mesh.mesh import worker
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.sync import MemoryMesh
from tests.flow.test_postgres_trips import TripsCounted
from tests.postgres import SECRET, Server


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    monkeypatch.setenv("MEMORY_MESH_EMBEDDER", "none")


def test_a_job_for_sinks_keeps_no_other_job_waiting(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = tmp_path / "audit.jsonl"
    with MemoryMesh(database, namespace="shop", sinks=[JsonLinesSink(audit)]) as mesh:
        assert worker.defer(mesh, ["webhooks"]) == ["webhooks"]
        assert worker.defer(mesh, ["webhooks"]) == []  # it waits already
    with MemoryMesh(database, namespace="shop") as mesh:
        mesh.add("The shop opens at nine")
    assert run(["--store", database, "worker", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == 3  # all but that one
    for options in (["--all"], ["--namespace", "shop"]):
        assert run(["--store", database, "jobs", *options]) == 0
        assert "webhooks waits for a process with sinks" in capsys.readouterr().out
    assert run(["--store", database, "jobs", "--json"]) == 0  # of the namespace `default`
    assert json.loads(capsys.readouterr().out)["items"] == []
    with MemoryMesh(database, namespace="other", sinks=[JsonLinesSink(audit)]) as mesh:
        worker.run(mesh, once=True)
        assert worker.queued(mesh, every_namespace=True) == []
    (line,) = audit.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["namespace"] == "shop"


def test_a_job_that_no_worker_does_keeps_no_other_job_waiting(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemoryMesh(
        database, namespace="shop", settings={"enable_wisdom_distillation": True}
    ) as mesh:
        assert worker.defer(mesh, ["distill"]) == ["distill"]
        mesh.add("The shop opens at nine")
    assert run(["--store", database, "worker", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == 3
    with MemoryMesh(
        database, namespace="shop", settings={"enable_wisdom_distillation": True}
    ) as mesh:
        worker.run(mesh, once=True)
        assert worker.queued(mesh, every_namespace=True) == []


def test_a_long_job_of_one_tenant_lets_those_of_others_come_first(database: str) -> None:
    done: list[str] = []

    def work(namespace: str, tell: Tell) -> None:
        """Three slices of a large one, one of a small one; each turn has time for one."""
        done.append(namespace)
        if done.count(namespace) < (3 if namespace == "large" else 1):
            tell(1, None)

    with MemoryMesh(database) as mesh, closing(queue_of(mesh.config)) as queue:
        for namespace in ("large", "small", "other"):
            queue.defer(["retention"], namespace)
        pace = Pace(turn=-1.0)  # it is over when it is first asked
        JobWorker(database, queue, {"retention": work}, pace).run(once=True)
    assert done == ["large", "small", "other", "large", "large"]


def test_what_did_not_change_costs_upkeep_nothing(
    database: str, postgres: Server, tmp_path: Path
) -> None:
    owner = postgres.url(database.partition("?")[0].rpartition("/")[2])

    def trips() -> int:
        """Of one look at who is due or idle, after one namespace changed."""
        with closing(TripsCounted(postgres.folder, tmp_path / f"p{next(numbers)}")) as proxy:
            config = replace(settings_of(proxy.url(database)), namespace="shop")
            with MemoryMesh(database, namespace="shop", embedder="none") as mesh:
                mesh.add(f"The shop opens at {next(numbers)}")
            with closing(queue_of(config)) as queue:
                assert queue.plan(["retention"]) <= 1
            tidy(config)
            return proxy.trips

    numbers = count()
    found = []
    name_storage(owner, "s3://archives/none?days=30")
    for more in (100, 1_900):
        with psycopg.connect(owner) as db:
            db.execute(
                "INSERT INTO memory_mesh.namespace (name) "
                "SELECT format('quiet %%s', n + (SELECT count(*) FROM memory_mesh.namespace)) "
                "FROM generate_series(1, %s) n",
                (more,),
            )
            db.execute(
                "INSERT INTO memory_mesh.due (ns, changed, at, idle_at) "
                "SELECT ns, now(), now() + interval '1 day', now() + interval '1 day' "
                "FROM memory_mesh.namespace ON CONFLICT DO NOTHING"
            )
        trips()  # the first look is at the namespace that is new
        found.append(trips())
    assert found[0] == found[1]
