"""Processes that store, link and fill prompts at once lose nothing when they are killed."""

import pytest

from tests.faults import linking_processes

SEED = 20261416


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_writers_lose_no_acknowledged_memory_link_or_prompt(tmp_path):
    report = linking_processes.killed(tmp_path, rounds=5, processes=8, seed=SEED)
    report.holds()
    assert report.figures["kills"] == 40
    assert report.figures["similar links"]
    assert report.figures["prompts"]
