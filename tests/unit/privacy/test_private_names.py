"""The names of the user are replaced, and words that are spelled like them are not."""

import re

import pytest
from hypothesis import given, strategies as st

from bench import names as measured
from memory_mesh.model.errors import InvalidInput
from memory_mesh.privacy import NamespaceRedactor
from memory_mesh.privacy.private_names import Person, listed, rules

ALICE = Person(("akowalska",), ("Alicja Kowalska",), ("/home/akowalska",))
MARK = Person(("mark",), ("Mark Dunn",), ("/home/mark",))
PLACEHOLDER = re.compile(r"\[USER_[0-9a-f]{12}\]")


def replaced(text: str, *persons: Person) -> str:
    redactor = NamespaceRedactor(b"k" * 32, "default", names=rules(persons))
    return PLACEHOLDER.sub("<id>", redactor.text(text))


@pytest.mark.req("R-002-071")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("logs in /home/akowalska/app", "logs in /home/<id>/app"),
        ("akowalska pushed", "<id> pushed"),
        ("ask Alicja or A. Kowalska", "ask <id> or A. <id>"),
        ("ALICJA KOWALSKA signed", "<id> signed"),
        ("Kowalska, Alicja (owner)", "<id> (owner)"),
        ("C:\\Users\\akowalska\\x", "C:\\Users\\<id>\\x"),
        ("AKOWALSKA-LAPTOP is off", "<id>-LAPTOP is off"),
        ("the kowalskaya file and alicjaX", "the kowalskaya file and alicjaX"),
    ],
)
def test_a_name_is_replaced_in_every_form(text, left):
    assert replaced(text, ALICE) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("mark it in /home/mark/x", "mark it in /home/<id>/x"),
        ("the owner will mark the branch mark", "the owner will mark the branch mark"),
        ("Mark Dunn set a bookmark", "<id> set a bookmark"),
        ("mark@host:~$ ls", "<id>@host:~$ ls"),
        ("I asked Mark about it", "I asked <id> about it"),
        ("Mark's branch mark/fix", "<id>'s branch <id>/fix"),
        ("Mark the slow tests", "Mark the slow tests"),
        ("user=mark, @pytest.mark.slow", "user=<id>, @pytest.mark.slow"),
    ],
)
def test_a_name_that_is_an_ordinary_word_is_replaced_only_where_it_is_a_name(text, left):
    assert replaced(text, MARK) == left


@pytest.mark.parametrize("account", ["test", "dev", "root", "admin", "ci", "jo", "ubuntu"])
def test_an_account_that_says_nothing_about_anybody_is_left(account):
    text = f"{account} ran the {account} suite as {account}@host; user={account}"
    assert replaced(text, Person((account,), (), (f"/home/{account}",))) == text


def test_a_team_or_a_bot_that_commits_is_no_person():
    text = "The GitHub Actions run of the Release Bot failed"
    assert replaced(text, Person((), ("GitHub Actions", "Release Bot"))) == text


@pytest.mark.req("R-002-071")
def test_every_form_of_one_person_has_one_stable_id():
    redactor = NamespaceRedactor(b"k" * 32, "default", names=rules([ALICE, MARK]))
    text = "akowalska, Alicja Kowalska, /home/akowalska and Alicja; mark@host"
    ids = PLACEHOLDER.findall(redactor.text(text))
    assert len(ids) == 5
    assert len(set(ids)) == 2
    other = NamespaceRedactor(b"o" * 32, "default", names=rules([ALICE]))
    assert other.text("akowalska") != redactor.text("akowalska")


def test_an_address_is_replaced_as_an_address_and_not_cut_at_the_name():
    assert re.fullmatch(
        r"\[EMAIL_[0-9a-f]{12}\]",
        NamespaceRedactor(b"k", "n", names=rules([ALICE])).text("akowalska@example.com"),
    )


def test_decomposed_and_plain_spellings_are_the_same_name():
    rene = Person((), ("Renée Dûment",))
    text = "Rene\u0301e Du\u0302ment, Renee Dument and RENÉE DÛMENT"
    assert replaced(text, rene) == "<id>, <id> and <id>"


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("田中 太郎", "田中太郎が修正した。田中 太郎です", "<id>が修正した。<id>です"),
        ("Игорь Петров", "спросить Игоря Петрова; игорный", "спросить <id>; игорный"),
        ("Анна Иванова", "письмо Ивановой", "письмо <id>"),
        ("Sun-hee Park", "Sunhee Park and the parking of SUN-HEE", "<id> and the parking of <id>"),
        ("Jonas Öberg", "Öbergs branch, by Jonas; oberginen", "<id> branch, by <id>; oberginen"),
    ],
)
def test_names_in_other_scripts_and_with_endings_are_replaced(name, text, left):
    assert replaced(text, Person((), (name,))) == left


def test_listed_names_are_replaced_wherever_they_stand_as_words():
    persons = listed(["Falcon", "Acme Holding"])
    text = "falcon meets ACME HOLDING; falconry and Holding stay"
    assert replaced(text, *persons) == "<id> meets <id>; falconry and <id> stay"
    with pytest.raises(InvalidInput, match="too short"):
        listed(["ab"])


@given(
    st.text() | st.lists(st.sampled_from(["mark", "Mark", "Dunn", "/home/mark", " ", "@", "'s"]))
)
def test_replacing_twice_changes_nothing(text):
    whole = text if isinstance(text, str) else "".join(text)
    redactor = NamespaceRedactor(b"k" * 32, "default", names=rules([MARK, ALICE]))
    once = redactor.text(whole)
    assert redactor.text(once) == once


@pytest.mark.req("R-002-071")
def test_the_set_of_names_is_read_as_measured():
    figures = measured.measure("dev").figures()
    assert figures["recall"] >= 0.97
    assert figures["precision"] >= 0.97
    assert figures["kept"] >= 0.99
