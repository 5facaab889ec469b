"""Cutting texts: everything is in a window, no window is too long, sentences stay whole."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from memory_mesh.models.embedders import windows


def words(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]


def shown(text: str, limit: int) -> list[str]:
    tokens = words(text)
    return [
        text[tokens[start][0] : tokens[end - 1][1]]
        for start, end in windows.cut(text, tokens, limit)
    ]


def test_a_text_that_fits_is_one_window():
    assert shown("one two three", 3) == ["one two three"]
    assert windows.cut("", [], 5) == [(0, 0)]


def test_windows_end_and_start_with_sentences():
    text = "The cat sleeps on the mat. A dog barks loudly. Rain falls on the roof. Birds sing."
    found = shown(text, 14)
    assert found[0] == "The cat sleeps on the mat. A dog barks loudly."
    assert all(window[-1] == "." for window in found)
    assert found[-1].endswith("Birds sing.")


def test_a_line_is_as_good_as_a_sentence():
    assert shown("a b c d\ne f g h\ni j k l", 9)[0] == "a b c d\ne f g h"


def test_chinese_sentences_need_no_space():
    text = "我喜欢。他来了。" * 10
    tokens = [(at, at + 1) for at in range(len(text))]
    assert all(text[end - 1] == "。" for _, end in windows.cut(text, tokens, 18))


def test_a_word_is_not_cut_while_there_is_another_place():
    text = "unbelievable " * 20
    tokens = [
        span for at in range(20) for span in ((at * 13, at * 13 + 2), (at * 13 + 2, at * 13 + 12))
    ]
    assert all(start % 2 == 0 and end % 2 == 0 for start, end in windows.cut(text, tokens, 13))


@given(st.text(alphabet="ab. !\n。é", max_size=400), st.integers(2, 40), st.randoms())
def test_every_token_is_in_a_window_and_none_is_too_long(text, limit, chance):
    tokens = words(text)
    costs = [chance.randint(1, 3) for _ in tokens]
    found = windows.cut(text, tokens, limit, costs)
    assert found[0][0] == 0
    assert found[-1][1] == len(tokens)
    for (start, end), (following, _) in pairwise(found):
        assert start < following <= end
    for start, end in found:
        assert sum(costs[start:end]) <= limit or end - start == 1


@given(st.text(max_size=3000))
def test_an_estimated_window_holds_no_more_bytes_than_a_tokenizer_could_need(text):
    found = windows.estimated(text, 100)
    assert all(len(re.findall(r"[^\x00-\x7f]", window)) <= 100 for window in found)
    assert re.sub(r"\s", "", found[-1])[-1:] == re.sub(r"\s", "", text)[-1:]


@pytest.mark.parametrize(
    "text",
    [
        "It was a bright cold day in April, and the clocks were striking thirteen. " * 60,
        "def cut(tokens: list[int], limit: int) -> list[tuple[int, int]]:\n    return []\n" * 40,
        "8f14e45fceea167a5a36dedd4bea2543" * 60,
        "今日は良い天気です。散歩に行きましょう。" * 60,
        "🙂🚀🎉" * 200,
        "1234567890 " * 200,
    ],
)
def test_the_estimate_is_never_below_what_a_real_tokenizer_counts(text):
    from tokenizers import Tokenizer

    from tests.embedding import model_folder

    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for window in windows.estimated(text, 256):
        assert len(tokenizer.encode(window).ids) <= 256 + 2


def test_of_a_long_query_the_ends_count():
    assert windows.for_query([1, 2, 3, 4]) == [1, 4]
    assert windows.for_query([1]) == [1]
