"""Collapse trees that ask at most two features into one table for each feature or pair of features.

The sum of all trees is then a sum of table entries that one can read, and exactly the same number.
`train --pairs` writes the tables; docs/decisions/0103 says what an order of such tables reached.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

Box: TypeAlias = dict[str, tuple[float, float]]  # of each feature asked: above this, at most that
ALL = (float("-inf"), float("inf"))
MOST = 2  # features of one table


@dataclass(frozen=True, slots=True)
class ShapeTable:
    """What one feature, or two together, add to a margin.

    `cuts` are the limits of each feature; a value at most the first cut is in the first row.
    `added` holds a number for each cell, the last feature's cells side by side.
    """

    features: tuple[str, ...]
    cuts: tuple[tuple[float, ...], ...]
    added: tuple[float, ...]

    def of(self, row: Mapping[str, float]) -> float:
        """Returns what this table adds for a candidate."""
        place = 0
        for feature, cuts in zip(self.features, self.cuts, strict=True):
            place = place * (len(cuts) + 1) + bisect_left(cuts, row[feature])
        return self.added[place]


def tables(trees: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[ShapeTable]:
    """Returns the tables of trees in the form of LightGBM's `dump_model`, by their features."""
    by_features: dict[tuple[str, ...], list[list[tuple[Box, float]]]] = {}
    for tree in trees:
        leaves = list(_leaves(tree, names, {}))
        features = tuple(sorted({feature for box, _ in leaves for feature in box}))
        if len(features) > MOST:
            raise ValueError(f"a tree asks {len(features)} features, and a table has {MOST}")
        by_features.setdefault(features, []).append(leaves)
    return [_table(features, by_features[features]) for features in sorted(by_features)]


def _leaves(node: Mapping[str, Any], names: Sequence[str], box: Box) -> Iterator[tuple[Box, float]]:
    if "split_feature" not in node:
        yield box, float(node["leaf_value"])
        return
    feature, limit = names[node["split_feature"]], float(node["threshold"])
    low, high = box.get(feature, ALL)
    yield from _leaves(node["left_child"], names, box | {feature: (low, min(high, limit))})
    yield from _leaves(node["right_child"], names, box | {feature: (max(low, limit), high)})


def _table(features: tuple[str, ...], trees: Sequence[list[tuple[Box, float]]]) -> ShapeTable:
    edges = [edge for leaves in trees for box, _ in leaves for edge in box.items()]
    cuts = tuple(
        tuple(sorted({limit for name, ends in edges if name == feature for limit in ends} - {*ALL}))
        for feature in features
    )
    # The upper limit of a cell is in the cell, so it stands for all of it.
    cells = product(*((*own, ALL[1]) for own in cuts))
    added = tuple(
        sum(_leaf(leaves, dict(zip(features, cell, strict=True))) for leaves in trees)
        for cell in cells
    )
    return ShapeTable(features, cuts, added)


def _leaf(leaves: Sequence[tuple[Box, float]], at: Mapping[str, float]) -> float:
    return next(
        value
        for box, value in leaves
        if all(low < at[feature] <= high for feature, (low, high) in box.items())
    )
