from itertools import pairwise

import pytest

from memory_mesh.search import rank
from tests.effort import effort

LONG = "word " * 130  # a part of its own


def test_the_paragraph_with_the_words_is_the_part_that_answers():
    text = f"{LONG}first\n\n{LONG}the gateway listens there\n\n{LONG}last"
    span = rank.best(text, ["gateway", "listen"])
    assert span is not None
    assert text[slice(*span)] == f"{LONG}the gateway listens there"


def test_short_paragraphs_are_taken_together_and_the_rest_joins_the_last():
    text = "\n\n".join([*["a short line of words"] * 60, "the end"])
    parts = list(rank._parts(text))
    assert all(stop - start >= rank._LEAST for start, stop in parts)
    assert parts[0][0] == 0
    assert parts[-1][1] == len(text)
    assert all(not text[stop:start].strip() for (_, stop), (start, _) in pairwise(parts))


@pytest.mark.parametrize("text", ["", "one line", "one\n\ntwo", LONG])
def test_a_text_of_one_part_has_no_part(text):
    assert rank.best(text, ["one"]) is None


@pytest.mark.parametrize("unit", [" ", "\n", "a\n", "  \n", "a ", "a\n\n"])
def test_hostile_text_costs_no_more_than_its_length(unit):
    hostile = (unit * 100_000)[:100_000]
    assert effort(lambda: rank.best(hostile, ["a"])) < 500
