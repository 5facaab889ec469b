"""Trust breaks ties between candidates, and nothing else."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.search.ranking.features import (
    NAMES,
    NEAR,
    STUFFED,
    TIE,
    FeatureTable,
    below_trusted,
    repeated,
)

USER, TOOL, PAGE = 0, 2, 4


def candidate(**values):
    """A row of features; what is not given is 0."""
    return tuple(float(values.get(name, 0)) for name in NAMES)


def table(rows, authority, repeats=None):
    many = len(rows)
    return FeatureTable(
        tuple(range(many)), tuple(rows), (1.0,) * many, tuple(authority),
        tuple(repeats or (0.0,) * many),
    )  # fmt: skip


WHOLE = candidate(covered=1, covered_passage=1, cosine=0.6)


def test_an_equal_answer_of_the_user_stands_above():
    page, user = below_trusted([5.0, 2.0], table([WHOLE, WHOLE], [PAGE, USER]))
    assert user == 2.0
    assert 2.0 - 1e-6 < page < 2.0


def test_every_more_trusted_equal_stands_above_and_the_rest_keeps_its_order():
    rows = [WHOLE] * 5
    margins = below_trusted([5.0, 4.0, 3.0, 2.0, 1.0], table(rows, [PAGE, PAGE, USER, USER, PAGE]))
    assert sorted(range(5), key=lambda at: -margins[at]) == [2, 3, 0, 1, 4]


def test_a_tool_stands_between_the_user_and_a_page():
    margins = below_trusted([3.0, 2.0, 1.0], table([WHOLE] * 3, [PAGE, TOOL, USER]))
    assert margins[2] > margins[1] > margins[0]


@pytest.mark.parametrize(
    "weaker",
    [
        candidate(covered=0.5, covered_passage=0.5, cosine=0.6),
        candidate(covered=1, covered_passage=1, cosine=0.6 - 1.1 * NEAR),
    ],
)
def test_a_better_answer_stays_above(weaker):
    assert below_trusted([5.0, 2.0], table([WHOLE, weaker], [PAGE, USER])) == [5.0, 2.0]


def test_a_tie_of_margins_is_the_users():
    other = candidate(covered=0.2)
    first = below_trusted([5.0 + TIE / 2, 5.0], table([WHOLE, other], [PAGE, USER]))
    assert first[0] < first[1]
    assert below_trusted([5.0 + 2 * TIE, 5.0], table([WHOLE, other], [PAGE, USER]))[0] > 5.0


def test_a_stuffed_text_answers_no_better_than_one_that_holds_some_of_the_words():
    some = candidate(covered=0.3, covered_passage=0.3)
    none = candidate()
    margins = below_trusted(
        [9.0, 1.0, 0.5], table([WHOLE, some, none], [PAGE, USER, USER], [STUFFED, 0, 0])
    )
    assert 0.5 < margins[0] < 1.0


def test_repeats_are_counted_beyond_the_first():
    assert repeated("deploy day deploy friday", ["deploy", "day"]) == pytest.approx(1 / 4)
    assert repeated("deploy day friday", ["deploy", "day"]) == 0
    assert repeated("", ["deploy"]) == 0


@given(
    st.lists(
        st.tuples(st.floats(-9, 9), st.sampled_from((USER, TOOL, PAGE))), min_size=1, max_size=8
    )
)
def test_no_margin_rises_and_the_most_trusted_keep_theirs(pairs):
    margins, authority = zip(*pairs, strict=True)
    after = below_trusted(margins, table([WHOLE] * len(pairs), authority))
    assert all(new <= old for new, old in zip(after, margins, strict=True))
    top = min(authority)
    assert all(
        new == old for new, old, own in zip(after, margins, authority, strict=True) if own == top
    )


@given(st.lists(st.floats(-9, 9), min_size=1))
def test_one_authority_changes_nothing(margins):
    assert below_trusted(margins, FeatureTable(usefulness=(1.0,) * len(margins))) == margins
