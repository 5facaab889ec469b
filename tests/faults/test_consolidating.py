"""Consolidation and retention, killed anywhere or run by several at once, end the same."""

import pytest

from tests.faults import consolidating

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_killed_at_a_step_and_run_again_it_ends_the_same(tmp_path):
    report = consolidating.killed_at_every_step(tmp_path, every=10)
    report.holds()
    assert report.figures["points"]


def test_several_processes_at_once_put_each_trace_into_one_learning(tmp_path):
    consolidating.several_at_once(tmp_path, rounds=5).holds()
