"""What only looks like a contradiction stays; what is one is found. And the tool that counts it."""

import json

import pytest

from memory_mesh.write.claims import read
from tools.claims_report import CORPORA, conflicting, outcome, outcomes, replay, rows

BENIGN, UPDATES = rows(CORPORA / "benign_pairs.jsonl"), rows(CORPORA / "genuine_updates.jsonl")


def test_the_sets_are_as_large_as_promised():
    assert len(BENIGN) >= 300
    assert sum(row["multi"] for row in BENIGN) >= 100
    assert len(UPDATES) >= 100


def test_pairs_that_only_look_alike_are_kept_both_ways_round():
    for pairs in (BENIGN, [{**row, "old": row["new"], "new": row["old"]} for row in BENIGN]):
        lost = [row for row in pairs if outcome(row["old"], row["new"]) in ("conflict", "same")]
        assert len(lost) <= 0.02 * len(pairs), lost


def test_most_genuine_updates_are_found_or_flagged():
    found = outcomes(UPDATES)
    assert float(str(found["share superseded"])) >= 0.8
    assert float(str(found["share superseded"])) + float(str(found["share unsure"])) >= 0.95


def test_values_of_different_kinds_are_no_rivals():
    """ "My husband is Tom", "My husband is vegetarian": sets written without sight of the rules."""
    pairs, updates = rows(CORPORA / "copula_pairs.jsonl"), rows(CORPORA / "copula_updates.jsonl")
    displaced = [row for row in pairs if outcome(row["old"], row["new"]) == "conflict"]
    found = [row for row in updates if outcome(row["old"], row["new"]) == "conflict"]
    assert (len(pairs), len(updates)) == (120, 60)
    assert len(displaced) <= 0.02 * len(pairs), displaced
    assert len(found) >= 46  # as many as before kinds were compared


def test_no_update_is_taken_for_the_same_thing():
    assert not [row for row in UPDATES if outcome(row["old"], row["new"]) == "same"]


def test_progress_notes_of_many_workers_are_no_claims_against_each_other():
    texts = [f"worker {worker}: step {step} done" for worker in range(8) for step in range(20)]
    stream = [{"id": str(at), "text": text} for at, text in enumerate(texts)]
    assert replay(stream)[0] == {}


@pytest.mark.parametrize(
    ("old", "new", "label"),
    [
        ("Ana was born in the city of Rome.", "Ana was born in the city of Oslo.", True),
        ("The author of Dune is Ana.", "The author of Dune is Bo.", True),
        ("The author of Dune is Ana.", "The author of Dawn is Ana.", False),
        ("Ana was born in the city of Rome.", "Ana was born in the city of Rome.", False),
        ("Tar was created by Ana.", "Tar was created in the country of Peru.", False),
        ("Ana is famous for Dune.", "Ana is married to Bo.", False),
    ],
)
def test_the_label_of_the_report_looks_at_the_words_alone(old, new, label):
    assert conflicting(old, new) is label


def test_a_stream_ends_with_the_newest_value_alive():
    stream = [
        {"id": "1", "text": "The capital of Elbonia is Mud."},
        {"id": "2", "text": "The capital of Elbonia is Clay."},
        {"id": "3", "text": "The capital of Elbonia is Mud."},
    ]
    assert replay(stream)[0] == {"1": "2", "2": "3"}


def test_the_corpora_hold_what_they_name():
    for row in (*BENIGN, *UPDATES):
        assert row["old"] != row["new"], json.dumps(row)
    assert read(UPDATES[0]["new"]) is not None
