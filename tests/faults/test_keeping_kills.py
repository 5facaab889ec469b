"""A kill during backup, restore, move or repair leaves a whole store."""

import pytest

from tests.faults.keeping_kills import ACTIONS
from tests.faults.suites import counts, sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_kill_leaves_the_old_or_the_new_store_whole_and_the_next_run_succeeds(tmp_path):
    report = sampled("keeping-kills", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("keeping-kills")["rounds"] >= len(ACTIONS)
    assert report.figures["killed"]
