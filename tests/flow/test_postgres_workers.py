"""Workers of a store in PostgreSQL: sinks beside other jobs, and what `jobs` says of them."""

import json
from pathlib import Path

import pytest

from memory_mesh.cli.main import run
from memory_mesh.mesh import worker
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.sync import MemoryMesh
from tests.postgres import SECRET


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
