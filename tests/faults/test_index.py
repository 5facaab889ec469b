"""Of the index's fault suites a few rounds; `just prove` runs them all."""

from tests.faults.index import killed_absorbs


def test_a_killed_absorb_or_rebuild_leaves_an_index_that_equals_its_ledger_again(tmp_path):
    report = killed_absorbs(tmp_path, seed=3, rounds=5)
    report.holds()
    assert report.figures["kills"] == 5
