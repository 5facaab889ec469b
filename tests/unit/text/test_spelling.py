"""A word that nobody stored: what it may be misspelt for, a form of, or made of."""

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text import analyzer
from memory_mesh.text.analyzer import Other, beginnings, respelt, stand_ins, told

WORDS = st.text(alphabet="abcdeёж", min_size=1, max_size=14)


def words(others: tuple[Other, ...]) -> list[str]:
    return [word for other in others for word in other.words]


@pytest.mark.parametrize(
    ("term", "stored"),
    [
        ("typscript", "typescript"),
        ("typesscript", "typescript"),
        ("typescirpt", "typescript"),
        ("typescrapt", "typescript"),
        ("databsae", "databas"),
        ("wiederherstellen", "wiederherstellung"),
        ("quartal", "quartalsplan"),
        ("bestellnumm", "bestellnummern"),
        ("protokollaufbewahr", "protokoll"),
        ("einstellungsdatei", "einstellungen"),
        ("сервернай", "серверная"),
    ],
)
def test_a_word_may_mean_another_spelling_a_form_or_a_part(term, stored):
    assert words(stand_ins(term, [stored])) == [stored]


@pytest.mark.parametrize(
    ("term", "stored"),
    [
        ("write", "white"),
        ("event", "even"),
        ("reason", "reassur"),
        ("certif", "certain"),
        ("discomfort", "discov"),
        ("report", "rapport"),
        ("releas", "release2"),
        ("report", "report"),
        ("broker", "broken"),
        ("quartz", "quarter"),
        ("staging", "string"),
    ],
)
def test_another_word_is_not_meant(term, stored):
    assert stand_ins(term, [stored]) == ()


def test_the_nearest_come_first_and_count_less_than_the_word_itself():
    found = stand_ins("migratio", ["migrations", "migration", "migrating", "migraine"])
    assert words(found) == ["migration", "migrations", "migrating"]
    weights = [other.weight for other in found]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] < 1


def test_numbers_and_names_with_digits_mean_themselves():
    assert beginnings("e62145") == ()
    assert respelt("e62145") == []
    assert beginnings("port") == ()


@pytest.mark.parametrize(
    ("term", "meant"),
    [
        ("typsecript", "typescript"),
        ("tpyescript", "typescript"),
        ("kbuernet", "kubernet"),
        ("depolyment", "deploy"),
        ("eror", "error"),
        ("ytpescript", "typescript"),
    ],
)
def test_a_letter_amiss_near_the_beginning_is_put_right(term, meant):
    assert meant in respelt(term)


@given(WORDS, st.lists(WORDS, max_size=30))
def test_what_a_word_may_mean_is_bounded_and_was_offered(term, offered):
    found = stand_ins(term, offered)
    assert len(found) <= analyzer.MAX_READINGS
    assert set(words(found)) <= set(offered) - {term}
    assert all(0 < other.weight < 1 for other in found)
    assert len(respelt(term)) < 100
    assert all(term.startswith(beginning) for beginning in beginnings(term))


def test_only_what_a_text_holds_is_told():
    meant = {"typscript": ("typescript", "typist"), "gha": ("github action",), "eror": ("error",)}
    memories = [["TypeScript is strict"], ["Actions are minuted", "GitHub"]]
    assert told(meant, memories) == {"typscript": ("typescript",), "gha": ("github action",)}
    assert told(meant, []) == {}
