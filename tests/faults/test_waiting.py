"""Whoever holds the lock, and stops, sleeps or dies: reads answer, waits end, nothing is lost."""

import pytest

from tests.faults.suites import sampled

pytestmark = pytest.mark.slow


def test_no_read_waits_and_every_wait_ends_beside_stopped_slow_and_dead_holders(tmp_path):
    report = sampled("waits", tmp_path)
    report.holds()
    assert report.figures["stopped"]
    assert report.figures["writes refused"]
    assert report.figures["holder named"] == report.figures["writes refused"]


def test_of_eight_writers_each_gets_its_turns(tmp_path):
    sampled("waits/writers", tmp_path).holds()


def test_what_a_process_left_is_taken_in_once_whoever_dies_meanwhile(tmp_path):
    report = sampled("waits/spooled", tmp_path)
    report.holds()
    assert report.figures["kills"]
