"""The share of each feature in a sum of trees."""

import inspect
import math
import random
from types import ModuleType

import pytest

from bench.training import tables
from memory_mesh.search.ranking import (
    _forest_by_meaning,
    _forest_by_static,
    _forest_by_words,
    shares,
)
from memory_mesh.search.ranking.features import NAMES

FORESTS = (_forest_by_meaning, _forest_by_static, _forest_by_words)
SMALL = '''
def margin(a: float, b: float) -> float:
    """Two trees."""
    total = 0.0
    total += (-1.0 if a <= 0.5 else (2.0 if b <= 0.25 else 8.0))
    total += (0.5 if b <= -0.5 else 1.5)
    return total
'''


def test_each_question_changes_the_mean_of_the_leaves_below_it():
    base, found = shares.shares(tables.read(SMALL, "margin"), {"a": 1.0, "b": 0.0})
    assert base == 3.0 + 1.0  # the mean of three leaves, and of two
    assert found == {"a": 5.0 - 3.0, "b": (2.0 - 5.0) + (1.5 - 1.0)}
    assert base + sum(found.values()) == 2.0 + 1.5


@pytest.mark.parametrize("forest", FORESTS, ids=lambda forest: forest.__name__)
def test_base_and_shares_are_the_margin_for_any_candidate(forest: ModuleType):
    chosen = random.Random(14)
    trees = tables.read(inspect.getsource(forest), "margin")
    for _ in range(500):
        row = [chosen.choice((0.0, 1.0, chosen.uniform(-1, 1))) for _ in NAMES]
        margin = forest.margin(*row)
        base, found = shares.shares(trees, dict(zip(NAMES, row, strict=True)))
        shares.checked(base, found, margin)
        total, left, parts = shares.balanced(margin, found)
        assert abs(total - margin) < 1e-12
        assert abs(left - base) < shares.RESIDUE
        mixed = [left, *parts.values()]
        chosen.shuffle(mixed)
        assert total == sum(mixed) == math.fsum(mixed) == left + sum(parts.values())


def test_shares_that_lose_something_are_refused():
    with pytest.raises(ValueError, match="do not add up"):
        shares.checked(1.0, {"a": 0.5}, 1.6)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def odds() -> float:\n    return 0.0\n", "no function margin"),
        ("def margin(a):\n    total = 0\n    total += (1 if a > 2 else 3)\n", "at most"),
        ("def margin(a):\n    total = 0\n    total += 'x'\n", "a number is expected"),
    ],
)
def test_a_module_of_another_form_is_refused(source: str, says: str):
    with pytest.raises((ValueError, TypeError), match=says):
        tables.read(source, "margin")
