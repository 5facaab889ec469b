"""Contradictions at once leave one value, and what does not contradict is never lost."""

import pytest

from tests.faults import contradicting

pytestmark = pytest.mark.slow


def test_fifty_values_from_four_processes_leave_one(tmp_path):
    report = contradicting.one_value_is_left(tmp_path, rounds=10)
    report.holds()
    assert report.figures["writes"] == 10 * contradicting.VALUES


def test_eight_writers_of_steps_lose_none(tmp_path):
    report = contradicting.no_step_is_lost(tmp_path)
    report.holds()
    assert report.figures["stored"] == 320
