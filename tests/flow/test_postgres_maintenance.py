"""The upkeep of memories over PostgreSQL: the same steps, twice is once, killed at any of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memory_mesh.compat.neolata import memory_graph
from memory_mesh.learn.rules import retention as lifecycle
from memory_mesh.mesh import worker
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.sample import spread
from tests.flow.test_maintenance import (
    AGENT,
    BUDGET,
    JOB,
    MONTHS,
    USER,
    Graph,
    State,
    Words,
    everything,
    fill,
    opened,
    state,
)
from tests.postgres import APP, SECRET, Server
from tests.receipts import id_of

ROOT = Path(__file__).parents[2]
KILLED = (
    "import sys; from tests.flow.test_postgres_maintenance import killed; killed(*sys.argv[1:])"
)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())


@contextmanager
def served(database: str, clock: FrozenClock) -> Iterator[Graph]:
    """The graph of test_maintenance in a database."""
    with memory_graph.create_memory(store=database, clock=clock, custom_embedder=Words()) as graph:
        yield graph


def filled(graph: Graph, clock: FrozenClock) -> dict[str, str]:
    """Something for each step, with the links that clusters are found by; ids by name."""
    ids = fill(graph, clock)
    graph._mesh.graph.clusters()
    return ids


@pytest.fixture(scope="module")
def on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> State:
    """What the job makes of the same memories in a file."""
    clock = FrozenClock()
    with opened(tmp_path_factory.mktemp("graph"), clock) as graph:
        filled(graph, clock)
        graph._mesh.care.run_jobs(JOB)
        return state(graph)


def test_the_job_makes_each_step_and_ends_as_over_sqlite(
    database: str, clock: FrozenClock, on_sqlite: State
) -> None:
    with served(database, clock) as graph:
        ids = filled(graph, clock)
        planned = graph.consolidate(dry_run=True)
        assert all((planned.deduplicated, planned.contradictions, planned.corroborated))
        assert all((planned.compressed, planned.pruned))
        assert graph.consolidate(dry_run=True) == planned
        (report,) = graph._mesh.care.run_jobs(JOB)
        assert [step.action for step in report.steps] == [
            "dedupe",
            "contradictions",
            "corroboration",
            "digest",
        ]
        assert state(graph) == on_sqlite
        assert (ids["faint"],) in [step.ids for step in graph.consolidate().pruned]
        assert graph.consolidate() == type(planned)((), (), (), (), ())
        assert graph._mesh.care.verify().findings == ()


def test_twice_is_once_for_a_worker_too(
    database: str, clock: FrozenClock, on_sqlite: State
) -> None:
    with served(database, clock) as graph:
        filled(graph, clock)
        graph._mesh.care.run_jobs(JOB)
        once = state(graph)
        assert once == on_sqlite
        graph._mesh.graph.clusters()  # the links of the digest are made
        (again,) = graph._mesh.care.run_jobs(JOB)
        assert again.steps == ()
        clock.advance(timedelta(hours=7))
        with MemoryMesh(database, clock=clock, custom_embedder=Words()) as mesh:
            worker.defer(mesh, ["retention"])
            assert worker.run(mesh, once=True).failed == 0
            assert worker.queued(mesh) == []
        assert state(graph) == once


def killed(database: str, now: str, steps: str) -> None:
    """Runs the job in a process of its own that dies once so many steps were told of."""
    left = int(steps)

    def progress(_job: str, _steps: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    with served(database, FrozenClock(datetime.fromisoformat(now))) as graph:
        graph._mesh.care.run_jobs(JOB, progress=progress)


def test_killed_at_any_step_it_ends_the_same(postgres: Server, on_sqlite: State) -> None:
    for after in spread(99, 2):
        database = postgres.database()
        url, clock = postgres.url(database, APP), FrozenClock()
        with served(url, clock) as graph:
            filled(graph, clock)
        now = clock.now().isoformat()
        child = subprocess.run(
            [sys.executable, "-c", KILLED, url, now, str(after)],
            cwd=ROOT, check=False, timeout=300,
        )  # fmt: skip
        assert child.returncode in {0, -signal.SIGKILL}
        ended = child.returncode == 0  # it has fewer steps than that
        with served(url, clock) as graph:
            graph._mesh.care.run_jobs(JOB)
            assert state(graph) == on_sqlite, f"killed after step {after}"
            assert graph._mesh.care.verify().findings == ()
        postgres.drop(database)
        if ended:
            break
    assert ended
    assert after > 3


def test_what_is_protected_is_never_touched(database: str, clock: FrozenClock) -> None:
    with served(database, clock) as graph:
        mesh = graph._mesh
        filled(graph, clock)
        for number, (kind, said) in enumerate(
            [("fact", USER), ("lesson", AGENT), ("preference", USER), ("fact", AGENT)]
        ):
            for text in ("the lamp is green", "The lamp is: green!", "we say the lamp is green"):
                mesh.add(
                    text, kind=kind, source_kind=said["source"], pinned=number == 3,
                    claim=BUDGET | {"value": f"{number}k"}, importance="low",
                    allow_duplicate=True, source_ref=f"{number} {text}",
                )  # fmt: skip
        clock.advance(2 * MONTHS)
        held = [each for each in everything(graph).values() if lifecycle.why_protected(each)]
        before = {memory.id: (memory, mesh.history(memory.id)) for memory in held}
        assert len(held) >= 10
        mesh.care.run_jobs(JOB)
        graph.consolidate(archive_originals=True)
        graph.auto_compress(archive_originals=True, min_cluster_size=2)
        graph.decay()
        found = everything(graph)
        for id_, (memory, versions) in before.items():
            assert found[id_] == memory
            assert mesh.history(id_) == versions


def test_each_change_over_postgresql_can_be_undone(database: str, clock: FrozenClock) -> None:
    with served(database, clock) as graph:
        ids = filled(graph, clock)
        graph.consolidate()
        mesh = graph._mesh
        again = mesh.review.undo(ids["again"], scope=graph._reader(ids["again"]))
        assert again is not None
        assert everything(graph)[ids["again"]].status.value == "active"
        mesh.restore(ids["faint"], scope=graph._reader(ids["faint"]))
        assert graph.consolidate().deduplicated == ()
        assert id_of(graph.store("kuro", "a lamp stood there")) == ids["faint"]
