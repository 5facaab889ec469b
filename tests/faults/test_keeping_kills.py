"""Of the kills during backup, restore, move and repair a tenth; `just prove keeping-kills`."""

import pytest

from tests.faults import keeping_kills

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_kill_leaves_the_old_or_the_new_store_whole_and_the_next_run_succeeds(tmp_path):
    report = keeping_kills.killed(tmp_path, rounds=12, seed=20261119)
    report.holds()
    assert report.figures["rounds"] == 12
    assert report.figures["killed"]
