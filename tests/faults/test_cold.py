"""Killed at any moment, a namespace that goes to object storage or comes back loses nothing."""

import pytest

from tests.faults import cold
from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_namespaces_go_and_come_back_under_load_and_kills(tmp_path, postgres, storage):
    with cold.among(tmp_path, postgres, storage) as place:
        report = sampled("cold", *place)
    report.holds()
    assert report.figures["kills"]
    assert report.figures["acknowledged"]
    assert report.figures["sent"] == report.figures["namespaces"]
