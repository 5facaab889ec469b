"""What a reader sees is what is compared: hidden and look-alike characters make no other word."""

import unicodedata

import pytest
from hypothesis import example, given, strategies as st

from memory_mesh.formats._look_alikes import LOOK_ALIKES, NEARLY
from memory_mesh.formats.looks import as_seen
from memory_mesh.text.claim_keys import key
from memory_mesh.text.recited import fingerprint

SEEN_AS_USER = (
    "us\u0435r",  # a Cyrillic e
    "\u03c5s\u0435r",  # and a Greek u
    "us\u200ber",
    "us\u200d\u2060er",
    "\u202euser\u202c",
    "us\u00ader",
    "user\ufe0f",
    "us\U000e0101er",
    "us\x00er",
    "u\u0336s\u0336e\u0336r\u0336",  # struck through
    "u\u034fser",
    "\uff55\uff53\uff45\uff52",  # wide
    "\U0001d4fe\U0001d4fc\U0001d4ee\U0001d4fb",  # mathematical
    "\u1d1cs\u1d07\u0280",  # small capitals
    "\u057d\u0455\u0435r",  # an Armenian u and Cyrillic letters
    "U\u0405\u0415R",
    "The us\u0435r's",
)


@pytest.mark.parametrize("text", SEEN_AS_USER)
def test_what_looks_like_a_word_has_the_key_of_that_word(text):
    assert key(text) == "user"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("user port", "us\u0435r\u2010p\u043ert"),  # another hyphen
        ("user port", "user\u00a0port"),
        ("user port", "user\u30fbport"),
        ("deploy day 3", "deploy day \u0663"),
        ("ceo", "\u0441\u0435\u043e"),  # wholly Cyrillic
        ("ceo", "\u03f2eo"),  # a lunate sigma, which NFKC makes a final one
        ("ceo", "\u03f2\u0435\u03bf"),
        ("CEO", "\u03f9EO"),
        ("Caf\u00e9", "\u03f9af\u00e9"),
        ("file size", "\u0192ile size"),
        ("user id", "user \u037ad"),
        ("exit", "e\U00010322it"),
        ("token", "\u03a4\u039f\u039a\u0395\u039d"),  # wholly Greek, in capitals
    ],
)
def test_phrases_that_look_alike_have_one_key(one, other):
    assert key(one) == key(other)


@pytest.mark.parametrize(
    "word",
    [
        "мост",
        "пользователь",
        "Собака",
        "γλώσσα",
        "σοφός",
        "Αθήνα",
        "ճանապարհ",
        "臺灣",
        "कि",
        "المدرسة",
        "שלום",
    ],
)
def test_a_word_of_another_script_stays_in_its_own_letters(word):
    assert key(word) == word.casefold()
    assert key(f"{word}-port") == f"{word.casefold()} port"


@pytest.mark.parametrize(
    ("one", "other"), [("café", "cafe"), ("Peña", "Pena"), ("v1", "vl"), ("1st", "Ist"), ("ø", "o")]
)
def test_a_difference_that_is_seen_stays_a_difference(one, other):
    assert key(one) != key(other)


def test_one_accent_is_one_accent_however_it_is_written():
    assert key("café") == key("cafe\u0301") == key("c\u0430f\u0435\u0301") == "café"


@given(st.text(max_size=40))
@example("\uab79")  # a small letter of Cherokee, whose capital looks like a Y
def test_folding_twice_changes_nothing(text):
    assert as_seen(as_seen(text)) == as_seen(text)
    assert key(key(text)) == key(text)


@given(st.text(st.characters(max_codepoint=126, min_codepoint=32), max_size=40))
def test_a_line_of_ascii_is_left_alone(text):
    assert as_seen(text) == text


@given(
    st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=1, max_size=12),
    st.randoms(use_true_random=False),
)
def test_any_disguise_of_a_word_is_seen_through(word, chance):
    hidden = ["", "", "\u200b", "\u2064", "\ufe00", "\u0338"]
    disguised = "".join(
        chance.choice([letter, *filter(str.isalpha, LOOK_ALIKES.get(letter, ""))])
        + chance.choice(hidden)
        for letter in word
    )
    assert key(disguised) == key(word)


def test_no_letter_of_the_tables_is_ascii_or_made_plain_by_unicode_itself():
    for table in (LOOK_ALIKES, NEARLY):
        for letter, chars in table.items():
            assert letter.isascii()
            assert len(letter) == 1
            for char in chars:
                assert not char.isascii()
                assert unicodedata.normalize("NFKC", char) == char


def test_a_fingerprint_is_that_of_the_words_as_they_look():
    text = "The user lives in Porto"
    assert fingerprint(text) == fingerprint("The us\u0435r live\u200bs in P\u043erto!")
    assert fingerprint(text) != fingerprint("The user lives in Pórto")


def test_a_greek_word_with_lunate_sigmas_stays_greek():
    assert as_seen("\u03f2οφία") == unicodedata.normalize("NFKC", "\u03f2οφία")
