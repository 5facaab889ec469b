"""What a word weighs: by the store, and by ordinary English."""

import math

import pytest
from hypothesis import given, strategies as st

from memory_mesh.search.ranking.words import ENGLISH_TEXTS, weight
from memory_mesh.text import _common_words, analyzer

LISTED = [stem for stems in _common_words.LEVELS.values() for stem in stems.split()]
WORDS = st.sampled_from(["file", "go", "milk", "tea", "zebra"])
ROWS = st.integers(0, 10**7)


@pytest.mark.parametrize(
    ("term", "held", "rows", "share"),
    [
        ("file", 0, 0, (500 / 16 + 0.05) / 500.1),
        ("file", 3, 100, (3 + 500 / 16 + 0.05) / 600.1),
        ("milk", 0, 0, (500 / 2**10 + 0.05) / 500.1),
        ("zebra", 0, 0, (500 / 2**14 + 0.05) / 500.1),
        ("zebra", 9, 10, (9 + 500 / 2**14 + 0.05) / 510.1),
    ],
)
def test_a_weight_is_the_logarithm_of_a_share_of_the_store_and_of_english(term, held, rows, share):
    assert weight(term, held, rows) == pytest.approx(-math.log(share))


def test_a_small_store_does_not_make_an_ordinary_word_rare():
    assert weight("file", 0, 5) < 3
    assert weight("zebra", 0, 5) > 8


def test_a_large_store_decides_by_itself():
    ordinary, rare = weight("file", 10, 1_000_000), weight("zebra", 10, 1_000_000)
    assert ordinary > 9
    assert rare - ordinary < 1.5
    assert weight("zebra", 900_000, 1_000_000) < 0.2


@given(WORDS, st.integers(0, 10**7), ROWS)
def test_a_word_of_more_texts_never_weighs_more(term, held, rows):
    assert weight(term, held + 1, rows) <= weight(term, held, rows)


@given(WORDS, st.integers(0, 10**7), ROWS)
def test_no_word_weighs_nothing_and_none_weighs_everything(term, held, rows):
    """A count above the rows is that of another moment: it counts as all of them."""
    most = math.log((rows + ENGLISH_TEXTS + 0.1) / 0.05)
    assert -math.log(0.9) <= weight(term, held, rows) <= most


def test_the_listed_words_are_stems_as_the_analyzer_gives_them_each_once():
    assert len(LISTED) == len(set(LISTED)) > 1_000
    assert all(0 < level < 14 for level in _common_words.LEVELS)
    for ordinary in ("libraries", "developing", "peoples"):
        (stem,) = analyzer.terms(ordinary)
        assert stem in LISTED
        assert weight(stem, 0, 0) < weight(ordinary, 0, 0)
