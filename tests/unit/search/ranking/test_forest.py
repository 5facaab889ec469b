"""From rows of numbers to one order and one relevance, whatever the trees have learned."""

import inspect
import math
import re

import pytest
from hypothesis import given, strategies as st

from memory_mesh.search.ranking import (
    _forest_by_meaning,
    _forest_by_static,
    _forest_by_words,
    forest,
)
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.text.embedding_models import MEANING, STATIC, WORDS

TREES = {MEANING: _forest_by_meaning, STATIC: _forest_by_static, WORDS: _forest_by_words}
SHRINKING = ("guessed", "other_speaker")
TOP = ("top_cosine", "top_covered_passage")
LIMITS = sorted(
    {
        float(each)
        for trees in TREES.values()
        for each in re.findall(r"<= (\S+)", inspect.getsource(trees))
        if -1 <= float(each) <= 1
    }
)
VALUES = st.one_of(st.floats(-1, 1), st.sampled_from(LIMITS).map(lambda limit: limit + 1e-6))
ROWS = st.tuples(*(VALUES for _ in NAMES))
ORDERS = st.sampled_from(list(TREES))


def table(*rows, usefulness=None):
    return FeatureTable(
        tuple(range(1, len(rows) + 1)), rows, tuple(usefulness or [1.0] * len(rows))
    )


def row(**values):
    return tuple(values.get(name, 0.0) for name in NAMES)


def versions(found):
    return [each.version for each in found]


def margin(order, values):
    """The sum of the trees and of the line, worked out beside the product."""
    passage, mixed = (values[NAMES.index(name)] for name in ("covered_passage", "cosine_mixed"))
    return TREES[order].margin(*values) + passage + (0 if order == WORDS else mixed)


WEAK = row(keyword=0.1, covered=0.1, nearest=-0.5, nearest_mixed=-0.5)
STRONG = row(
    keyword=1.0, keyword_own=1.0, keyword_share=0.6, keyword_share_before=0.6, covered=1.0,
    covered_before=1.0, covered_around=1.0, covered_passage=1.0, covered_section=1.0, pairs=1.0,
    cosine=0.8, cosine_mixed=0.8, meaning=1.0, session=1.0,
)  # fmt: skip


@pytest.mark.parametrize("order", TREES)
def test_the_better_candidate_comes_first_and_the_limit_holds(order):
    candidates = table(WEAK, STRONG, WEAK)
    assert versions(forest.best(candidates, 3, order)) == [2, 3, 1]
    assert versions(forest.best(candidates, 1, order)) == [2]
    assert forest.best(FeatureTable(), 10, order) == []


def test_a_tie_goes_to_the_newer_version():
    assert versions(forest.best(table(WEAK, WEAK, WEAK), 2, MEANING)) == [3, 2]


@pytest.mark.parametrize("order", TREES)
def test_relevance_tells_an_answer_from_nothing(order):
    (strong,) = forest.best(table(STRONG), 1, order)
    (weak,) = forest.best(table(WEAK), 1, order)
    assert weak.score < 0.1
    assert strong.score > 0.5


@pytest.mark.parametrize("order", TREES)
def test_relevance_is_what_the_odds_of_the_trees_say(order):
    best, other = forest.best(table(WEAK, STRONG), 2, order)
    top, own = margin(order, STRONG), margin(order, WEAK)
    strong = dict(zip(NAMES, STRONG, strict=True))
    weak = dict(zip(NAMES, WEAK, strict=True))
    for found, values, reached, in_session in ((best, strong, top, 1.0), (other, weak, own, 0.0)):
        judged = [values[name] for name in forest.JUDGED]
        odds = TREES[order].odds(reached, top, reached - top, *judged, 0.8, 1.0, in_session)
        assert found.score == pytest.approx(1 / (1 + math.exp(-odds)))


def test_the_order_by_words_does_not_look_at_meaning():
    silent = ("cosine", "cosine_mixed", "nearest", "nearest_mixed", "meaning")
    told = [0.0 if name in silent else value for name, value in zip(NAMES, STRONG, strict=True)]
    assert margin(WORDS, told) == margin(WORDS, STRONG)
    assert margin(MEANING, told) < margin(MEANING, STRONG)


def test_parts_are_the_margin_and_the_features_that_say_something():
    (found,) = forest.best(table(WEAK), 1, WORDS)
    assert found.parts == {
        "margin": round(margin(WORDS, WEAK), 4),
        "keyword": 0.1,
        "covered": 0.1,
        "nearest": -0.5,
        "nearest_mixed": -0.5,
    }


@pytest.mark.parametrize(
    ("usefulness", "least", "most"),
    [(1.0, 0.0, 0.0), (0.1, -0.7, -0.69), (2.0, 0.2, 0.21), (0.0, -0.7, -0.69), (9.0, 0.2, 0.21)],
)
def test_what_votes_add_is_bounded(usefulness, least, most):
    plain, voted = table(WEAK), table(WEAK, usefulness=[usefulness])
    (one,), (other,) = (forest.best(each, 1, MEANING) for each in (plain, voted))
    assert least - 1e-4 <= other.parts["margin"] - one.parts["margin"] <= most + 1e-4


