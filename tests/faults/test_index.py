"""A kill while an index is built leaves one that equals its ledger again."""

from tests.faults.suites import counts, sampled


def test_a_killed_absorb_or_rebuild_leaves_an_index_that_equals_its_ledger_again(tmp_path):
    report = sampled("index-kills-alone", tmp_path)
    report.holds()
    assert report.figures["kills"] == counts("index-kills-alone")["rounds"]
