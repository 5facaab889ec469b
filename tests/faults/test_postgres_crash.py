"""Killed at any moment, PostgreSQL and its writers lose no acknowledged write and tear none."""

import pytest

from tests.faults import postgres_crash

SEED = 20260320
ROUNDS = 8
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_no_acknowledged_write_is_lost_by_kills_of_server_or_writers(tmp_path):
    report = postgres_crash.killed(tmp_path, rounds=ROUNDS, writers=3, seed=SEED)
    report.holds()
    assert report.figures["kills"] == ROUNDS
    assert report.figures["acknowledged"]
    assert report.figures["looks of readers"]
