"""No policy and no clock makes retention touch what is protected."""

import pytest

from tests.faults import retaining

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_what_is_protected_is_never_touched(tmp_path):
    report = retaining.protected_untouched(tmp_path, rounds=1_000, seed=2026)
    report.holds()
    assert report.figures["archived"]
    assert report.figures["compressed"]
