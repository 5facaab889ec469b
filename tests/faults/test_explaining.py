"""The gate that dropped a memory is named, in cases where it is known by construction."""

from dataclasses import replace

import pytest

from tests.faults import explaining
from tests.faults.explaining_cases import KINDS
from tests.faults.sample import SEED
from tests.faults.suites import sampled


@pytest.mark.slow
def test_every_gate_is_named_where_it_was_planted(tmp_path):
    report = sampled("explaining", tmp_path)
    report.holds()
    planted = {name: len(plants) for name, plants in KINDS.items()}
    assert {name: report.figures[f"gate {name}"] for name in KINDS} == planted
    assert report.figures["shares added up"]


def test_the_suite_notices_a_wrong_gate(tmp_path, monkeypatch):
    """Two gates that a search cannot tell apart."""
    (plant,) = KINDS["validity"]
    lying = {"filter": (lambda ground: replace(plant(ground), gate="filter"),)}
    monkeypatch.setattr(explaining, "KINDS", lying)
    assert explaining.explained(tmp_path, cases=3, seed=SEED).figures["wrong gate"] == 3


def test_the_suite_notices_a_case_that_is_wrong_itself(tmp_path, monkeypatch):
    plant = KINDS["shown"][0]
    lying = {"filter": (lambda ground: replace(plant(ground), gate="filter"),)}
    monkeypatch.setattr(explaining, "KINDS", lying)
    report = explaining.explained(tmp_path, cases=3, seed=SEED)
    assert (report.figures["planted wrong"], report.figures["wrong gate"]) == (3, 0)
