"""Many processes share a namespace: nothing lost, nothing twice, nobody starves."""

import pytest

from tests.faults.suites import sampled

pytestmark = pytest.mark.slow


def test_eight_processes_lose_nothing_and_read_their_writes(tmp_path):
    report = sampled("processes", tmp_path)
    report.holds()
    assert report.figures["read back"]
    assert report.figures["read across processes"]


def test_ids_drawn_at_once_are_stored_once(tmp_path):
    sampled("processes/ids", tmp_path).holds()
