"""Distillation, killed anywhere or run by several at once, teaches each pattern once."""

import pytest

from tests.faults import distilling

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_killed_at_a_step_and_run_again_it_ends_the_same(tmp_path):
    report = distilling.killed_at_every_step(tmp_path, every=10)
    report.holds()
    assert report.figures["points"]


def test_several_processes_at_once_learn_each_pattern_once(tmp_path):
    distilling.several_at_once(tmp_path, rounds=10).holds()
