"""The figures of bench/abstention.py on rows that a reader can count."""

from pathlib import Path

import pytest

from bench import abstention
from bench.abstention import ADVERSARIAL, IN_TOPIC, OFF_TOPIC, Measured
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.records import DataSet, EvaluationQuestion
from memory_mesh.evaluation.suite import Suite
from memory_mesh.search.ranking.profiles import MIN_RELEVANCE

ROOT = Path(__file__).resolve().parents[3]


def row(*scores, gold=("a",), category="plain", first="a"):
    ranked = (first, *(f"other {place}" for place in range(1, len(scores))))[: len(scores)]
    return QuestionResult(
        id="q", tenant="t", category=category, gold=gold, ranked=ranked, scores=scores,
        pool=20, limit=10,
    )  # fmt: skip


def test_the_threshold_is_the_one_the_documents_recommend():
    assert f"scores less than {MIN_RELEVANCE}," in (ROOT / "docs" / "ranking.md").read_text()


def test_auc_counts_pairs_and_half_of_the_ties():
    without = [0.1] * 10
    assert abstention.auc([0.5, 0.1, 0.0], without) == 0.5
    assert abstention.auc([0.5], without) == 1.0
    assert abstention.auc([0.5], without[:9]) is None
    assert abstention.auc([], without) is None


def test_an_answer_is_lost_if_no_right_memory_stays_above_the_threshold():
    rows = [row(0.5), row(0.05), row(0.05, first="wrong"), row()]
    assert abstention.lost(rows) == {"found": 2, "gone": 1, "share": 0.5}


def test_silence_is_counted_for_each_kind_of_question_without_an_answer():
    rows = [row(0.5)]
    rows += [row(0.05, gold=(), category=OFF_TOPIC)] * 9 + [row(0.2, gold=(), category=OFF_TOPIC)]
    rows += [row(0.2, gold=())] * 10 + [row(0.5, category=ADVERSARIAL)] * 10
    found = abstention.figures(rows)
    assert found["silent"] == {OFF_TOPIC: 0.9, IN_TOPIC: 0.0, ADVERSARIAL: 0.0}
    assert found["auc"] == {OFF_TOPIC: 1.0, IN_TOPIC: 1.0, ADVERSARIAL: 0.5}
    assert found["questions"] == {"answered": 1, IN_TOPIC: 10, OFF_TOPIC: 10, ADVERSARIAL: 10}
    assert sum(each["n"] for each in found["reliability"]["first hit"]["bins"]) == 11


def test_the_largest_gap_is_that_of_a_full_bin():
    hits = [(0.75, True)] * 25 + [(0.75, False)] * 25 + [(1.0, False)] * 49
    found = abstention.reliability(hits)
    assert found["largest_gap"] == 0.25
    assert found["bins"] == [
        {"from": 0.7, "score": 0.75, "right": 0.5, "n": 50},
        {"from": 0.9, "score": 1.0, "right": 0.0, "n": 49},
    ]


@pytest.mark.parametrize(
    ("name", "tenants", "expected"),
    [("beam", ("a", "b"), {"a asks"}), ("beam", ("b",), {"x asks"}),
     ("notes", ("a", "b"), {"x asks"}), ("mab_conflict", ("a", "b"), {"x asks"})],
)  # fmt: skip
def test_a_tenant_is_asked_questions_of_others(name, tenants, expected):
    own = [
        EvaluationQuestion(
            id=f"{tenant}/q", text=f"{tenant} asks", tenant=tenant, gold=("r",), as_of_order=3
        )
        for tenant in tenants
    ]
    one = Measured(name, Suite(name=name, ks=(1,)), DataSet("", tuple(own), lambda _: iter(())))
    others = [EvaluationQuestion(id="x/q", text="x asks", tenant="x", gold=("y",))]
    put = [q for q in abstention.questions(one, "test", others) if q.category == OFF_TOPIC]
    assert {q.text for q in put if q.tenant == "b"} == expected
    assert all(q.gold == () and q.as_of_order == 3 for q in put)
