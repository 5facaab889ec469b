"""What reads a text takes a time that grows with the text."""

import pytest

from memory_mesh.learn.rules import rules
from memory_mesh.text import sentences
from tests.faults import long_texts
from tests.faults.suites import sampled


def test_every_unit_is_there_once():
    assert len(set(long_texts.units())) == len(long_texts.units()) > 100


def test_code_and_full_stops_are_read_once():
    assert len(sentences.sentences("`a`. " * 2_000)) <= 2_000


def test_a_sentence_of_many_clauses_is_read_in_no_time():
    assert rules.read_rule("a: " * 2_000, failed=True) is None


@pytest.mark.slow
def test_a_share_of_the_texts_is_read_in_linear_time():
    """`just prove long-texts` has all of them, and ten times as long."""
    report = sampled("long-texts")
    report.holds()
    assert report.figures["functions"] == len(long_texts.readers())
