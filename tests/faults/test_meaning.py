"""Meaning holds in many processes, and while its index grows, dies and is removed."""

import pytest

from tests.faults.suites import sampled

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("model_folder")
def test_eight_processes_find_by_meaning_what_was_just_written(tmp_path):
    report = sampled("meaning-processes", tmp_path)
    report.holds()
    assert report.figures["read back"]


def test_a_search_during_a_rebuild_never_returns_less(tmp_path):
    sampled("meaning-index", tmp_path).holds()


def test_without_its_index_nothing_is_lost_and_a_new_one_answers_the_same(tmp_path):
    sampled("meaning-index/removed", tmp_path).holds()


def test_a_killed_absorb_leaves_an_index_that_equals_its_ledger(tmp_path):
    sampled("index-kills", tmp_path).holds()
