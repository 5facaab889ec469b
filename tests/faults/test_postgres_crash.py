"""Killed at any moment, PostgreSQL and its writers lose no acknowledged write and tear none."""

import pytest

from tests.faults.postgres_crash import KINDS
from tests.faults.suites import counts, sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_no_acknowledged_write_is_lost_by_kills_of_server_or_writers(tmp_path):
    report = sampled("postgres-crash", tmp_path)
    report.holds()
    assert report.figures["kills"] == counts("postgres-crash")["rounds"] >= len(KINDS)
    assert report.figures["acknowledged"]
    assert report.figures["looks of readers"]
