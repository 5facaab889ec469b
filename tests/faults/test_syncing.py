"""Machines in any order of events, and syncs that are killed: a sample of what `prove` runs."""

import pytest

from tests.faults.suites import counts, sampled

pytest.importorskip("nacl")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_three_machines_in_any_order_end_in_equal_folds_and_lose_and_bring_back_nothing(tmp_path):
    report = sampled("sync", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("sync")["rounds"]
    for event in ("clone", "restore", "skew", "rotate", "revoke", "erase", "conflicts"):
        assert report.figures[event], event


def test_stores_in_any_order_say_what_their_records_say(tmp_path):
    report = sampled("sync/stores", tmp_path)
    report.holds()
    assert report.figures["sync"]


def test_a_killed_sync_loses_nothing_and_the_next_one_goes_on(tmp_path):
    report = sampled("sync/kills", tmp_path)
    report.holds()
    assert report.figures["killed"]