@pytest.mark.req("R-004-061")
@pytest.mark.parametrize("order", TREES)
def test_of_two_equals_the_more_useful_comes_first(order):
    found = forest.best(table(WEAK, WEAK, usefulness=[1.1, 1.0]), 2, order)
    assert versions(found) == [1, 2]
    found = forest.best(table(WEAK, WEAK, usefulness=[1.0, 0.5]), 2, order)
    assert versions(found) == [1, 2]


def spelled(values, share=1.0):
    """The same candidate, of whose words so much was found by a guessed spelling."""
    found = dict(zip(NAMES, values, strict=True))
    return row(**(found | {"guessed": share * found["covered"]}))


NEAREST = row(cosine=0.5, cosine_mixed=0.4, meaning=0.8)
FAR = row(**(dict(zip(NAMES, STRONG, strict=True)) | {"cosine": 0.4, "nearest": -0.1}))
LESS = row(**(dict(zip(NAMES, FAR, strict=True)) | {"covered": 0.6, "keyword_own": 0.5}))


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_what_only_a_guessed_spelling_found_stays_below_the_nearest_by_meaning(order):
    guess = spelled(FAR)
    assert margin(order, guess) > margin(order, NEAREST)  # its words alone would put it first
    for rows in ((NEAREST, guess), (guess, NEAREST)):  # whichever is newer
        found = forest.best(table(*rows), 2, order)
        assert versions(found) == [rows.index(NEAREST) + 1, rows.index(guess) + 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_guesses_below_the_nearest_keep_their_own_order(order):
    better, worse = spelled(FAR), spelled(LESS)
    assert margin(order, better) > margin(order, worse) > margin(order, NEAREST)
    for rows in ((better, worse, NEAREST), (worse, better, NEAREST)):
        found = versions(forest.best(table(*rows), 3, order))
        assert found == [3, rows.index(better) + 1, rows.index(worse) + 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_a_sure_word_beside_a_guess_puts_it_where_its_words_do(order):
    found = forest.best(table(NEAREST, spelled(FAR, share=0.5)), 2, order)
    assert versions(found) == [2, 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_a_guess_that_is_itself_the_nearest_keeps_its_margin(order):
    (found, _) = forest.best(table(spelled(STRONG), NEAREST), 2, order)
    assert found.version == 1
    assert found.parts["margin"] == round(margin(order, spelled(STRONG)), 4)


def test_without_meaning_a_guess_is_all_there_is():
    found = forest.best(table(NEAREST, spelled(FAR)), 2, WORDS)
    assert versions(found) == [2, 1]


@given(st.lists(st.tuples(ROWS, st.floats(0.1, 2.0)), max_size=20), ORDERS, st.integers(1, 25))
def test_relevance_is_a_share_and_never_rises_on_the_way_down(candidates, order, limit):
    rows, usefulness = [each for each, _ in candidates], [useful for _, useful in candidates]
    whole = forest.best(table(*rows, usefulness=usefulness), len(rows) + 1, order)
    scores = [each.score for each in whole]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    margins = [each.parts["margin"] for each in whole]
    assert margins == sorted(margins, reverse=True)
    assert sorted(versions(whole)) == list(range(1, len(rows) + 1))
    found = forest.best(table(*rows, usefulness=usefulness), limit, order)
    assert found == whole[:limit]


@given(ROWS, ORDERS, st.floats(1e-5, 1))
def test_more_of_a_good_feature_never_takes_anything_away(values, order, more):
    before = margin(order, values)
    for at, name in enumerate(NAMES):
        raised = margin(order, (*values[:at], values[at] + more, *values[at + 1 :]))
        better, worse = (before, raised) if name in SHRINKING else (raised, before)
        assert better >= worse - 1e-9, name


@given(
    st.tuples(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 0)),
    st.tuples(*(VALUES for _ in (*forest.JUDGED, *TOP))),
    st.sampled_from([0.0, 1.0]),
    ORDERS,
    st.floats(1e-5, 1),
)
def test_what_speaks_for_a_candidate_never_makes_it_less_likely(
    margins, values, in_session, order, more
):
    given_ = (*margins, *values, in_session)
    odds = TREES[order].odds
    before = odds(*given_)
    for at, name in enumerate(("margin", "top", "behind", *forest.JUDGED, *TOP)):
        raised = odds(*given_[:at], given_[at] + more, *given_[at + 1 :])
        better, worse = (before, raised) if name in SHRINKING else (raised, before)
        assert better >= worse - 1e-9, name


@pytest.mark.parametrize("trees", TREES.values())
def test_the_trees_take_what_they_are_given(trees):
    assert _asked_for(trees.margin) == NAMES
    assert _asked_for(trees.odds) == ("margin", "top", "behind", *forest.JUDGED, *TOP, "in_session")


def _asked_for(trees):
    return trees.__code__.co_varnames[: trees.__code__.co_argcount]
