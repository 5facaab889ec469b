"""The log of experiences is shared by processes and survives kills."""

import pytest

from tests.faults import rolling

pytestmark = pytest.mark.slow


@pytest.mark.req("R-002-034")
def test_eight_processes_draw_every_number_once(tmp_path):
    rolling.many_processes(tmp_path, processes=8, each=50).holds()


@pytest.mark.req("R-002-065")
def test_a_roll_that_is_killed_ends_the_same(tmp_path):
    report = rolling.killed_at_every_step(tmp_path, entries=210, every=7)
    report.holds()
    assert report.figures["points"]


@pytest.mark.req("R-002-065")
def test_writers_and_rolls_lose_nothing(tmp_path):
    rolling.while_rolling(tmp_path, writers=4, each=60).holds()
