"""Many processes share a namespace: nothing lost, nothing twice, nobody starves."""

import pytest

from tests.faults import race

SEED = 20260303
pytestmark = pytest.mark.slow


def test_eight_processes_lose_nothing_and_read_their_writes(tmp_path):
    report = race.many_processes(tmp_path, processes=8, operations=50, seed=SEED)
    report.holds()
    assert report.figures["read back"]
    assert report.figures["read across processes"]


def test_ids_drawn_at_once_are_stored_once(tmp_path):
    race.draw_ids_at_once(tmp_path, processes=8, each=200).holds()
