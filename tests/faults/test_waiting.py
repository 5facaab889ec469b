"""Whoever holds the lock, and stops, sleeps or dies: reads answer, waits end, nothing is lost."""

import pytest

from tests.faults import waiting

SEED = 20261116
pytestmark = pytest.mark.slow


def test_no_read_waits_and_every_wait_ends_beside_stopped_slow_and_dead_holders(tmp_path):
    report = waiting.stopped_holders(tmp_path, places=10, seed=SEED, strict=False, traced=False)
    report.holds()
    assert report.figures["stopped"]
    assert report.figures["writes refused"]
    assert report.figures["holder named"] == report.figures["writes refused"]


def test_of_eight_writers_each_gets_its_turns(tmp_path):
    waiting.many_writers(tmp_path, writers=8, each=10, strict=False).holds()


def test_what_a_process_left_is_taken_in_once_whoever_dies_meanwhile(tmp_path):
    report = waiting.spooled(tmp_path, rounds=4, seed=SEED)
    report.holds()
    assert report.figures["kills"]
