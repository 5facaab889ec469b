from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text import analyzer, question
from tests.effort import effort

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What does Ann like?", ["Ann"]),
        ("what does ann like?", ["ann", "like"]),
        ("Ann's cello, Ann and ann", ["Ann"]),
        ("did Ann-Marie meet José?", ["Ann-Marie", "José"]),
        ("Which rose is in bloom?", []),
        ("\u674e\u96f7 likes what?", ["\u674e\u96f7", "likes"]),
        ("user_2 and v1.5", ["user"]),
        ("\N{GRINNING FACE} 123 ?!", []),
        ("", []),
    ],
)
def test_what_could_be_a_name_is_a_word_that_says_something(text, words):
    assert question.words(text) == words


def test_a_page_of_names_is_looked_up_in_part():
    names = [chr(97 + n % 26) + chr(97 + n // 26) + "x" for n in range(600)]
    assert question.words(" ".join(names)) == names[: question.MAX_WORDS]


@pytest.mark.parametrize(
    ("text", "names", "embedded", "terms"),
    [
        ("What does Ann like?", {"Ann"}, "What does like?", ("like",)),
        ("What is Ann's cello like?", {"Ann"}, "What is cello like?", ("cello", "like")),
        ("Is ANN, or Bob, at home?", {"ANN", "Bob"}, "Is, or, at home?", ("home",)),
        ("Does Anna know Ann?", {"Ann"}, "Does Anna know?", ("anna", "know")),
        ("the plan of Ann\N{RIGHT SINGLE QUOTATION MARK}s", {"Ann"}, "the plan of", ("plan",)),
        ("Ann and Bob", {"Ann", "Bob"}, "Ann and Bob", ("ann", "bob")),
        ("What does Ann like?", set(), "What does Ann like?", ("ann", "like")),
    ],
)
def test_names_leave_the_question_unless_nothing_else_is_left(text, names, embedded, terms):
    reading = question.read(text, names, NOW)
    assert (reading.text, reading.terms) == (embedded, terms)
    assert reading.names == {name.lower() for name in names}


def test_a_name_with_signs_of_a_pattern_is_only_a_name():
    reading = question.read("does a.*b( like tea", {"a.*b("}, NOW)
    assert reading.text == "does like tea"


@pytest.mark.parametrize(
    ("text", "about_time"),
    [
        ("When did we move?", True),
        ("On which day did we move?", True),
        ("How long was the walk?", True),
        ("Wann war das?", True),
        ("Who moved?", False),
        ("tell me who moved to the house with us and when", False),  # said too late
    ],
)
def test_a_question_that_asks_for_a_time_says_so_in_its_opening(text, about_time):
    assert question.read(text, (), NOW).about_time is about_time
    assert question.read(text, {"Ann"}, NOW).about_time is about_time


def test_a_question_keeps_the_time_it_names():
    period = question.read("what did Ann plant in March 2025?", {"Ann"}, NOW).period
    assert period is not None
    assert (period.start, period.stop) == (
        datetime(2025, 3, 1, tzinfo=UTC),
        datetime(2025, 4, 1, tzinfo=UTC),
    )
    assert question.read("what did Ann plant?", {"Ann"}, NOW).period is None


def test_a_page_is_weighed_by_its_first_terms():
    page = " ".join(f"w{n}" for n in range(1_000))
    terms = question.read(page, (), NOW).terms
    assert terms == tuple(analyzer.query_terms(page)[: question.MAX_TERMS])
    assert len(terms) == question.MAX_TERMS


@pytest.mark.parametrize(
    ("speaker", "named"),
    [
        ("Ann", True),
        ("ANN", True),
        ("Ann Lee", True),
        ("Annabel", False),
        ("Lee Ann", False),
        ("", False),
        (None, False),
    ],
)
def test_a_speaker_is_named_by_the_whole_name_or_its_first_word(speaker, named):
    assert question.names_speaker({"ann"}, speaker) is named
    assert not question.names_speaker((), speaker)


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_no_question_is_too_odd_to_read(text, names):
    reading = question.read(text, names, NOW)
    assert reading.text.strip() or reading.text == text
    assert set(reading.terms) <= set(analyzer.query_terms(text))
    assert bool(reading.terms) is bool(analyzer.query_terms(text))


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("what does error E4711 mean?", ("e4711",)),
        ("call get_user_name or getUserName", ("get user name getusernam",)),  # one name
        ("why does `mesh add` fail?", ("mesh add",)),
        ('who said "never again, please"?', ("never pleas",)),
        ("is 'hot tea' said?", ("hot tea",)),
        ("it's Ann's and Bob's tea", ()),
        ("run it with --force and -v", ("forc", "v")),
        ("port 8080, not 9", ("8080",)),
        ("the (PDF) of src/app.py", ("pdf", "src app py apppi srcapppi")),
        ("std::move, and E4711 of `E4711`", ("e4711", "std move stdmove")),
        ("What does Ann like?", ()),
        ('is "b" or "hot tea" meant?', ("b", "hot tea")),
        ("", ()),
    ],
)
def test_identifiers_numbers_and_quotes_are_kept_for_an_exact_comparison(text, identifiers):
    assert question.identifiers(text) == identifiers
    assert question.read(text, {"Ann"}, NOW).identifiers == identifiers


@pytest.mark.parametrize(("length", "kept"), [(80, True), (81, False)])
def test_a_word_of_more_than_80_characters_is_no_identifier(length, kept):
    word = "a1" + "b" * (length - 2)
    assert bool(question.identifiers(f"({word})")) is kept
    assert bool(question.identifiers(f'"{"b " * (length // 2)}{"b" * (length % 2)}"')) is kept


def test_a_page_of_identifiers_is_compared_in_part():
    page = " ".join(f"e{number}" for number in range(1_000))
    assert question.identifiers(page) == tuple(page.split()[: question.MAX_IDENTIFIERS])
    assert question.identifiers("tea " * question.MAX_TERMS + "e4711") == ()


HOSTILE = ['"', "'", "`", "'a", " 'a", 'a"b', "`a ", "A", "-", "a_", "::", ".", " .", "1a", "(a.b)"]


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_questions_are_read_in_linear_time(part):
    hostile = part * (200_000 // len(part))
    assert effort(lambda: question.identifiers(hostile)) < 600  # a quadratic pattern takes minutes
    assert len(question.identifiers(hostile)) <= question.MAX_IDENTIFIERS


@given(st.text(max_size=80) | st.text("aB1_./:-'\"` \n", max_size=80))
def test_identifiers_are_few_different_and_never_empty(text):
    found = question.identifiers(text)
    assert len(found) == len(set(found)) <= question.MAX_IDENTIFIERS
    assert all(found)
