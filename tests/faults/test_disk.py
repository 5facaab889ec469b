"""On a full or failing disk an error reaches the caller, and nothing is lost or half."""

import pytest

from tests.faults import disk

SEED = 20260302
pytestmark = pytest.mark.slow


def test_a_full_disk_loses_nothing_and_stays_readable(tmp_path):
    report = disk.disk_full(tmp_path, rounds=4, seed=SEED)
    report.holds()
    assert report.figures["refused"]


def test_a_sink_on_a_full_disk_hears_every_block_in_the_end(tmp_path):
    disk.sink_on_a_full_disk(tmp_path).holds()


@pytest.mark.skipif(not disk.can_inject_errors(), reason="libfiu is missing")
def test_a_failing_disk_raises_store_errors_and_loses_nothing(tmp_path):
    report = disk.disk_errors(tmp_path, rounds=5, operations=400, seed=SEED)
    report.holds()
    assert report.figures["errors"]
    assert report.figures["acknowledged"]
