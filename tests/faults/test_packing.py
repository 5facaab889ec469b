"""A sample of the proof that no pack exceeds its budget and none can be broken out of."""

import pytest

from memory_mesh.context.packing import choice
from tests.faults import packing
from tests.faults.sample import SEED
from tests.faults.suites import counts, sampled


@pytest.mark.slow
@pytest.mark.req("R-003-070")
def test_a_tenth_of_the_packs_keeps_to_its_budget_and_its_fence() -> None:
    """`just prove packing` has 10,000 packs, 1,000 hostile texts and 20,000 counted ones."""
    report = sampled("packing")
    report.holds()
    given = counts("packing")
    assert report.figures["cases"] == given["cases"]
    assert report.figures["hostile texts"] == given["texts"]
    assert report.figures["tokenizers"]
    with_memories = report.figures["cases with memories"]
    assert isinstance(with_memories, int)
    assert with_memories > given["cases"] // 4


def test_a_counter_that_counts_too_little_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_price", lambda part: len(part) // 4)
    monkeypatch.setattr(choice, "_after_blank", lambda word: len(word) // 4)
    report = packing.everything(cases=20, texts=1, counted=50, seed=SEED)
    assert report.figures["too low"]
