"""Whoever changes the checkpointed part of a chain is found out."""

import pytest

from tests.faults.suites import counts, sampled
from tests.faults.tamper import MUTATIONS

pytestmark = pytest.mark.slow


def test_every_mutation_is_detected_against_a_checkpoint(tmp_path):
    report = sampled("audit", tmp_path)
    report.holds()
    assert report.figures["mutations"] == counts("audit")["mutations"] >= len(MUTATIONS)


def test_every_edit_of_every_column_is_detected(tmp_path):
    sampled("audit/every_edit", tmp_path).holds()


def test_a_long_chain_verifies_quickly(tmp_path):
    """Counted, not timed: twice the chain takes about twice the steps."""
    report = sampled("audit-speed", tmp_path)
    report.holds()
    assert report.figures["blocks"] == counts("audit-speed")["blocks"]
