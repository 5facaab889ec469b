"""From rows of numbers to one order and one relevance, whatever the weights are."""

import math

import pytest
from hypothesis import given, strategies as st

from memory_mesh.search.ranking import order as ranking
from memory_mesh.search.ranking._weights import DOUBT, MARGIN, ODDS
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.text.embedding_models import MEANING, STATIC, WORDS

SHRINKING = ("guessed", "lacking", "texts")
EITHER_WAY = ("always", "in_session")
MOST_WEIGHTS = 15
TEXTS = 200
ROWS = st.tuples(*(st.floats(-1, 1) for _ in NAMES))
ORDERS = st.sampled_from(list(MARGIN))


def table(*rows, usefulness=None):
    return FeatureTable(
        tuple(range(1, len(rows) + 1)), rows, tuple(usefulness or [1.0] * len(rows)), texts=TEXTS
    )


def row(**values):
    return tuple(values.get(name, 0.0) for name in NAMES)


def versions(found):
    return [each.version for each in found]


def absolute(order, values):
    """The part of the sum that does not compare with other candidates."""
    return margin(
        order,
        [
            0 if name in ranking.RELATIVE else value
            for name, value in zip(NAMES, values, strict=True)
        ],
    )


def margin(order, values):
    """The weighted sum, worked out beside the product."""
    told = dict(zip(NAMES, values, strict=True))
    return sum(weight * told[name] for name, weight in MARGIN[order].items())


WEAK = row(keyword=0.1, covered=0.1, lacking=1.0)
STRONG = row(
    keyword=1.0, keyword_long=1.0, covered=1.0, covered_around=1.0, covered_passage=1.0,
    cosine=0.8, cosine_mixed=0.8, meaning=1.0, session=1.0,
)  # fmt: skip


@pytest.mark.parametrize("order", MARGIN)
def test_an_order_has_few_weights_and_each_has_the_sign_of_its_feature(order):
    assert len(MARGIN[order]) <= MOST_WEIGHTS
    assert set(MARGIN[order]) <= set(NAMES)
    for name, weight in (*MARGIN[order].items(), *ODDS[order].items()):
        assert name in EITHER_WAY or (weight < 0) is (name in SHRINKING), name


@pytest.mark.parametrize("order", MARGIN)
def test_the_better_candidate_comes_first_and_the_limit_holds(order):
    candidates = table(WEAK, STRONG, WEAK)
    assert versions(ranking.best(candidates, 3, order)) == [2, 3, 1]
    assert versions(ranking.best(candidates, 1, order)) == [2]
    assert ranking.best(FeatureTable(), 10, order) == []


def test_a_tie_goes_to_the_newer_version():
    assert versions(ranking.best(table(WEAK, WEAK, WEAK), 2, MEANING)) == [3, 2]


@pytest.mark.parametrize("order", MARGIN)
def test_relevance_tells_an_answer_from_nothing(order):
    (strong,) = ranking.best(table(STRONG), 1, order)
    (weak,) = ranking.best(table(WEAK), 1, order)
    assert weak.score < 0.1
    assert strong.score > 0.5


@pytest.mark.parametrize("order", MARGIN)
def test_relevance_is_what_the_odds_say(order):
    best, other = ranking.best(table(WEAK, STRONG), 2, order)
    top, own = (absolute(order, values) for values in (STRONG, WEAK))
    ahead = {"sum": top, "lead": top - own, "in_session": 1.0}
    behind = {"sum": own, "lead": own - top, "in_session": 0.0}
    for found, values, told in ((best, STRONG, ahead), (other, WEAK, behind)):
        told |= dict(zip(NAMES, values, strict=True))
        told |= {"always": 1.0, "best_cosine": 0.8}
        told |= {"texts": math.log10(1 + TEXTS)}
        odds = sum(weight * told[name] for name, weight in ODDS[order].items())
        odds *= DOUBT[order] if odds < 0 else 1
        assert found.score == pytest.approx(1 / (1 + math.exp(-odds)))


def test_the_order_by_words_does_not_look_at_meaning():
    silent = ("cosine", "cosine_mixed", "meaning")
    told = [0.0 if name in silent else value for name, value in zip(NAMES, STRONG, strict=True)]
    assert margin(WORDS, told) == margin(WORDS, STRONG)
    assert margin(MEANING, told) < margin(MEANING, STRONG)


def test_parts_are_the_margin_and_the_features_that_say_something():
    (found,) = ranking.best(table(WEAK), 1, WORDS)
    assert found.parts == {
        "margin": round(margin(WORDS, WEAK), 4),
        "keyword": 0.1,
        "covered": 0.1,
        "lacking": 1.0,
    }


