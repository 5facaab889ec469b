"""Processes that store, link and fill prompts at once lose nothing when they are killed."""

import pytest

from tests.faults.suites import counts, sampled


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_writers_lose_no_acknowledged_memory_link_or_prompt(tmp_path):
    report = sampled("linking", tmp_path)
    report.holds()
    assert report.figures["kills"] == 8 * counts("linking")["rounds"]
    assert report.figures["similar links"]
    assert report.figures["prompts"]
