"""An import of another tool's file that is killed twice ends whole and without doubles."""

import pytest

from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_killed_import_ends_whole_and_without_doubles(tmp_path):
    report = sampled("moving-in", tmp_path)
    report.holds()
    assert report.figures["kills"] == 2
    assert report.figures["stored before the last run"]
    assert report.figures["stored by the last run"]
