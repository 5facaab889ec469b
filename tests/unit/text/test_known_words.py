"""Tables of words: what they say of a text is what the text itself would say."""

import random
import re

from hypothesis import given, settings, strategies as st

from bench import corpus
from memory_mesh import text as known_words
from memory_mesh.privacy import gate
from memory_mesh.privacy.gate import Hints
from memory_mesh.text import KnownWords, analyzer
from memory_mesh.text.scrub import tokens

HINTS = (*gate.HINTS, *gate.DIGITS_HINTS, "a", " ", "ab c", "c  d")
TABLE = Hints(HINTS)
ASCII = st.text(st.characters(min_codepoint=0, max_codepoint=127))


def test_a_word_is_worked_out_once():
    asked: list[str] = []

    def length(word: str) -> int:
        asked.append(word)
        return len(word)

    table = KnownWords(length)
    assert [table[word] for word in ("one", "three", "one")] == [3, 5, 3]
    assert asked == ["one", "three"]


def test_a_table_is_bounded_and_keeps_no_long_word(monkeypatch):
    monkeypatch.setattr(known_words, "MOST", 3)
    table = KnownWords(len)
    assert [table["a" * size] for size in range(1, 9)] == list(range(1, 9))
    assert len(table) <= 3
    assert table["b" * (known_words.LONGEST + 1)] == known_words.LONGEST + 1
    assert all(len(word) <= known_words.LONGEST for word in table)


@settings(deadline=None)
@given(ASCII)
def test_terms_of_an_ascii_text_are_those_of_its_chunks(text):
    assert analyzer.terms(text) == analyzer._terms(analyzer._chunks(text))
    assert analyzer.joined_terms(text).split() == analyzer.terms(text)


def test_terms_of_the_benchmark_are_those_of_its_chunks():
    for text in corpus.texts(0, 300):
        assert analyzer.terms(text) == analyzer._terms(analyzer._chunks(text))


@settings(deadline=None)
@given(st.text())
def test_a_text_costs_what_its_runs_cost(text):
    runs = tokens._runs().findall(text)
    assert tokens.count(text) == (sum(map(tokens._halves, runs)) + 1) // 2


@settings(deadline=None)
@given(st.text(), st.lists(st.sampled_from(HINTS), max_size=4), st.randoms(use_true_random=False))
def test_hints_are_found_wherever_they_stand(text, planted, chance):
    parts = [*re.split("( )", text), *planted]
    chance.shuffle(parts)
    lowered = "".join(parts).lower()
    assert TABLE.of(lowered) == {hint for hint in HINTS if hint in lowered}


def test_hints_are_found_in_long_words_too():
    chance = random.Random(7)
    for _ in range(300):
        word = "".join(chance.choices([*"xyz/_-.:", *HINTS], k=40)).lower()
        assert TABLE.of(word) == {hint for hint in HINTS if hint in word}
