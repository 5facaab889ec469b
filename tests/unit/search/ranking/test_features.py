"""The numbers that ranking looks at, worked by hand."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import Matches, Placed
from memory_mesh.search.ranking import features
from memory_mesh.text.embedding_models import Traits
from memory_mesh.text.question import Reading
from memory_mesh.text.times import Period

MATCHES = Matches(postings={"tea": 1, "cake": 3}, rows=9)


def said(version, terms="", **others):
    known = {
        "session": None, "speaker": None, "role": None,
        "at": float(version), "usefulness": 1.0,
    }  # fmt: skip
    return Placed(version, terms, **(known | others))


def columns(reading, *rows, traits=Traits()):  # noqa: B008  # frozen
    """Each feature of the rows in their order."""
    placed = {row.version: row for row in rows}
    table = features.table(features.Evidence(reading, MATCHES, placed, traits))
    assert table.versions == tuple(row.version for row in rows)
    return dict(zip(features.NAMES, map(list, zip(*table.rows, strict=True)), strict=True))


def asked(*terms, **others):
    return Reading(" ".join(terms), terms, **others)


def close(*values):
    return pytest.approx(list(values))


def test_nothing_placed_is_an_empty_table():
    assert features.table(features.Evidence(asked("tea"), MATCHES, {})) == features.FeatureTable()


VECTORS = ("cosine", "cosine_mixed", "nearest", "nearest_mixed", "meaning")


def test_meaning_is_the_cosine_alone_and_mixed_with_both_sides():
    found = columns(
        asked("tea"),
        said(1, cosine=0.6, after=2),
        said(2, cosine=0.2, before=1, after=3),
        said(3, cosine=0.4, before=2),
    )
    # A side where nobody stands is filled with the own cosine.
    mixed = [
        (0.6 + 0.3 * 0.6 + 0.2 * 0.2) / 1.5,
        (0.2 + 0.3 * 0.6 + 0.2 * 0.4) / 1.5,
        (0.4 + 0.3 * 0.2 + 0.2 * 0.4) / 1.5,
    ]
    summed = [0.6 + 0.2 * 0.2, 0.2 + 0.3 * 0.6 + 0.2 * 0.4, 0.4 + 0.3 * 0.2]
    assert found["cosine"] == close(0.6, 0.2, 0.4)
    assert found["cosine_mixed"] == close(*mixed)
    assert found["nearest"] == close(0.0, -0.4, -0.2)
    assert found["nearest_mixed"] == close(*(each - mixed[0] for each in mixed))
    assert found["meaning"] == close(1.0, 0.0, (summed[2] - summed[1]) / (summed[0] - summed[1]))


@pytest.mark.parametrize(("cosine", "shown"), [(1.7, 1.0), (-0.3, 0.0), (0.5, 0.5)])
def test_one_candidate_alone_is_the_nearest_whatever_its_cosine(cosine, shown):
    found = columns(asked("tea"), said(1, "tea", cosine=cosine))
    assert (found["cosine"], found["cosine_mixed"]) == (close(shown), close(shown))
    assert (found["nearest"], found["nearest_mixed"], found["meaning"]) == ([0], [0], [0])
    assert found["keyword"] == [1]


def test_nothing_is_far_below_the_best_by_more_than_1():
    found = columns(asked("tea"), said(1, cosine=0.9), said(2, cosine=-0.9))
    assert found["nearest"] == close(0.0, -1.0)


def test_without_any_vector_nothing_is_said_about_meaning():
    found = columns(asked("tea"), said(1, "tea", after=2), said(2, "jam", before=1))
    assert [found[name] for name in VECTORS] == [[0, 0]] * 5


def test_a_text_that_waits_for_its_vector_has_the_cosine_usual_for_its_words():
    found = columns(
        asked("tea", "jam"), said(1, "milk"), said(2, "tea jam"), said(3, "milk", cosine=0.3)
    )
    assert found["cosine"] == close(0.12, 0.12 + 0.45, 0.3)
    half = columns(asked("tea", "jam"), said(1, "tea"), said(2, cosine=0.3))
    assert half["cosine"] == close(0.12 + 0.45 * half["covered"][0], 0.3)
    assert 0 < half["covered"][0] < 1


def test_the_cosines_of_another_model_are_put_on_the_common_scale():
    rows = said(1, "tea", cosine=0.5), said(2, "milk", cosine=0.9), said(3, "milk")
    found = columns(asked("tea"), *rows, traits=Traits(slope=1.2, offset=-0.1))
    assert found["cosine"] == close(0.5, 0.98, 0.12)  # what is estimated is on that scale already
    assert found["nearest"] == close(-0.48, 0.0, -0.86)


def test_a_neighbour_that_is_not_there_says_nothing():
    alone = columns(asked("tea"), said(7, "cup", cosine=0.4))
    beside = columns(asked("tea"), said(7, "cup", before=6, after=8, cosine=0.4))
    assert beside == alone


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
        before=st.none() | st.integers(1, 8),
        after=st.none() | st.integers(1, 8),
        cosine=st.none() | st.floats(-1, 1),
    ),
    min_size=1,
    max_size=8,
)


@given(ROWS, st.lists(st.sampled_from(["tea", "cake", "zebra"]), unique=True), st.booleans())
def test_every_number_is_between_minus_1_and_1(rows, terms, about_time):
    numbered = {n + 1: _numbered(row, n + 1) for n, row in enumerate(rows)}
    reading = asked(*terms, names=frozenset({"ann"}), about_time=about_time)
    table = features.table(features.Evidence(reading, MATCHES, numbered))
    assert len(table.rows) == len(rows)
    assert all(-1 <= value <= 1 + 1e-9 for row in table.rows for value in row)


def _numbered(row, version):
    return Placed(version, *(getattr(row, name) for name in Placed.__slots__[1:]))
