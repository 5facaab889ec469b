"""No pattern makes matching slow."""

import pytest

from tests.faults import evil_patterns
from tests.faults.sample import SEED
from tests.faults.suites import counts, sampled


def test_there_are_200_evil_patterns():
    assert len(set(evil_patterns.evil(SEED))) == evil_patterns.PATTERNS


@pytest.mark.slow
def test_a_tenth_of_the_evil_patterns_is_matched_in_no_time():
    """`just prove triggers` has 100 ms for each; here the time may grow as the text does."""
    report = sampled("triggers")
    report.holds()
    assert report.figures["patterns"] == counts("triggers")["count"]
    assert report.figures["matches"]
    assert report.figures["no match"]
