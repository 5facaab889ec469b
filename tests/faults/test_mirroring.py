"""A mirrored folder under hand edits, git, many writers, edits during a run, and kills."""

import pytest

from tests.faults.suites import counts, sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_every_edit_by_hand_is_the_next_version(tmp_path):
    report = sampled("mirror", tmp_path)
    report.holds()
    assert report.figures["next_versions"] == counts("mirror")["edits"]


def test_changes_of_my_memories_that_came_by_git_are_proposals(tmp_path):
    report = sampled("mirror/proposed", tmp_path)
    report.holds()
    assert report.figures["proposals"] == counts("mirror/proposed")["changes"]


def test_a_clone_with_new_memories_makes_no_proposal(tmp_path):
    report = sampled("mirror/cloned", tmp_path)
    report.holds()
    assert report.figures["stored"] == counts("mirror/cloned")["memories"]


def test_processes_that_append_to_one_file_lose_nothing(tmp_path):
    report = sampled("mirror/appended", tmp_path)
    report.holds()
    assert report.figures["found"] == 8 * counts("mirror/appended")["each"]


def test_an_edit_during_a_run_is_not_lost(tmp_path):
    report = sampled("mirror/during_runs", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("mirror/during_runs")["rounds"]


def test_a_killed_run_loses_nothing_and_the_next_one_ends_the_same(tmp_path):
    report = sampled("mirror/killed", tmp_path)
    report.holds()
    assert report.figures["kills"] == counts("mirror/killed")["kills"]
