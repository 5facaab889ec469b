"""From rows of numbers to one order and one relevance, whatever the trees have learned."""

import inspect
import re

import pytest
from hypothesis import given, settings, strategies as st

from memory_mesh.policy.ranking import _forest_model, forest
from memory_mesh.policy.ranking.features import NAMES, Table

MARGINS = {True: _forest_model.margin_by_meaning, False: _forest_model.margin_by_words}
ODDS = {True: _forest_model.odds_by_meaning, False: _forest_model.odds_by_words}
GROWING = (
    "keyword", "covered_before", "covered_around", "pairs", "meaning", "meaning_mixed", "cosine",
    "speaker", "role", "dated", "in_period", "tagged", "session", "recency", "time_words",
    "keyword_rank", "meaning_rank",
)  # fmt: skip
LIMITS = sorted({float(each) for each in re.findall(r"<= (\S+)", inspect.getsource(_forest_model))})
VALUES = st.one_of(st.floats(-1, 1), st.sampled_from(LIMITS).map(lambda limit: limit + 1e-6))
ROWS = st.tuples(*(VALUES for _ in NAMES))
MODES = st.booleans()


def table(*rows, usefulness=None):
    return Table(tuple(range(1, len(rows) + 1)), rows, tuple(usefulness or [1.0] * len(rows)))


def row(**values):
    return tuple(values.get(name, 0.0) for name in NAMES)


def versions(found):
    return [each.version for each in found]


WEAK, STRONG = row(keyword=0.1, covered=0.1), row(
    keyword=1.0, keyword_own=1.0, keyword_rank=1.0, covered=1.0, covered_before=1.0,
    covered_around=1.0, meaning=1.0, meaning_mixed=1.0, meaning_rank=1.0, cosine=0.8, session=1.0,
)  # fmt: skip


@pytest.mark.parametrize("by_meaning", [True, False])
def test_the_better_candidate_comes_first_and_the_limit_holds(by_meaning):
    candidates = table(WEAK, STRONG, WEAK)
    assert versions(forest.best(candidates, 3, by_meaning=by_meaning))[0] == 2
    assert versions(forest.best(candidates, 1, by_meaning=by_meaning)) == [2]
    assert forest.best(Table(), 10, by_meaning=by_meaning) == []


def test_a_tie_goes_to_the_newer_version():
    assert versions(forest.best(table(WEAK, WEAK, WEAK), 2, by_meaning=True)) == [3, 2]


def test_relevance_tells_an_answer_from_nothing():
    for by_meaning in (True, False):
        (strong,) = forest.best(table(STRONG), 1, by_meaning=by_meaning)
        (weak,) = forest.best(table(WEAK), 1, by_meaning=by_meaning)
        assert weak.score < 0.1
        assert strong.score > 0.5


def test_parts_are_the_margin_and_the_features_that_say_something():
    (found,) = forest.best(table(WEAK), 1, by_meaning=False)
    assert found.parts == {
        "margin": round(_forest_model.margin_by_words(*WEAK), 4),
        "keyword": 0.1,
        "covered": 0.1,
    }


@pytest.mark.parametrize(
    ("usefulness", "least", "most"),
    [(1.0, 0.0, 0.0), (0.1, -0.7, -0.69), (2.0, 0.2, 0.21), (0.0, -0.7, -0.69), (9.0, 0.2, 0.21)],
)
def test_what_votes_add_is_bounded(usefulness, least, most):
    plain, voted = table(WEAK), table(WEAK, usefulness=[usefulness])
    (one,), (other,) = (forest.best(each, 1, by_meaning=True) for each in (plain, voted))
    assert least - 1e-4 <= other.parts["margin"] - one.parts["margin"] <= most + 1e-4


@pytest.mark.req("R-004-061")
def test_of_two_equals_the_more_useful_comes_first():
    found = forest.best(table(WEAK, WEAK, usefulness=[1.1, 1.0]), 2, by_meaning=True)
    assert versions(found) == [1, 2]
    found = forest.best(table(WEAK, WEAK, usefulness=[1.0, 0.5]), 2, by_meaning=True)
    assert versions(found) == [1, 2]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(ROWS, st.floats(0.1, 2.0)), max_size=20), MODES, st.integers(1, 25))
def test_relevance_is_a_share_and_never_rises_on_the_way_down(candidates, by_meaning, limit):
    rows, usefulness = [each for each, _ in candidates], [useful for _, useful in candidates]
    whole = forest.best(table(*rows, usefulness=usefulness), len(rows) + 1, by_meaning=by_meaning)
    scores = [each.score for each in whole]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    margins = [each.parts["margin"] for each in whole]
    assert margins == sorted(margins, reverse=True)
    assert sorted(versions(whole)) == list(range(1, len(rows) + 1))
    found = forest.best(table(*rows, usefulness=usefulness), limit, by_meaning=by_meaning)
    assert found == whole[:limit]


@settings(max_examples=200, deadline=None)
@given(ROWS, MODES, st.floats(1e-5, 1))
def test_more_of_a_good_feature_never_takes_anything_away(values, by_meaning, more):
    margin = MARGINS[by_meaning]
    for name in GROWING:
        at = NAMES.index(name)
        raised = (*values[:at], values[at] + more, *values[at + 1 :])
        assert margin(*raised) >= margin(*values) - 1e-9, name
    at = NAMES.index("other_speaker")
    raised = (*values[:at], values[at] + more, *values[at + 1 :])
    assert margin(*raised) <= margin(*values) + 1e-9


@settings(max_examples=200, deadline=None)
@given(st.floats(-5, 5), st.tuples(*(VALUES for _ in forest.ABSOLUTE)), MODES, st.floats(1e-5, 1))
def test_what_speaks_for_a_candidate_never_makes_it_less_likely(margin, values, by_meaning, more):
    odds = ODDS[by_meaning]
    before = odds(margin, *values)
    assert odds(margin + more, *values) >= before - 1e-9
    for at, name in enumerate(forest.ABSOLUTE):
        raised = (*values[:at], values[at] + more, *values[at + 1 :])
        assert odds(margin, *raised) >= before - 1e-9, name


def test_the_trees_take_what_they_are_given():
    for margin in (_forest_model.margin_by_meaning, _forest_model.margin_by_words):
        assert _asked_for(margin) == NAMES
    for odds in (_forest_model.odds_by_meaning, _forest_model.odds_by_words):
        assert _asked_for(odds) == ("margin", *forest.ABSOLUTE)


def _asked_for(trees):
    return trees.__code__.co_varnames[: trees.__code__.co_argcount]
