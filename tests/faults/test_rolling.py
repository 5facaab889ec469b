"""The log of experiences is shared by processes and survives kills."""

import pytest

from tests.faults.suites import sampled

pytestmark = pytest.mark.slow


@pytest.mark.req("R-002-034")
def test_eight_processes_draw_every_number_once(tmp_path):
    sampled("rolling/numbers", tmp_path).holds()


@pytest.mark.req("R-002-065")
def test_a_roll_that_is_killed_ends_the_same(tmp_path):
    report = sampled("rolling", tmp_path)
    report.holds()
    assert report.figures["points"]


@pytest.mark.req("R-002-065")
def test_writers_and_rolls_lose_nothing(tmp_path):
    sampled("rolling/writers", tmp_path).holds()
