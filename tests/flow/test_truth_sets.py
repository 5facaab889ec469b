"""The sets of statements that are true together: nothing is hidden, next to nothing is linked."""

from hashlib import sha256

import pytest

from bench import truth
from memory_mesh.model import Status

LINKED_AT_MOST = 0.01


@pytest.mark.parametrize("half", ["dev", "test"])
def test_what_is_true_together_stays_and_is_not_linked(mesh, half):
    pairs = truth.rows(half, "both_true")
    pairs += [row for row in truth.rows(half, "other_languages") if row["both_true"]]
    hidden, linked = [], []
    for row in pairs:
        view = mesh.view(namespace=row["id"])
        receipts = [view.add(text) for text in truth.statements(row)]
        every = view.get_all(include=list(Status))
        hidden += [row["id"] for memory in every if memory.status is not Status.ACTIVE]
        linked += [row["id"] for receipt in receipts if receipt.newer_than]
        linked += [row["id"] for conflict in view.review.conflicts() if conflict.is_guess]
        assert len(every) == 2
    assert hidden == []
    assert len(set(linked)) <= LINKED_AT_MOST * len(pairs)


@pytest.mark.parametrize("half", ["dev", "test"])
def test_no_other_language_is_read(mesh, half):
    for row in truth.rows(half, "other_languages"):
        view = mesh.view(namespace=row["id"])
        receipts = [view.add(text) for text in truth.statements(row)]
        assert [receipt.newer_than for receipt in receipts] == [(), ()]
        assert view.review.conflicts() == []


def test_the_sets_are_those_that_were_committed_before_the_rules():
    sums = (truth.SETS / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    for line in sums:
        digest, name = line.split()
        assert sha256((truth.SETS / name).read_bytes()).hexdigest() == digest
    assert len(sums) == 12
