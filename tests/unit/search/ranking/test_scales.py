"""From rows of numbers to one order and one relevance, whatever the scales have learned."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from memory_mesh.search.ranking import scales, shares
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.text.embedding_models import MEANING, STATIC, WORDS

EACH = (MEANING, STATIC, WORDS)
SHRINKING = ("guessed", "other_speaker")
JUDGED = {"margin", "top", "behind", "in_session", "top_cosine", "top_covered_passage"}
LIMITS = sorted({
    limit for order in EACH for scale in scales.scales(order).margin.values()
    for limit in scale.limits if -1 <= limit <= 1
})  # fmt: skip
VALUES = st.one_of(st.floats(-1, 1), st.sampled_from(LIMITS).map(lambda limit: limit + 1e-6))
ROWS = st.tuples(*(VALUES for _ in NAMES))
ORDERS = st.sampled_from(EACH)


def table(*rows, usefulness=None):
    return FeatureTable(
        tuple(range(1, len(rows) + 1)), rows, tuple(usefulness or [1.0] * len(rows))
    )


def row(**values):
    return tuple(values.get(name, 0.0) for name in NAMES)


def versions(found):
    return [each.version for each in found]


def added(scale, value):
    """What a scale adds, found by a walk from its first limit on."""
    passed = [limit for limit in scale.limits if value > limit]
    return scale.added[len(passed)]


def margin(order, values):
    """The sum of the scales and of the line, worked out beside the product."""
    known = dict(zip(NAMES, values, strict=True))
    found = sum(added(each, known[name]) for name, each in scales.scales(order).margin.items())
    mixed = 0 if order == WORDS else known["cosine_mixed"]
    return found + known["covered_passage"] + mixed


WEAK = row(keyword=0.1, covered=0.1, nearest=-0.5, nearest_mixed=-0.5)
STRONG = row(
    keyword=1.0, keyword_own=1.0, covered=1.0, covered_before=1.0, covered_around=1.0,
    covered_passage=1.0, cosine=0.8, cosine_mixed=0.8, meaning=1.0, session=1.0,
)  # fmt: skip


@pytest.mark.parametrize("order", EACH)
def test_the_better_candidate_comes_first_and_the_limit_holds(order):
    candidates = table(WEAK, STRONG, WEAK)
    assert versions(scales.best(candidates, 3, order)) == [2, 3, 1]
    assert versions(scales.best(candidates, 1, order)) == [2]
    assert scales.best(FeatureTable(), 10, order) == []


def test_a_tie_goes_to_the_newer_version():
    assert versions(scales.best(table(WEAK, WEAK, WEAK), 2, MEANING)) == [3, 2]


@pytest.mark.parametrize("order", EACH)
def test_relevance_tells_an_answer_from_nothing(order):
    (strong,) = scales.best(table(STRONG), 1, order)
    (weak,) = scales.best(table(WEAK), 1, order)
    assert weak.score < 0.1
    assert strong.score > 0.5


@pytest.mark.parametrize("order", EACH)
def test_relevance_is_what_the_odds_of_the_scales_say(order):
    best, other = scales.best(table(WEAK, STRONG), 2, order)
    top, own = margin(order, STRONG), margin(order, WEAK)
    for found, values, reached, session in ((best, STRONG, top, 1.0), (other, WEAK, own, 0.0)):
        known = dict(zip(NAMES, values, strict=True)) | {
            "margin": reached, "top": top, "behind": reached - top, "in_session": session,
            "top_cosine": 0.8, "top_covered_passage": 1.0,
        }  # fmt: skip
        odds = sum(added(each, known[name]) for name, each in scales.scales(order).odds.items())
        assert found.score == pytest.approx(1 / (1 + math.exp(-odds)))


def test_the_order_by_words_does_not_look_at_meaning():
    silent = ("cosine", "cosine_mixed", "nearest", "nearest_mixed", "meaning")
    told = [0.0 if name in silent else value for name, value in zip(NAMES, STRONG, strict=True)]
    assert margin(WORDS, told) == margin(WORDS, STRONG)
    assert margin(MEANING, told) < margin(MEANING, STRONG)


def test_parts_are_the_margin_and_the_features_that_say_something():
    (found,) = scales.best(table(WEAK), 1, WORDS)
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
    (one,), (other,) = (scales.best(each, 1, MEANING) for each in (plain, voted))
    assert least - 1e-4 <= other.parts["margin"] - one.parts["margin"] <= most + 1e-4


@pytest.mark.req("R-004-061")
@pytest.mark.parametrize("order", EACH)
def test_of_two_equals_the_more_useful_comes_first(order):
    found = scales.best(table(WEAK, WEAK, usefulness=[1.1, 1.0]), 2, order)
    assert versions(found) == [1, 2]
    found = scales.best(table(WEAK, WEAK, usefulness=[1.0, 0.5]), 2, order)
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
        found = scales.best(table(*rows), 2, order)
        assert versions(found) == [rows.index(NEAREST) + 1, rows.index(guess) + 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_guesses_below_the_nearest_keep_their_own_order(order):
    better, worse = spelled(FAR), spelled(LESS)
    assert margin(order, better) > margin(order, worse) > margin(order, NEAREST)
    for rows in ((better, worse, NEAREST), (worse, better, NEAREST)):
        found = versions(scales.best(table(*rows), 3, order))
        assert found == [3, rows.index(better) + 1, rows.index(worse) + 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_a_sure_word_beside_a_guess_puts_it_where_its_words_do(order):
    found = scales.best(table(NEAREST, spelled(FAR, share=0.5)), 2, order)
    assert versions(found) == [2, 1]


@pytest.mark.parametrize("order", [MEANING, STATIC])
def test_a_guess_that_is_itself_the_nearest_keeps_its_margin(order):
    (found, _) = scales.best(table(spelled(STRONG), NEAREST), 2, order)
    assert found.version == 1
    assert found.parts["margin"] == round(margin(order, spelled(STRONG)), 4)


def test_without_meaning_a_guess_is_all_there_is():
    found = scales.best(table(NEAREST, spelled(FAR)), 2, WORDS)
    assert versions(found) == [2, 1]


@given(st.lists(st.tuples(ROWS, st.floats(0.1, 2.0)), max_size=20), ORDERS, st.integers(1, 25))
def test_relevance_is_a_share_and_never_rises_on_the_way_down(candidates, order, limit):
    rows, usefulness = [each for each, _ in candidates], [useful for _, useful in candidates]
    whole = scales.best(table(*rows, usefulness=usefulness), len(rows) + 1, order)
    scores = [each.score for each in whole]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    margins = [each.parts["margin"] for each in whole]
    assert margins == sorted(margins, reverse=True)
    assert sorted(versions(whole)) == list(range(1, len(rows) + 1))
    found = scales.best(table(*rows, usefulness=usefulness), limit, order)
    assert found == whole[:limit]


@given(ROWS, ORDERS, st.floats(1e-5, 1))
def test_more_of_a_good_feature_never_takes_anything_away(values, order, more):
    before = margin(order, values)
    for at, name in enumerate(NAMES):
        raised = margin(order, (*values[:at], values[at] + more, *values[at + 1 :]))
        better, worse = (before, raised) if name in SHRINKING else (raised, before)
        assert better >= worse - 1e-9, name


@pytest.mark.parametrize("order", EACH)
def test_of_what_speaks_for_a_candidate_more_never_makes_it_less_likely(order):
    known = scales.scales(order)
    assert known.margin.keys() <= {*NAMES}
    assert known.odds.keys() <= {*NAMES} | JUDGED
    for name, scale in (*known.margin.items(), *known.odds.items()):
        assert len(scale.added) == len(scale.limits) + 1, name
        assert [*scale.limits] == sorted(scale.limits), name
        if name != "in_session":
            sign = -1 if name in SHRINKING else 1
            assert all(sign * low <= sign * high for low, high in pairwise(scale.added)), name


@pytest.mark.parametrize("order", EACH)
def test_base_and_shares_are_the_margin_for_any_candidate(order):
    chosen = random.Random(14)
    for _ in range(200):
        values = tuple(chosen.choice((0.0, 1.0, chosen.uniform(-1, 1))) for _ in NAMES)
        found = margin(order, values)
        made = shares.of_margin(table(values), 0, order, (found, found))
        assert abs(made.margin - found) < 1e-12
        mixed = [made.base, *made.shares.values()]
        chosen.shuffle(mixed)
        assert made.margin == sum(mixed) == math.fsum(mixed)


def test_shares_that_lose_something_are_refused():
    with pytest.raises(ValueError, match="do not add up"):
        shares.checked(1.0, {"a": 0.5}, 1.6)


def test_few_and_many_candidates_have_the_same_margins():
    chance = random.Random(7)
    rows = [tuple(chance.uniform(-1, 1) for _ in NAMES) for _ in range(60)]
    alone = [scales.margins_of(table(row), WORDS)[0] for row in rows]
    assert scales.margins_of(table(*rows), WORDS) == alone