@pytest.mark.parametrize(
    ("usefulness", "least", "most"),
    [(1.0, 0.0, 0.0), (0.1, -0.7, -0.69), (2.0, 0.2, 0.21), (0.0, -0.7, -0.69), (9.0, 0.2, 0.21)],
)
def test_what_votes_add_is_bounded(usefulness, least, most):
    plain, voted = table(WEAK), table(WEAK, usefulness=[usefulness])
    (one,), (other,) = (ranking.best(each, 1, MEANING) for each in (plain, voted))
    assert least - 1e-4 <= other.parts["margin"] - one.parts["margin"] <= most + 1e-4


@pytest.mark.req("R-004-061")
@pytest.mark.parametrize("order", MARGIN)
def test_of_two_equals_the_more_useful_comes_first(order):
    found = ranking.best(table(WEAK, WEAK, usefulness=[1.1, 1.0]), 2, order)
    assert versions(found) == [1, 2]
    found = ranking.best(table(WEAK, WEAK, usefulness=[1.0, 0.5]), 2, order)
    assert versions(found) == [1, 2]


def spelled(values, share=1.0):
    """The same candidate, of whose words so much was found by a guessed spelling."""
    found = dict(zip(NAMES, values, strict=True))
    return row(**(found | {"guessed": share * found["covered"]}))


NEAREST = row(cosine=0.5, cosine_mixed=0.4, meaning=0.8)
FAR = row(**(dict(zip(NAMES, STRONG, strict=True)) | {"cosine": 0.4}))
LESS = row(
    **(
        dict(zip(NAMES, FAR, strict=True))
        | {"covered": 0.6, "covered_around": 0.6, "keyword_long": 0.5}
    )
)


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_what_only_a_guessed_spelling_found_stays_below_the_nearest_by_meaning(order):
    guess = spelled(FAR)
    assert margin(order, guess) > margin(order, NEAREST)  # its words alone would put it first
    for rows in ((NEAREST, guess), (guess, NEAREST)):  # whichever is newer
        found = ranking.best(table(*rows), 2, order)
        assert versions(found) == [rows.index(NEAREST) + 1, rows.index(guess) + 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_guesses_below_the_nearest_keep_their_own_order(order):
    better, worse = spelled(FAR), spelled(LESS)
    assert margin(order, better) > margin(order, worse) > margin(order, NEAREST)
    for rows in ((better, worse, NEAREST), (worse, better, NEAREST)):
        found = versions(ranking.best(table(*rows), 3, order))
        assert found == [3, rows.index(better) + 1, rows.index(worse) + 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_a_sure_word_beside_a_guess_puts_it_where_its_words_do(order):
    found = ranking.best(table(NEAREST, spelled(FAR, share=0.5)), 2, order)
    assert versions(found) == [2, 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_a_guess_that_is_itself_the_nearest_keeps_its_margin(order):
    (found, _) = ranking.best(table(spelled(STRONG), NEAREST), 2, order)
    assert found.version == 1
    assert found.parts["margin"] == round(margin(order, spelled(STRONG)), 4)


def test_without_meaning_a_guess_is_all_there_is():
    found = ranking.best(table(NEAREST, spelled(FAR)), 2, WORDS)
    assert versions(found) == [2, 1]


@given(st.lists(st.tuples(ROWS, st.floats(0.1, 2.0)), max_size=20), ORDERS, st.integers(1, 25))
def test_relevance_is_a_share_and_never_rises_on_the_way_down(candidates, order, limit):
    rows, usefulness = [each for each, _ in candidates], [useful for _, useful in candidates]
    whole = ranking.best(table(*rows, usefulness=usefulness), len(rows) + 1, order)
    scores = [each.score for each in whole]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    margins = [each.parts["margin"] for each in whole]
    assert margins == sorted(margins, reverse=True)
    assert sorted(versions(whole)) == list(range(1, len(rows) + 1))
    found = ranking.best(table(*rows, usefulness=usefulness), limit, order)
    assert found == whole[:limit]


@given(ROWS, ORDERS, st.floats(1e-5, 1))
def test_more_of_a_good_feature_never_takes_anything_away(values, order, more):
    before = margin(order, values)
    for at, name in enumerate(NAMES):
        raised = margin(order, (*values[:at], values[at] + more, *values[at + 1 :]))
        better, worse = (before, raised) if name in SHRINKING else (raised, before)
        assert better >= worse - 1e-9, name
