"""A night goes on where it was interrupted, and says what did not hold."""

import json
import os
from pathlib import Path

import pytest

from tests.faults.suites import SUITES
from tools import night


@pytest.fixture
def steps(monkeypatch):
    """What ran; "users" does not hold, and "fork" is interrupted at its first try."""
    ran = []

    def run(step, seed, folder):
        ran.append(step)
        if step == "fork" and ran.count("fork") == 1:
            raise KeyboardInterrupt
        held = step != "users"
        return {"held": held, "seconds": 3, "command": f"do {step} {seed}", "end": "lost: 1"}

    monkeypatch.setattr(night, "_run", run)
    monkeypatch.setattr(night, "commit", lambda: "abc")
    return ran


def test_an_interrupted_night_goes_on_with_its_seed_and_repeats_nothing(tmp_path, steps):
    with pytest.raises(KeyboardInterrupt):
        night.main(["--only", "users", "fork"], tmp_path)
    before = json.loads((tmp_path / "state.json").read_text())
    assert night.main(["--only", "users", "fork"], tmp_path) == 1
    assert steps == ["users", "fork", "fork"]
    assert json.loads((tmp_path / "state.json").read_text())["seed"] == before["seed"]


def test_the_report_says_what_did_not_hold_and_how_to_repeat_it(tmp_path, steps):
    assert night.main(["--only", "users", "packing"], tmp_path) == 1
    report = (tmp_path / "report.md").read_text()
    assert "2 of 2 steps done, 1 broken" in report
    assert "| users | **broken** | 3 | `do users 2" in report
    assert "| packing | held |" in report
    assert "lost: 1" in report


def test_another_commit_begins_a_night_of_its_own(tmp_path, steps, monkeypatch):
    night.main(["--only", "packing"], tmp_path)
    monkeypatch.setattr(night, "commit", lambda: "def")
    assert night.main(["--only", "packing"], tmp_path) == 0
    assert steps == ["packing", "packing"]


def test_the_steps_are_all_tests_and_every_fault_suite(capsys):
    assert night.main(["--list"]) == 0
    listed = capsys.readouterr().out.split()
    assert listed == [night.TESTS, *SUITES]


def test_the_gate_s_tests_run_again_and_again_in_turns_alone_and_in_company(tmp_path, steps):
    assert night.main(["--again", "3"], tmp_path / "night") == 0
    assert steps == ["again-1", "again-2-busy", "again-3"]
    assert "3 of 3 steps done, 0 broken" in (tmp_path / "again/report.md").read_text()


def test_company_keeps_cores_busy_and_goes():
    before = _children()
    with night.company(2):
        assert len(_children() - before) == 2
    assert _children() == before


def _children():
    return {*Path("/proc/self/task", str(os.getpid()), "children").read_text().split()}
