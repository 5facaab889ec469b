"""Of the damages a fixed tenth; `just prove damage` does them all."""

import pytest

from tests.faults import damage

SEED = 20261116
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_a_flipped_bit_that_changes_an_answer_is_found_and_the_rest_can_be_salvaged(tmp_path):
    report = damage.flips(tmp_path, rounds=50, seed=SEED)
    report.holds()
    assert report.figures["rounds"] == 50
    assert report.figures["memories to salvage"]


def test_a_file_that_was_cut_emptied_or_swapped_is_found(tmp_path):
    report = damage.swaps(tmp_path, rounds=25, seed=SEED)  # each kind once
    report.holds()
    assert report.figures["rounds"] == 25


def test_a_damaged_index_changes_the_order_of_a_search_at_most(tmp_path):
    report = damage.index(tmp_path, rounds=10, seed=SEED)
    report.holds()
    assert report.figures["rounds"] == 10
