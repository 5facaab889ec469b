"""On a full or failing disk an error reaches the caller, and nothing is lost or half."""

import pytest

from memory_mesh.model.errors import StoreIsFull
from tests.faults import disk
from tests.faults.suites import sampled

pytestmark = pytest.mark.slow


def test_a_full_disk_loses_nothing_and_stays_readable(tmp_path):
    report = sampled("disk-full", tmp_path)
    report.holds()
    assert report.figures["refused"]


def test_a_sink_on_a_full_disk_hears_every_block_in_the_end(tmp_path):
    disk.sink_on_a_full_disk(tmp_path).holds()


def test_a_disk_without_a_free_block_is_said_to_be_full(tmp_path):
    said = disk.no_free_block(tmp_path)
    if not said:
        pytest.skip("this machine lets nobody mount anything")
    assert said == f"StoreIsFull: {StoreIsFull.__doc__}"


@pytest.mark.skipif(not disk.can_inject_errors(), reason="libfiu is missing")
def test_a_failing_disk_raises_store_errors_and_loses_nothing(tmp_path):
    report = sampled("disk-errors", tmp_path)
    report.holds()
    assert report.figures["errors"]
    assert report.figures["acknowledged"], report
