"""Every figure by a worked number."""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from memory_mesh.evaluation import confidence_intervals, metrics
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.suite import Suite

SUITE = Suite(name="small", ks=(1, 3))


def row(ranked: str, gold: str, **more: Any) -> QuestionResult:
    """A row whose records are called by single letters."""
    known: dict[str, Any] = {"id": "q", "tenant": "t", "category": "c", "pool": 100, "limit": 100}
    return QuestionResult(ranked=tuple(ranked), gold=tuple(gold), **known | more)


@pytest.mark.parametrize(
    ("ranked", "gold", "metric", "expected"),
    [
        ("abc", "a", "R@1", 1.0),
        ("abc", "b", "R@1", 0.0),
        ("abc", "ac", "R@1", 0.5),
        ("abc", "acx", "R@3", 2 / 3),
        ("abc", "aa", "R@1", 1.0),  # two records that became one memory: both are found
        ("abc", "ac", "all@3", 1.0),
        ("abc", "ax", "all@3", 0.0),
        ("abc", "bc", "MRR", 0.5),
        ("abc", "x", "MRR", 0.0),
        ("abc", "b", "nDCG@3", 1 / math.log2(3)),
        ("abc", "ac", "nDCG@3", (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))),
        ("ab", "", "R@1", None),
        ("ab", "", "MRR", None),
    ],
)
def test_a_figure_of_one_question(ranked, gold, metric, expected) -> None:
    assert metrics.value(row(ranked, gold), metric) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ranked", "gold", "stale", "expected"),
    [
        ("new old", "new", "old", 1.0),
        ("old new", "new", "old", 0.0),
        ("other new", "new", "old", 1.0),  # the stale one is not there at all
        ("other", "new", "old", 0.0),  # the new one is not there either
        ("other old newer new", "new newer", "old", 0.0),
        ("new", "new", "", None),
    ],
)
def test_the_newest_must_stand_above_every_stale_one(ranked, gold, stale, expected) -> None:
    asked = QuestionResult(
        id="q", tenant="t", category="", pool=9, limit=9,
        ranked=tuple(ranked.split()), gold=tuple(gold.split()), stale=tuple(stale.split()),
    )  # fmt: skip
    assert metrics.value(asked, "newest_above_stale") == expected


@pytest.mark.parametrize(("k", "pool", "limit"), [(3, 3, 100), (3, 2, 100), (3, 100, 2)])
def test_a_question_that_k_cannot_be_asked_of_has_no_part(k: int, pool: int, limit: int) -> None:
    assert metrics.value(row("abc", "a", pool=pool, limit=limit), f"R@{k}") is None


def test_precision_is_taken_at_the_highest_threshold_that_finds_enough() -> None:
    rows = [
        row("ab", "a", scores=(0.9, 0.4)),
        row("cd", "d", scores=(0.8, 0.7)),
        row("e", "", scores=(0.6,)),
    ]
    assert metrics.precision_at_recall(rows, 0.5) == (1.0, 0.9)
    assert metrics.precision_at_recall(rows, 0.95) == (2 / 3, 0.7)


def test_answers_with_one_score_are_taken_together() -> None:
    rows = [row("ab", "b", scores=(0.5, 0.5)), row("c", "", scores=(0.5,))]
    assert metrics.precision_at_recall(rows) == (1 / 3, 0.5)


def test_no_threshold_finds_what_was_not_returned() -> None:
    assert metrics.precision_at_recall([row("ab", "x", scores=(0.5, 0.4))]) is None


def test_a_summary_says_what_was_answered_where_nothing_answers() -> None:
    rows = [
        row("ab", "a", id="1", scores=(0.9, 0.1), ms=1.0, tokens=10, category="x"),
        row("", "", id="2", ms=3.0, tokens=0, category="y"),
        row("c", "", id="3", scores=(0.2,), ms=2.0, tokens=20, category="y"),
    ]
    found = metrics.summary(rows, Suite(name="small", ks=(1, 3), min_relevance=0.5))
    assert found["n"] == 3
    assert found["R@1"] == 1.0
    assert found["goldless"] == 2
    assert found["at_default"] == {"precision": 0.3333, "recall": 1.0, "silent": 0.5}
    assert found["at_min_relevance"] == {
        "min_relevance": 0.5, "precision": 1.0, "recall": 1.0, "silent": 1.0,
    }  # fmt: skip
    assert found["latency_ms"] == {"p50": 2.0, "p95": 3.0, "p99": 3.0}
    assert found["tokens"] == 10.0
    assert found["by_category"] == {
        "x": {"n": 1, "R@1": 1.0, "R@3": 1.0, "all@3": 1.0, "MRR": 1.0, "nDCG@3": 1.0},
        "y": {"n": 2},
    }


def test_questions_with_a_small_pool_are_counted() -> None:
    found = metrics.summary([row("a", "a", pool=2), row("b", "a", id="2", pool=9)], SUITE)
    assert found["small_pool"] == {"3": 1}
    assert found["R@1"] == 0.5
    assert found["R@3"] == 0.0


@pytest.mark.parametrize(("part", "expected"), [(50, 2), (95, 4), (99, 4), (25, 1)])
def test_a_percentile_is_one_of_the_values(part: int, expected: int) -> None:
    assert metrics.percentile([1, 2, 3, 4], part) == expected


# --- how sure a figure is -------------------------------------------------------------------------


