"""Whoever changes the checkpointed part of a chain is found out."""

import pytest

from tests.faults import tamper

SEED = 20260306
pytestmark = pytest.mark.slow


def test_every_mutation_is_detected_against_a_checkpoint(tmp_path):
    report = tamper.tampering(tmp_path, mutations=100, seed=SEED)
    report.holds()
    assert report.figures["mutations"] == 100


def test_every_edit_of_every_column_is_detected(tmp_path):
    tamper.every_edit(tmp_path, seed=SEED).holds()


def test_a_long_chain_verifies_quickly(tmp_path):
    report = tamper.verify_many(tmp_path, blocks=10_000)
    report.holds()
    assert report.figures["blocks"] == 10_000
