"""A mirrored folder under hand edits, git, many writers, edits during a run, and kills."""

import pytest

from tests.faults import mirroring, mirroring_git

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_every_edit_by_hand_is_the_next_version(tmp_path):
    report = mirroring.hand_edits(tmp_path, edits=50, seed=2026)
    report.holds()
    assert report.figures["next_versions"] == 50


def test_changes_of_my_memories_that_came_by_git_are_proposals(tmp_path):
    report = mirroring_git.proposed(tmp_path, changes=10)
    report.holds()
    assert report.figures["proposals"] == 10


def test_a_clone_with_new_memories_makes_no_proposal(tmp_path):
    report = mirroring_git.cloned(tmp_path, memories=30)
    report.holds()
    assert report.figures["stored"] == 30


def test_processes_that_append_to_one_file_lose_nothing(tmp_path):
    report = mirroring.appended_at_once(tmp_path, processes=8, each=10)
    report.holds()
    assert report.figures["found"] == 80


def test_an_edit_during_a_run_is_not_lost(tmp_path):
    report = mirroring.edited_during_runs(tmp_path, rounds=50, seed=2026)
    report.holds()
    assert report.figures["rounds"] == 50


def test_a_killed_run_loses_nothing_and_the_next_one_ends_the_same(tmp_path):
    report = mirroring.killed(tmp_path, kills=14, seed=2026)
    report.holds()
    assert report.figures["kills"] == 14
