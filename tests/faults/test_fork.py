"""After fork() parent and child both go on, whatever the parent's threads were doing."""

import threading

import pytest

from memory_mesh.model.errors import StoreError
from memory_mesh.platform import forks
from memory_mesh.sync import MemoryMesh
from tests.faults import forking
from tests.faults.processes import Child, call
from tests.faults.suites import counts, sampled

pytestmark = pytest.mark.slow


def test_fork_at_any_moment_loses_nothing_and_never_hangs(tmp_path):
    report = sampled("fork", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("fork")["rounds"] >= len(forking.SCENARIOS)


def test_recall_blocks_are_not_doubled_by_fork(tmp_path):
    sampled("fork/recalls", tmp_path).holds()


def test_a_child_of_a_long_statement_refuses_instead_of_losing_writes(tmp_path):
    told, refused = call(forking._quietly, _fork_in_a_long_statement, tmp_path)
    assert told == "stored"
    assert "forked" in refused


def _fork_in_a_long_statement(folder):
    """A fork that has waited long enough goes ahead; the child must know what it may not do."""
    forks._PATIENCE = 0.2
    reading, done = threading.Event(), threading.Event()
    mesh = MemoryMesh(db_dir=folder)
    mesh.add("something")

    def read_for_long():
        with mesh._opened().ledger.read("default"):
            reading.set()
            done.wait(300)

    thread = threading.Thread(target=read_for_long)
    thread.start()
    reading.wait(300)
    child = Child(_refusal, mesh)
    done.set()
    thread.join()
    told = mesh.add("in the parent").outcome.value
    refused = child.result(300)
    mesh.close()
    return told, refused


def _refusal(mesh):
    try:
        mesh.add("in the child")
    except StoreError as error:
        return str(error)
    return "stored"
