"""How well the words of a candidate match the question, worked by hand."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.model import Matches, Placed
from memory_mesh.search.ranking import words
from memory_mesh.search.ranking.words import weight
from memory_mesh.text.question import Reading

MATCHES = Matches(postings={"tea": 1, "cake": 3}, rows=9)
TEA, CAKE = weight("tea", 1, 9), weight("cake", 3, 9)
COLUMNS = {
    "keyword", "keyword_own", "covered", "covered_before", "covered_around", "covered_passage",
    "guessed", "exact",
}  # fmt: skip


def turns(*texts):
    """The texts as turns that follow each other: rows, places before, places after."""
    rows = [
        Placed(at + 1, terms, session="s", speaker=None, role=None, at=0.0, usefulness=1.0)
        for at, terms in enumerate(texts)
    ]
    last = len(rows) - 1
    return (
        rows,
        [at - 1 for at in range(len(rows))],
        [at + 1 if at < last else -1 for at in range(len(rows))],
    )


def notes(*texts):
    """The texts as notes that stand alone."""
    rows, *_ = turns(*texts)
    return rows, [-1] * len(rows), [-1] * len(rows)


def asked(*terms, **others):
    return Reading(" ".join(terms), terms, **others)


def columns(reading, placed, matches=MATCHES):
    return words.by_words(reading, matches, *placed)


def close(*values):
    return pytest.approx(list(values))


def filler(count):
    return " ".join(f"w{number}" for number in range(count))


def test_all_columns_are_there_even_if_the_question_has_no_terms():
    found = columns(asked(), notes("tea", ""))
    assert found == {name: [0.0, 0.0] for name in COLUMNS}


def test_bm25_of_a_text_is_measured_by_the_usual_length_and_not_by_the_store():
    found = columns(asked("tea", "cake"), notes("tea hot", "cake"))
    norms = [1.2 * (0.75 + 0.25 * length / 24) for length in (2, 1)]
    own = [TEA * 2.2 / (1 + norms[0]), CAKE * 2.2 / (1 + norms[1])]
    assert found["keyword_own"] == close(1.0, own[1] / own[0])
    more = columns(asked("tea", "cake"), notes("tea hot", "cake", filler(90)))
    assert more["keyword_own"][:2] == found["keyword_own"]


def test_bm25_counts_the_terms_of_the_turn_before_with_its_own():
    found = columns(asked("tea", "cake"), turns("tea hot", "cake"))
    # Joined lengths 2 and 3, on average 2.5.
    joined = [
        TEA * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2.5)),
        (TEA + CAKE) * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 3 / 2.5)),
    ]
    assert found["keyword"] == close(joined[0] / joined[1], 1.0)
    assert (
        found["keyword_own"]
        == columns(asked("tea", "cake"), notes("tea hot", "cake"))["keyword_own"]
    )


def test_a_term_said_twice_counts_less_than_twice():
    found = columns(asked("tea"), notes("tea hot tea", "tea hot cup"))
    norm = 1.2 * (0.75 + 0.25 * 3 / 24)
    assert found["keyword_own"] == close(1.0, (1 / (1 + norm)) / (2 / (2 + norm)))


def test_beyond_600_terms_length_takes_nothing_more_away():
    texts = ["tea", *(f"tea {filler(length - 1)}" for length in (500, 600, 2_000))]
    shares = columns(asked("tea"), notes(*texts))["keyword_own"]
    assert shares[1] > shares[2] == shares[3]
    least, most = (1 + 1.2 * (0.75 + 0.25 * length / 24) for length in (1, 600))
    assert shares[2] == pytest.approx(least / most)


@pytest.mark.parametrize(("length", "heard"), [(64, True), (65, False)])
def test_a_long_turn_before_covers_but_does_not_score(length, heard):
    found = columns(asked("tea"), turns(f"tea {filler(length - 1)}", "yes"))
    assert found["covered"] == close(1.0, 0.0)
    assert found["covered_before"] == close(1.0, 1.0)
    assert (found["keyword"][1] > 0) is heard


def test_coverage_is_the_share_of_the_questions_weight():
    found = columns(asked("tea", "cake"), turns("tea", "milk", "cake"))
    tea, cake = TEA / (TEA + CAKE), CAKE / (TEA + CAKE)
    assert found["covered"] == close(tea, 0.0, cake)
    assert found["covered_before"] == close(tea, tea, cake)
    assert found["covered_around"] == close(tea, 1.0, cake)
    assert found["covered_passage"] == found["covered"]


def test_a_word_nobody_holds_leaves_part_of_the_question_open():
    found = columns(asked("tea", "zebra"), notes("tea"))
    assert found["covered"] == close(TEA / (TEA + weight("zebra", 0, 9)))


def test_a_rare_word_covers_more_than_an_ordinary_one_that_is_as_rare_here():
    matches = Matches(postings={"file": 1, "tea": 1}, rows=9)
    found = columns(asked("file", "tea"), notes("file", "tea"), matches)
    ordinary, rare = found["covered"]
    assert ordinary == pytest.approx(weight("file", 1, 9) / (weight("file", 1, 9) + TEA))
    assert ordinary < 0.35
    assert rare > 0.65


def test_a_term_is_held_as_a_whole_word_only():
    assert columns(asked("tea"), notes("teapot steam tea2", "tea"))["covered"] == close(0.0, 1.0)


def test_another_word_for_a_term_counts_by_its_share():
    reading = asked("k8s", forms={"k8s": (("kubernet", 1.0), ("kube cluster", 0.5))})
    found = columns(reading, notes("kubernet", "kube cluster", "cluster kube", ""))
    assert found["covered"] == close(1.0, 0.5, 0.0, 0.0)
    assert found["keyword_own"][0] == pytest.approx(1.0)


def test_only_a_doubtful_word_is_a_guess_and_not_beside_a_sure_one():
    reading = asked("k8s", "tea", forms={"k8s": (("kubernet", 1.0), ("kate", 0.5))})
    found = columns(reading, notes("kubernet", "kate", "k8s kate", "tea", "kate tea"))
    share = weight("k8s", 0, 9) / (weight("k8s", 0, 9) + TEA)
    assert found["guessed"] == close(0.0, share / 2, 0.0, 0.0, share / 2)
    assert found["covered"] == close(share, share / 2, share, 1 - share, 1 - share / 2)


def test_what_the_neighbours_hold_by_another_word_counts_no_more_than_its_share():
    reading = asked("typscript", forms={"typscript": (("typescript", 0.7),)})
    found = columns(reading, turns("typescript", "", ""))
    assert found["covered_before"] == close(0.7, 0.7, 0.0)
    assert found["covered_around"] == close(0.7, 0.7, 0.0)
    assert found["guessed"] == close(0.7, 0.0, 0.0)


def apart(characters):
    """Two terms of the question, whose beginnings are so many characters apart."""
    between = "x" * (characters - len("tea ") - 1)
    return f"tea {between} cake {'y' * words.PASSAGE}"


@pytest.mark.parametrize(("characters", "passage"), [(319, True), (320, False)])
def test_words_close_together_cover_a_passage(characters, passage):
    found = columns(asked("tea", "cake"), notes(apart(characters)))
    most = max(TEA, CAKE) / (TEA + CAKE)
    assert found["covered"] == close(1.0)
    assert found["covered_passage"] == close(1.0 if passage else most)


def test_the_best_passage_counts_wherever_it_stands():
    far = "x" * 400
    found = columns(asked("tea", "cake"), notes(f"tea {far} cake {far} cake milk tea {far} tea"))
    assert found["covered_passage"] == close(1.0)


def test_of_one_term_in_a_passage_the_surest_form_counts():
    reading = asked("k8s", forms={"k8s": (("kate", 0.5), ("kubernet", 1.0))})
    far = "x" * 400
    found = columns(reading, notes(f"kate {far} kate kubernet", f"{far} kate {far}"))
    assert found["covered_passage"] == close(1.0, 0.5)


@pytest.mark.parametrize(
    ("identifiers", "shares"),
    [
        ((), [0, 0, 0]),
        (("err 4711",), [1, 0, 0]),
        (("err 4711", "v2"), [1 / 2, 0, 1 / 2]),
    ],
)
def test_exact_is_the_share_of_identifiers_held_as_they_are(identifiers, shares):
    reading = asked("err", "4711", identifiers=identifiers)
    found = columns(reading, notes("the err 4711 came", "4711 err", "err v2 47111"))
    assert found["exact"] == close(*shares)


TERMS = ["tea", "cake", "jam", "kate", "w" * 90]
TEXTS = st.lists(st.lists(st.sampled_from(TERMS), max_size=30).map(" ".join), min_size=1)
READINGS = st.lists(st.sampled_from(["tea", "cake", "zebra"]), unique=True).map(
    lambda terms: asked(*terms, forms={"cake": (("kate", 0.5),)}, identifiers=("tea cake",))
)


@given(TEXTS, READINGS, st.booleans())
def test_every_column_is_a_share_and_each_wider_look_covers_no_less(texts, reading, follow):
    found = columns(reading, turns(*texts) if follow else notes(*texts))
    assert set(found) == COLUMNS
    for name, column in found.items():
        assert all(0 <= value <= 1 + 1e-9 for value in column), name
    for passage, own in zip(found["covered_passage"], found["covered"], strict=True):
        assert passage <= own + 1e-9
    for own, before, around in zip(
        found["covered"], found["covered_before"], found["covered_around"], strict=True
    ):
        assert own <= before + 1e-9
        assert before <= around + 1e-9
    assert all(
        guess <= own + 1e-9 for guess, own in zip(found["guessed"], found["covered"], strict=True)
    )


@given(st.lists(st.sampled_from(TERMS), max_size=40), st.sampled_from(["tea", "cake", "zebra"]))
def test_a_word_of_the_question_in_place_of_another_never_takes_anything_away(held, term):
    reading = asked("tea", "cake", "zebra")
    with_other, with_term = " ".join(["milk", *held]), " ".join([term, *held])
    before = columns(reading, notes(with_other))
    after = columns(reading, notes(with_term))
    for name in ("keyword_own", "covered", "covered_around"):
        assert after[name][0] >= before[name][0] - 1e-9, name


def best_passage_slowly(text, length):
    """Looks at every window that begins at a term of the question."""
    places = [
        (at, term)
        for term in ("tea", "cake")
        for at in range(len(text))
        if text.startswith(f" {term} ", at)
    ]
    weights = {"tea": TEA, "cake": CAKE}
    windows = [{term for at, term in places if 0 <= at - start < length} for start, _ in places]
    best = max((sum(weights[term] for term in window) for window in windows), default=0.0)
    return best / (TEA + CAKE)


@given(st.lists(st.sampled_from(["tea", "cake", "x" * 50, "y" * 200]), max_size=30).map(" ".join))
def test_the_window_that_slides_finds_what_every_window_finds(terms):
    found = columns(asked("tea", "cake"), notes(terms))
    text = f" {terms} "
    long = len(text) > words.PASSAGE
    expected = best_passage_slowly(text, words.PASSAGE) if long else found["covered"][0]
    assert found["covered_passage"] == close(expected)
