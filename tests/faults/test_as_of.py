"""A read of the past returns exactly what was known then."""

import pytest

from tests.faults.suites import sampled


@pytest.mark.slow
def test_membership_is_exact_at_every_moment():
    report = sampled("as-of")
    assert report.figures["reads compared"]
