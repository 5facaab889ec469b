"""No pattern makes matching slow."""

import pytest

from tests.faults import evil_patterns

SEED = 2026


def test_there_are_200_evil_patterns():
    assert len(set(evil_patterns.evil(SEED))) == evil_patterns.PATTERNS


@pytest.mark.slow
def test_a_tenth_of_the_evil_patterns_is_matched_in_no_time():
    """`just prove triggers` has all of them and 100 ms; here a machine may be slow."""
    report = evil_patterns.linear(seed=SEED, every=10, limit_ms=1_000)
    report.holds()
    assert report.figures["patterns"] == 20
    assert report.figures["matches"]
    assert report.figures["no match"]
