"""Distillation, killed anywhere or run by several at once, teaches each pattern once."""

import pytest

from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_killed_at_a_step_and_run_again_it_ends_the_same(tmp_path):
    report = sampled("distilling", tmp_path)
    report.holds()
    assert report.figures["points"]


def test_several_processes_at_once_learn_each_pattern_once(tmp_path):
    sampled("distilling/several", tmp_path).holds()
