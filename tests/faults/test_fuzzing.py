"""A sample of random calls: no exception outside MeshError, and every store verifies."""

import pytest

from memory_mesh.cli import command_table
from memory_mesh.sync import MemoryMesh
from tests.faults import fuzzing
from tests.faults.sample import SEED
from tests.faults.suites import counts, sampled


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_random_calls_of_everything_raise_nothing_but_mesh_errors(tmp_path):
    report = sampled("fuzzing", tmp_path)
    report.holds()
    assert report.figures["calls"] == counts("fuzzing")["steps"]
    assert report.figures["verified"]


def test_the_suite_notices_an_exception_and_a_crash(tmp_path, monkeypatch):
    """Methods and commands that fail as a fault would."""

    def broken(*_args: object, **_named: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(MemoryMesh, "get_all", broken)
    monkeypatch.setattr(fuzzing, "_methods", lambda _: ["get_all"])
    monkeypatch.setattr(fuzzing, "_ROOTS", ("mesh", "command"))
    monkeypatch.setattr(fuzzing, "_WEIGHTS", (1, 1))
    monkeypatch.setattr(command_table, "COMMANDS", {"list": ""})
    report = fuzzing.fuzz(tmp_path, seed=SEED, rounds=1, steps=40)
    assert report.figures["outside MeshError"]
    assert any("KeyError" in each and "mesh.get_all" in each for each in report.failures)
    assert any("exit code 70" in each for each in report.failures)
