"""The two simple sums, worked by hand."""

import math

import pytest

from bench import simple_sums
from memory_mesh.model import Matches, Placed
from memory_mesh.search.ranking.features import Evidence
from memory_mesh.text.question import Reading


def placed(version, terms, cosine):
    return Placed(
        version, terms, session=None, speaker=None, role=None, at=0.0, usefulness=1.0, cosine=cosine
    )


def test_both_sums_are_half_words_half_cosine():
    rows = {1: placed(1, "tea hot", 0.2), 2: placed(2, "cake tea", 0.6), 3: placed(3, "sun", None)}
    matches = Matches(postings={"tea": 2, "cake": 1}, rows=3)
    found = simple_sums.sums(Evidence(Reading("tea cake", ("tea", "cake")), matches, rows))
    tea, cake = math.log1p(1.5 / 2.5), math.log1p(2.5 / 1.5)
    norm = 1.2 * (0.25 + 0.75 * 2 / (5 / 3))
    one, two = tea * 2.2 / (1 + norm), (tea + cake) * 2.2 / (1 + norm)
    assert found["bm25-cosine"] == pytest.approx([one / two / 2 + 1 / 6, 1.0, 0.0])
    whole = tea + cake
    assert found["coverage-cosine"] == pytest.approx([tea / whole / 2 + 0.1, 0.8, 0.0])


def test_nothing_found_has_no_sums():
    empty = Evidence(Reading("tea", ("tea",)), Matches(), {})
    assert simple_sums.sums(empty) == {"bm25-cosine": [], "coverage-cosine": []}