def answered(found: str, tenant: str = "t") -> list[QuestionResult]:
    return [
        row("a" if letter == "+" else "b", "a", id=f"{tenant}{number}", tenant=tenant)
        for number, letter in enumerate(found)
    ]


def test_a_difference_that_is_the_same_everywhere_is_certain() -> None:
    ours, theirs = answered("+" * 20), answered("-" * 20)
    found = confidence_intervals.differences(ours, theirs, ["R@1"], seed=1, resamples=500)["R@1"]
    assert (found.value, found.questions) == (1.0, (1.0, 1.0))
    assert found.conversations is None  # there is only one


def test_conversations_are_drawn_whole() -> None:
    ours = answered("+" * 50, "x") + answered("-" * 50, "y")
    theirs = answered("-" * 50, "x") + answered("-" * 50, "y")
    found = confidence_intervals.differences(ours, theirs, ["R@1"], seed=1, resamples=2_000)["R@1"]
    assert found.value == 0.5
    assert found.conversations == (0.0, 1.0)  # a quarter of the draws has x twice, a quarter y
    low, high = found.questions
    assert 0.35 < low < 0.45
    assert 0.55 < high < 0.65


def test_the_interval_of_a_share_is_the_known_one() -> None:
    rows = answered("+" * 100 + "-" * 100)
    low, high = confidence_intervals.estimates(rows, ["R@1"], seed=7)["R@1"].questions
    spread = 1.96 * math.sqrt(0.25 / 200)
    assert low == pytest.approx(0.5 - spread, abs=0.01)
    assert high == pytest.approx(0.5 + spread, abs=0.01)


def test_only_questions_that_both_answered_are_paired() -> None:
    ours, theirs = answered("++-"), answered("-+")
    found = confidence_intervals.differences(ours, theirs, ["R@1"], seed=1, resamples=200)["R@1"]
    assert found.value == 0.5


def test_the_same_seed_draws_the_same() -> None:
    rows = answered("+--+++-" * 9)
    first, again, other = (
        confidence_intervals.estimates(rows, ["R@1", "MRR"], seed=seed, resamples=100)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 5), max_size=5), st.sets(st.sampled_from("abcde"))),
        min_size=1,
        max_size=6,
    )
)
def test_a_resample_of_each_question_once_is_the_pooled_figure(drawn) -> None:
    rows = [
        row("abcde"[: len(scores)], "".join(sorted(gold)), id=str(number),
            scores=tuple(score / 5 for score in sorted(scores, reverse=True)))
        for number, (scores, gold) in enumerate(drawn)
    ]  # fmt: skip
    found = confidence_intervals.estimates(rows, ["P@R95"], seed=1, resamples=2)
    expected = metrics.precision_at_recall(rows)
    if metrics.gold_count(rows):
        assert found["P@R95"].value == pytest.approx(expected[0] if expected else 0.0, abs=1e-4)
    else:
        assert found == {}


ROWS = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abcdefgh"), unique=True),
        st.sets(st.sampled_from("abcdefgh"), min_size=1),
        st.lists(st.integers(0, 4), min_size=8, max_size=8),
    ),
    min_size=1,
    max_size=5,
)


@given(ROWS, st.integers(1, 8))
def test_figures_are_those_of_their_definitions(drawn, k) -> None:
    for ranked, gold, _ in drawn:
        asked = row("".join(ranked), "".join(sorted(gold)))
        places = [place for place, name in enumerate(ranked, start=1) if name in gold]
        found = [place for place in places if place <= k]
        assert metrics.value(asked, f"R@{k}") == pytest.approx(len(found) / len(gold))
        assert metrics.value(asked, f"all@{k}") == (len(found) == len(gold))
        assert metrics.value(asked, "MRR") == pytest.approx(1 / places[0] if places else 0)
        gain = sum(math.log(2) / math.log(place + 1) for place in found)
        best = sum(math.log(2) / math.log(place + 1) for place in range(1, min(k, len(gold)) + 1))
        assert metrics.value(asked, f"nDCG@{k}") == pytest.approx(gain / best)


@given(ROWS)
def test_no_higher_threshold_finds_enough(drawn) -> None:
    rows = [
        row("".join(ranked), "".join(sorted(gold)), id=str(number),
            scores=tuple(score / 4 for score in scores[: len(ranked)]))
        for number, (ranked, gold, scores) in enumerate(drawn)
    ]  # fmt: skip
    shares = {}
    for least in {score for each in rows for score in each.scores}:
        shown = [
            (each, name)
            for each in rows
            for name, score in zip(each.ranked, each.scores, strict=True)
            if score >= least
        ]
        right = sum(name in each.gold for each, name in shown)
        if right / sum(len(each.gold) for each in rows) >= 0.95:
            shares[least] = right / len(shown)
    found = metrics.precision_at_recall(rows)
    expected = (shares[max(shares)], max(shares)) if shares else None
    assert found == expected


def test_a_resample_without_any_question_of_a_figure_does_not_count_as_nothing() -> None:
    rows = [
        *(row("b", "", id=f"none{number}") for number in range(9)),
        row("a", "a", id="one", tenant="u"),
    ]
    found = confidence_intervals.estimates(rows, ["R@1"], seed=1, resamples=300)["R@1"]
    assert (found.value, found.questions, found.conversations) == (1.0, (1.0, 1.0), (1.0, 1.0))
