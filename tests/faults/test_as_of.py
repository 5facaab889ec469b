"""A read of the past returns exactly what was known then."""

import pytest

from tests.faults import machine

SEED = 20260305


@pytest.mark.slow
def test_membership_is_exact_at_every_moment():
    report = machine.as_of(examples=60, seed_=SEED)
    assert report.figures["reads compared"]
