"""Killed at any moment, a store holds every acknowledged write and nothing half done."""

import pytest

from tests.faults.crashcases import CASES
from tests.faults.suites import counts, sampled
from tests.faults.tracing import can_trace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]


@pytest.mark.parametrize("writers", [1, 3])
def test_no_acknowledged_write_is_lost_by_random_kills(tmp_path, writers):
    suite = {1: "crash-one-writer", 3: "crash-three-writers"}[writers]
    report = sampled(suite, tmp_path)
    report.holds()
    assert report.figures["kills"] == counts(suite)["kills"]
    assert report.figures["acknowledged"]


@pytest.mark.parametrize("half", [0, 1])
def test_a_kill_at_any_statement_or_file_operation_leaves_before_or_after(tmp_path, half):
    cases = CASES[half::2]
    report = sampled("crash-points", tmp_path, cases=cases)
    report.holds()
    assert int(str(report.figures["points"])) >= len(cases)


@pytest.mark.skipif(not can_trace(), reason="strace is missing or not allowed")
def test_a_kill_inside_sqlite_leaves_before_or_after(tmp_path):
    report = sampled("crash-system-calls", tmp_path)
    report.holds()
    assert report.figures["points"]
