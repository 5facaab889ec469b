"""Killed at any moment, a store holds every acknowledged write and nothing half done."""

import pytest

from tests.faults import crash, crashpoints

SEED = 20260301
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]


@pytest.mark.parametrize("writers", [1, 3])
def test_no_acknowledged_write_is_lost_by_random_kills(tmp_path, writers):
    report = crash.crash_random(tmp_path, kills=10, writers=writers, seed=SEED)
    report.holds()
    assert report.figures["kills"] == 10
    assert report.figures["acknowledged"]


def test_a_kill_at_any_statement_or_file_operation_leaves_before_or_after(tmp_path):
    report = crashpoints.crash_enumerated(tmp_path, seed=SEED, share=0.1)
    report.holds()
    assert report.figures["points"]


@pytest.mark.skipif(not crashpoints.can_trace(), reason="strace is missing or not allowed")
def test_a_kill_inside_sqlite_leaves_before_or_after(tmp_path):
    crashpoints.crash_in_system_calls(tmp_path, seed=SEED, share=0.1).holds()
