"""Trees of one feature become scales that add the same number."""

from itertools import product
from typing import Any

import pytest

from bench.training.shapes import scales

NAMES = ("meaning", "speaker", "session")


def leaf(value: float) -> dict[str, Any]:
    return {"leaf_value": value}


def asks(feature: int, limit: float, low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any]:
    return {"split_feature": feature, "threshold": limit, "left_child": low, "right_child": high}


TREES = (
    asks(0, 0.5, leaf(-1.0), asks(0, 0.75, leaf(0.25), leaf(2.0))),
    asks(2, 0.75, leaf(0.0), leaf(8.0)),
    asks(2, 0.25, leaf(0.0), asks(2, 0.5, leaf(16.0), leaf(32.0))),
    leaf(64.0),
)


def walked(tree: dict[str, Any], row: dict[str, float]) -> float:
    while "split_feature" in tree:
        low = row[NAMES[tree["split_feature"]]] <= tree["threshold"]
        tree = tree["left_child" if low else "right_child"]
    return float(tree["leaf_value"])


def test_scales_add_what_the_trees_add() -> None:
    found = scales(TREES, NAMES)
    values = (-1.0, 0.0, 0.25, 0.3, 0.5, 0.6, 0.75, 1.0)
    for own in product(values, repeat=len(NAMES)):
        row = dict(zip(NAMES, own, strict=True))
        summed = sum(scale.of(row[name]) for name, scale in found.items())
        assert summed == sum(walked(tree, row) for tree in TREES)


def test_there_is_one_scale_for_each_feature_that_is_asked() -> None:
    found = scales(TREES, NAMES)
    assert list(found) == ["meaning", "session"]
    assert found["session"].limits == (0.25, 0.5, 0.75)
    assert found["session"].added == (0.0, 16.0, 32.0, 40.0)


def test_a_tree_of_two_features_is_refused() -> None:
    two = asks(0, 0.5, leaf(0.0), asks(1, 0.5, leaf(0.0), leaf(1.0)))
    with pytest.raises(ValueError, match="a tree asks 2 features"):
        scales([two], NAMES)
