"""A damaged store is found out, and the rest of it can be salvaged."""

import pytest

from tests.faults import file_damage
from tests.faults.damages import FLIPS, INDEX, SWAPS
from tests.faults.suites import counts, sampled

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_a_flipped_bit_that_changes_an_answer_is_found_and_the_rest_can_be_salvaged(tmp_path):
    report = sampled("damage", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("damage")["rounds"] >= len(FLIPS)
    assert report.figures["memories to salvage"]


def test_a_file_that_was_cut_emptied_or_swapped_is_found(tmp_path):
    report = sampled("damage/swaps", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("damage/swaps")["rounds"] >= len(SWAPS)


def test_a_damaged_index_changes_the_order_of_a_search_at_most(tmp_path):
    report = sampled("damage/index", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("damage/index")["rounds"] >= len(INDEX)


def test_any_file_of_the_folder_may_be_damaged_and_no_answer_is_wrong_in_silence(tmp_path):
    report = sampled("damage/files", tmp_path)
    report.holds()
    assert report.figures["rounds"] == counts("damage/files")["rounds"] >= len(file_damage.DAMAGES)
