"""An archive brings back the same answers."""

import pytest

from tests.faults.suites import counts, sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_an_imported_archive_answers_as_its_store_and_exports_to_the_same_bytes(tmp_path):
    report = sampled("round-trip", tmp_path)
    report.holds()
    assert report.figures["queries"] == 2 * counts("round-trip")["queries"]
    assert report.figures["hits"]
