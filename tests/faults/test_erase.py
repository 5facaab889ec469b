"""What is erased is hidden at once, leaves no byte that we own, and does not come back."""

import pytest

from tests.faults.suites import sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_random_sets_are_erased_to_the_last_byte_whatever_is_killed(tmp_path):
    report = sampled("erase", tmp_path)
    report.holds()
    assert report.figures["kills"]
    assert report.figures["refused"]
