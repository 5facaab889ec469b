"""Consolidation and retention, killed anywhere or run by several at once, end the same."""

import pytest

from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_killed_at_a_step_and_run_again_it_ends_the_same(tmp_path):
    report = sampled("consolidation", tmp_path)
    report.holds()
    assert report.figures["points"]


def test_several_processes_at_once_put_each_trace_into_one_learning(tmp_path):
    sampled("consolidation/several", tmp_path).holds()
