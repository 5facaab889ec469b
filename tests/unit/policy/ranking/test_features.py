"""The numbers that ranking looks at, worked by hand."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from memory_mesh.model import Matches, Placed
from memory_mesh.policy.ranking import features
from memory_mesh.policy.ranking.question import Reading
from memory_mesh.policy.text.time_expressions import Period

MATCHES = Matches(postings={"tea": 1, "cake": 3}, rows=9)
TEA, CAKE = math.log(1 + 8.5 / 1.5), math.log(1 + 6.5 / 3.5)


def said(version, terms="", **others):
    known = {
        "session": None, "order": None, "speaker": None, "role": None,
        "at": float(version), "tags": (), "usefulness": 1.0,
    }  # fmt: skip
    return Placed(version, terms, **(known | others))


def columns(reading, *rows, matches=MATCHES):
    """Each feature of the rows in their order."""
    table = features.table(features.Evidence(reading, matches, {row.version: row for row in rows}))
    assert table.versions == tuple(row.version for row in rows)
    return dict(zip(features.NAMES, map(list, zip(*table.rows, strict=True)), strict=True))


def asked(*terms, **others):
    return Reading(" ".join(terms), terms, **others)


def close(*values):
    return pytest.approx(list(values))


def test_nothing_placed_is_an_empty_table():
    assert features.table(features.Evidence(asked("tea"), MATCHES, {})) == features.Table()


def test_bm25_counts_the_terms_of_the_turn_before_with_its_own():
    found = columns(
        asked("tea", "cake"), said(1, "tea hot", after=2), said(2, "cake", before=1, after=3)
    )
    # Own lengths 2 and 1, on average 1.5; joined 2 and 3, on average 2.5.
    own = [TEA * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 1.5)), CAKE * 2.2 / (1 + 1.2 * 0.75)]
    joined = [
        TEA * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2.5)),
        (TEA + CAKE) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 3 / 2.5)),
    ]
    assert found["keyword_own"] == close(1.0, own[1] / own[0])
    assert found["keyword"] == close(joined[0] / joined[1], 1.0)
    assert found["keyword_before"] == close(0.0, 1.0)
    assert found["keyword_after"] == close(own[1] / own[0], 0.0)


def test_a_term_said_twice_counts_less_than_twice():
    found = columns(asked("tea"), said(1, "tea hot tea"), said(2, "tea hot cup"))
    norm = 1.2 * (0.25 + 0.75)
    assert found["keyword_own"] == close(1.0, (2.2 / (1 + norm)) / (2 * 2.2 / (2 + norm)))


@pytest.mark.parametrize(("length", "heard"), [(64, True), (65, False)])
def test_a_long_turn_before_covers_but_does_not_score(length, heard):
    long = " ".join(["tea", *(f"w{n}" for n in range(length - 1))])
    found = columns(asked("tea"), said(1, long, after=2), said(2, "yes", before=1))
    assert (found["keyword"][1] > 0) is heard
    assert found["covered"] == close(1.0, 0.0)
    assert found["covered_before"] == close(1.0, 1.0)
    joined = [length, length + 1 if heard else 1]
    average = sum(joined) / 2
    scores = [2.2 / (1 + 1.2 * (0.25 + 0.75 * each / average)) for each in joined]
    top = max(scores[0], scores[1] if heard else 0.0)
    assert found["keyword"] == close(scores[0] / top, scores[1] / top if heard else 0.0)


def test_coverage_is_the_share_of_the_questions_weight():
    found = columns(
        asked("tea", "cake"),
        said(1, "tea", after=2),
        said(2, "milk", before=1, after=3),
        said(3, "cake", before=2),
    )
    tea, cake = TEA / (TEA + CAKE), CAKE / (TEA + CAKE)
    assert found["covered"] == close(tea, 0.0, cake)
    assert found["covered_before"] == close(tea, tea, cake)
    assert found["covered_around"] == close(tea, 1.0, cake)


def test_a_word_nobody_holds_leaves_part_of_the_question_open():
    found = columns(asked("tea", "zebra"), said(1, "tea"))
    assert found["covered"] == close(TEA / (TEA + math.log(1 + 9.5 / 0.5)))


def test_pairs_are_terms_that_follow_each_other_in_the_question_up_to_three():
    terms = ("a1", "b1", "c1", "d1", "e1")
    found = columns(
        asked(*terms), said(1, "e1 d1 c1 b1 a1"), said(2, "a1 b1 d1 e1"), said(3, "a1 c1 e1")
    )
    assert found["pairs"] == close(1.0, 2 / 3, 0.0)


def test_a_term_is_held_as_a_whole_word_only():
    found = columns(asked("tea"), said(1, "teapot steam tea2"), said(2, "tea"))
    assert found["covered"] == close(0.0, 1.0)


def test_another_word_for_a_term_counts_by_its_share():
    reading = asked("k8s", forms={"k8s": (("kubernet", 1.0), ("kube cluster", 0.5))})
    found = columns(
        reading, said(1, "kubernet"), said(2, "kube cluster"), said(3, "cluster kube"), said(4)
    )
    assert found["covered"] == close(1.0, 0.5, 0.0, 0.0)
    assert found["keyword_own"][0] == pytest.approx(1.0)


def test_what_the_neighbours_hold_by_another_word_counts_no_more_than_its_share():
    reading = asked("typscript", forms={"typscript": (("typescript", 0.7),)})
    found = columns(
        reading, said(1, "typescript", after=2), said(2, before=1, after=3), said(3, before=2)
    )
    assert found["covered_before"] == close(0.7, 0.7, 0.0)
    assert found["covered_around"] == close(0.7, 0.7, 0.0)


def test_how_a_long_text_begins_counts_beside_its_best_part():
    found = columns(
        asked("tea"),
        said(1, cosine=0.9, opening=0.1),
        said(2, cosine=0.5, opening=0.5),
        said(3, cosine=0.2, opening=0.2),
        said(4),
    )
    assert found["opening"] == close(0.0, 1.0, 0.25, 0.25)


def test_meaning_is_relative_and_mixed_with_both_sides():
    found = columns(
        asked("tea"),
        said(1, cosine=0.6, after=2),
        said(2, cosine=0.2, before=1, after=3),
        said(3, cosine=0.4, before=2),
    )
    mixed = [0.6 + 0.2 * 0.2, 0.2 + 0.3 * 0.6 + 0.2 * 0.4, 0.4 + 0.3 * 0.2]
    assert found["meaning"] == close(1.0, 0.0, 0.5)
    assert found["meaning_mixed"] == close(1.0, 0.0, (mixed[2] - mixed[1]) / (mixed[0] - mixed[1]))
    assert found["meaning_before"] == close(0.0, 1.0, 0.0)
    assert found["meaning_after"] == close(0.0, 0.5, 0.0)
    assert found["cosine"] == close(0.6, 0.2, 0.4)


def test_what_has_no_vector_is_taken_for_the_least_near():
    found = columns(asked("tea"), said(1, cosine=0.5), said(2), said(3, cosine=0.1))
    assert found["cosine"] == close(0.5, 0.1, 0.1)
    assert found["meaning"] == close(1.0, 0.0, 0.0)


@pytest.mark.parametrize(("cosine", "shown"), [(1.7, 1.0), (-0.3, 0.0), (None, 0.0)])
def test_one_candidate_alone_has_no_relative_meaning(cosine, shown):
    found = columns(asked("tea"), said(1, "tea", cosine=cosine))
    assert (found["meaning"], found["meaning_mixed"], found["meaning_rank"]) == ([0], [0], [0])
    assert found["cosine"] == [shown]
    assert (found["keyword"], found["recency"]) == ([1], [1])


def test_a_neighbour_that_is_not_there_says_nothing():
    found = columns(asked("tea"), said(7, "cup", before=6, after=8, cosine=0.4))
    for name in ("keyword_before", "covered_around", "meaning_before"):
        assert found[name] == [0]


def test_the_speaker_whom_the_question_names_stands_out():
    reading = asked("tea", names=frozenset({"ann"}))
    rows = [said(1, speaker="Ann Lee"), said(2, speaker="Bob"), said(3)]
    found = columns(reading, *rows)
    assert (found["speaker"], found["other_speaker"]) == ([1, 0, 0], [0, 1, 0])
    nobody = columns(asked("tea"), *rows)
    assert (nobody["speaker"], nobody["other_speaker"]) == ([0, 0, 0], [0, 0, 0])


def test_a_role_is_the_users_the_agents_or_none():
    roles = ["user", "Human", "assistant", "agent", "tool", "system", None]
    found = columns(asked("tea"), *(said(n + 1, role=role) for n, role in enumerate(roles)))
    assert found["role"] == [1, 1, -1, -1, -1, 0, 0]


def test_length_grows_with_its_logarithm():
    found = columns(asked("tea"), said(1, "one"), said(2, "one two three"))
    assert found["length"] == close(math.log(2) / 8, math.log(4) / 8)


def test_a_tag_counts_when_the_question_holds_all_of_it():
    rows = [said(1, tags=("black tea",)), said(2, tags=("tea",)), said(3, tags=(" ", "jam"))]
    assert columns(asked("tea"), *rows)["tagged"] == [0, 1, 0]
    assert columns(asked("black", "tea"), *rows)["tagged"] == [1, 1, 0]


def test_the_session_of_the_best_three_counts_most():
    rows = [
        *(said(n, "tea", session="good") for n in (1, 2, 3, 4)),
        said(5, "tea", session="poor"),
        said(6, "jam", session="poor"),
        said(7, "tea"),
    ]
    # Every turn with the word scores alike: 0.4 each, of the best three of a session.
    found = columns(asked("tea"), *rows)
    assert found["session"] == close(1, 1, 1, 1, 1 / 3, 1 / 3, 0)


def test_meaning_and_speaker_count_for_a_session_too():
    reading = asked("tea", names=frozenset({"ann"}))
    found = columns(
        reading,
        said(1, "tea", session="a", speaker="Ann", cosine=0.1),
        said(2, "jam", session="b", cosine=0.5),
    )
    assert found["session"] == close((0.4 + 0.15) / 0.6, 1.0)


def test_equals_share_a_rank_and_nothing_has_none():
    found = columns(
        asked("tea"), said(1, "tea"), said(2, "tea"), said(3, "tea jam bun"), said(4, "jam")
    )
    assert found["keyword_rank"] == close(1.0, 1.0, 0.98, 0.0)


def test_ranks_end_at_the_hundredth():
    rows = [said(n, cosine=1 - n / 1_000) for n in range(1, 151)]
    ranks = columns(asked("tea"), *rows)["meaning_rank"]
    assert ranks[0] == 1.0
    assert ranks[99] == pytest.approx(0.01)
    assert set(ranks[100:]) == {0.0}


def test_recency_is_a_place_among_the_candidates():
    found = columns(asked("tea"), said(1, at=30.0), said(2, at=10.0), said(3, at=10.0))
    assert found["recency"] == close(1.0, 1 / 3, 2 / 3)


def test_only_a_question_about_time_looks_at_words_of_time():
    rows = [said(1, "yesterday last week ago"), said(2, "sinc june"), said(3, "tea")]
    assert columns(asked("tea"), *rows)["time_words"] == [0, 0, 0]
    found = columns(asked("tea", about_time=True), *rows)
    assert found["time_words"] == close(1.0, 2 / 3, 0.0)


def test_year_month_and_day_of_the_question_are_compared_with_the_date():
    day = datetime(2025, 3, 14, tzinfo=UTC).timestamp()
    rows = [said(1, at=day), said(2, at=day + 86_400), said(3, at=0.0)]
    assert columns(asked("14", "march", "2025"), *rows)["dated"] == close(1.0, 2 / 3, 0.0)
    assert columns(asked("tea"), *rows)["dated"] == [0, 0, 0]


@pytest.mark.parametrize(("day", "seconds"), [("1", -62_135_596_800.0), ("31", 253_402_300_800.0)])
def test_the_ends_of_the_calendar_are_dates_like_any_other(day, seconds):
    """The last microsecond of the year 9999 is, as a float, the first of the next."""
    assert columns(asked(day), said(1, at=seconds))["dated"] == close(1 / 3)


def test_a_period_holds_its_start_and_not_its_end():
    period = Period(
        datetime(2025, 3, 1, tzinfo=UTC), datetime(2025, 4, 1, tzinfo=UTC), "in March 2025"
    )
    start, stop = period.start.timestamp(), period.stop.timestamp()
    rows = [said(1, at=start), said(2, at=stop), said(3, at=start - 1), said(4, at=stop - 1)]
    assert columns(asked("tea", period=period), *rows)["in_period"] == [1, -1, -1, 1]
    assert columns(asked("tea"), *rows)["in_period"] == [0, 0, 0, 0]


def test_a_row_tells_only_what_says_something():
    table = features.table(
        features.Evidence(asked("tea"), MATCHES, {1: said(1, "tea", role="tool")})
    )
    told = table.told(0)
    assert told["role"] == -1
    assert "speaker" not in told
    assert all(told.values())


ROWS = st.lists(
    st.builds(
        said,
        st.just(0),
        st.lists(st.sampled_from(["tea", "cake", "jam"]), max_size=5).map(" ".join),
        session=st.sampled_from([None, "a", "b"]),
        speaker=st.sampled_from([None, "Ann", "Bob"]),
        role=st.sampled_from([None, "user", "tool"]),
        at=st.floats(-1e9, 4e9),
        tags=st.sampled_from([(), ("tea",)]),
        before=st.none() | st.integers(1, 8),
        after=st.none() | st.integers(1, 8),
        cosine=st.none() | st.floats(-1, 1),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(ROWS, st.lists(st.sampled_from(["tea", "cake", "zebra"]), unique=True), st.booleans())
def test_every_number_is_between_minus_1_and_1(rows, terms, about_time):
    numbered = {n + 1: _numbered(row, n + 1) for n, row in enumerate(rows)}
    reading = asked(*terms, names=frozenset({"ann"}), about_time=about_time)
    table = features.table(features.Evidence(reading, MATCHES, numbered))
    assert len(table.rows) == len(rows)
    assert all(-1 <= value <= 1 + 1e-9 for row in table.rows for value in row)


def _numbered(row, version):
    return Placed(version, *(getattr(row, name) for name in Placed.__slots__[1:]))
