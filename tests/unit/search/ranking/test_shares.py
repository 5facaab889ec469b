"""The share of each feature in a margin: weights times features, and what adds up exactly."""

import math
import random

import pytest

from memory_mesh.search.ranking import order, shares
from memory_mesh.search.ranking._weights import MARGIN
from memory_mesh.search.ranking.features import NAMES, FeatureTable


@pytest.mark.parametrize("by", MARGIN)
def test_base_and_shares_are_the_margin_for_any_candidate(by):
    chosen = random.Random(14)
    for _ in range(500):
        row = tuple(chosen.choice((0.0, 1.0, chosen.uniform(-1, 1))) for _ in NAMES)
        table = FeatureTable((1,), (row,), (chosen.choice((1.0, 0.4, 2.0)),))
        alone, margin = order.margins_alone(table, by)[0], order.margins_of(table, by)[0]
        found = shares.of_margin(table, 0, by, (alone, margin))
        assert abs(found.margin - margin) < 1e-12
        assert abs(found.base) < shares.RESIDUE
        mixed = [found.base, *found.shares.values()]
        chosen.shuffle(mixed)
        assert found.margin == sum(mixed) == math.fsum(mixed)
        for name, value in found.shares.items():
            if name in NAMES:
                assert value == pytest.approx(MARGIN[by][name] * row[NAMES.index(name)], abs=1e-9)


def test_shares_that_lose_something_are_refused():
    with pytest.raises(ValueError, match="do not add up"):
        shares.checked(1.0, {"a": 0.5}, 1.6)
