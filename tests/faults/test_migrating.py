"""A migration of the original's table survives a kill at any step, forwards and backwards."""

import pytest

from tests.faults import migrating
from tests.faults.suites import sampled
from tests.faults.tracing import can_trace

pytestmark = pytest.mark.slow


@pytest.mark.req("R-000-247", "R-000-266")
def test_a_migration_killed_at_every_step_ends_as_undisturbed_and_can_be_undone(tmp_path):
    report = sampled("migrating", tmp_path)
    report.holds()
    assert report.figures["killed"] == report.figures["points"]


@pytest.mark.skipif(not can_trace(), reason="strace is not installed or not allowed")
def test_so_does_one_killed_inside_lance(tmp_path):
    report = sampled("migrating/system_calls", tmp_path)
    report.holds()
    assert report.figures["killed"]


def test_two_processes_migrate_a_table_once(tmp_path):
    report = migrating.at_once(tmp_path, processes=4)
    report.holds()
    assert report.figures["changed"] == 1
