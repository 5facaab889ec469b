"""The write that made an answer wrong is found by judging packs, and taken back alone."""

import pytest

from tests.faults.suites import counts, sampled


@pytest.mark.slow
def test_the_planted_write_of_each_history_is_found_and_taken_back(tmp_path):
    report = sampled("bisecting", tmp_path)
    report.holds()
    assert report.figures["histories"] == counts("bisecting")["histories"]
    assert report.figures["taken back"]
