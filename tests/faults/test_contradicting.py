"""Contradictions at once leave one value, and what does not contradict is never lost."""

import pytest

from tests.faults.contradicting import VALUES
from tests.faults.suites import counts, sampled

pytestmark = pytest.mark.slow


def test_fifty_values_from_four_processes_leave_one(tmp_path):
    report = sampled("contradicting", tmp_path)
    report.holds()
    assert report.figures["writes"] == counts("contradicting")["rounds"] * VALUES


def test_eight_writers_of_steps_lose_none(tmp_path):
    report = sampled("contradicting/steps", tmp_path)
    report.holds()
    assert report.figures["stored"] == 8 * counts("contradicting/steps")["steps"]
