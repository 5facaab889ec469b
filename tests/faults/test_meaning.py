"""Meaning holds in many processes, and while its index grows, dies and is removed."""

import pytest

from tests.faults import meaning

SEED = 20260404
pytestmark = pytest.mark.slow


def test_eight_processes_find_by_meaning_what_was_just_written(tmp_path, model_folder):
    report = meaning.read_your_writes(tmp_path, model_folder, processes=8, rounds=104)
    report.holds()
    assert report.figures["read back"]


def test_a_search_during_a_rebuild_never_returns_less(tmp_path):
    meaning.never_less(tmp_path, texts=1_500, searches=100, seed=SEED).holds()


def test_without_its_index_nothing_is_lost_and_a_new_one_answers_the_same(tmp_path):
    meaning.index_removed(tmp_path, texts=2_000, queries=200, seed=SEED).holds()


def test_a_killed_absorb_leaves_an_index_that_equals_its_ledger(tmp_path):
    meaning.killed_absorbs(tmp_path, rounds=5, seed=SEED).holds()
