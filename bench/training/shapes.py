"""Sums trees that ask one feature each up to one scale for each feature: the very same number.

`train` fits such trees and writes their scales; docs/decisions/0116 says what they reach.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Leaf: TypeAlias = tuple[float, float, float]  # above this, at most that, what it adds
ENDS = (float("-inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class Scale:
    """What one feature adds: up to each limit the number at its place, above all the last."""

    limits: tuple[float, ...]
    added: tuple[float, ...]

    def of(self, value: float) -> float:
        """Returns what a value adds."""
        return self.added[bisect_left(self.limits, value)]


def scales(trees: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Scale]:
    """Returns the scales of trees in the form of LightGBM's `dump_model`, by their feature.

    What a tree without a question adds orders nothing, and is the first feature's.
    """
    by_feature: dict[str, list[list[Leaf]]] = {}
    for tree in trees:
        asked = {names[place] for place in _asked(tree)}
        if len(asked) > 1:
            raise ValueError(f"a tree asks {len(asked)} features, and a scale has one")
        by_feature.setdefault(min(asked, default=names[0]), []).append([*_leaves(tree, *ENDS)])
    return {name: _scale(by_feature[name]) for name in names if name in by_feature}


def _asked(tree: Mapping[str, Any]) -> Iterator[int]:
    if "split_feature" in tree:
        yield tree["split_feature"]
        yield from _asked(tree["left_child"])
        yield from _asked(tree["right_child"])


def _leaves(tree: Mapping[str, Any], low: float, high: float) -> Iterator[Leaf]:
    if "split_feature" not in tree:
        yield low, high, float(tree["leaf_value"])
        return
    limit = float(tree["threshold"])
    yield from _leaves(tree["left_child"], low, min(high, limit))
    yield from _leaves(tree["right_child"], max(low, limit), high)


def _scale(trees: Sequence[Sequence[Leaf]]) -> Scale:
    limits = sorted({high for leaves in trees for _, high, _ in leaves} - {ENDS[1]})
    # An upper limit is at its own place, so it stands for all of it.
    added = [
        sum(added for leaves in trees for low, high, added in leaves if low < value <= high)
        for value in (*limits, ENDS[1])
    ]
    return Scale(tuple(limits), tuple(added))
