"""No policy and no clock makes retention touch what is protected."""

import pytest

from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_what_is_protected_is_never_touched(tmp_path):
    report = sampled("retention", tmp_path)
    report.holds()
    assert report.figures["archived"]
    assert report.figures["compressed"]
