"""Moves, killed movers and a dead server lose nothing of a fleet, and double nothing."""

import pytest

from tests.faults.suites import counts, sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_fleet_loses_nothing_when_movers_and_servers_are_killed(tmp_path):
    report = sampled("fleet", tmp_path)
    report.holds()
    assert report.figures["moves"] == counts("fleet")["moves"]
    assert report.figures["movers killed"] == counts("fleet")["kills"]
    assert report.figures["failovers"] == counts("fleet")["failovers"]
    assert report.figures["acknowledged"]
    assert report.figures["reads"]
