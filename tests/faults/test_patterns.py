"""No regular expression of the source takes more than its share of time."""

import re

import pytest

from tests.faults import pattern_attacks, pattern_sources, patterns
from tests.faults.pattern_sources import Expression
from tests.faults.sample import SEED, SHARE
from tests.faults.suites import sampled


def test_every_pattern_of_the_source_is_collected():
    """A call of `re` whose pattern cannot be found raises NotCollected."""
    found = pattern_sources.collected()
    places = {each.where.partition(":")[0] for each in found}
    assert len(found) > 700
    assert all(each.methods for each in found)
    assert places >= {"privacy.scan", "text.sentences", "context.fence"}


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"<(?=[\s/<]*(?:user|system)\b)", "finditer"),  # 27 s for 8,000 of <
        (r"[.!?…]+[\"')]*(?=\s|$)", "finditer"),  # 7 s for 10,000 question marks
        (r"\[(\s*/?\s*(?:user|system)\s*)\]", "finditer"),  # and for [ and 10,000 spaces
        (r"(?:\w+\s+){1,4}\w+ed(?:,\s+(?:and\s+)?(?:\w+\s+){1,4}\w+ed)+$", "match"),
        (r"\s+and\s+", "search"),
        (r"#+\s+(.+)", "fullmatch"),
    ],
)
def test_the_attacks_find_patterns_that_are_not_linear(pattern, method):
    bad = Expression("here", re.compile(pattern), frozenset({method}))
    report = patterns.attacked([bad], seed=SEED, limit_seconds=1, sizes=patterns.SMALL)
    assert report.failures


def test_an_attack_has_the_length_that_it_is_asked_for():
    made = pattern_attacks.attacks(re.compile(r"a(b|c)*d[ \t]+$"), SEED)
    assert {len(each.text(1_000)) for each in made} == {1_000}
    assert any(each.text(20).startswith("ab") for each in made)


@pytest.mark.slow
def test_a_share_of_the_patterns_is_linear():
    """`just prove patterns` has all of them."""
    report = sampled("patterns")
    report.holds()
    assert report.figures["patterns"] == round(SHARE * len(pattern_sources.collected()))
