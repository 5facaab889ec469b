"""Of the archive's round trip a tenth; `just prove round-trip` asks all the questions."""

import pytest

from tests.faults import round_trip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_an_imported_archive_answers_as_its_store_and_exports_to_the_same_bytes(tmp_path):
    report = round_trip.round_trip(tmp_path, queries=50, seed=20261118, memories=100)
    report.holds()
    assert report.figures["queries"] == 100
    assert report.figures["hits"]
