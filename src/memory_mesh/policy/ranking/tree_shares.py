"""Computes the exact share of each feature in a sum of decision trees.

A tree that is not asked anything says the mean of its leaves. Each question on the way down to a
leaf changes that by something, and the change is the share of the feature it asks about. So the
means of all trees and all shares add up to the sum that the trees compute.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.typed import TypeAlias

GRID = 2.0**40  # numbers on this grid add up exactly, in any order, as long as they are below 4,096
RESIDUE = 1e-9  # more than this may not be lost


@dataclass(frozen=True, slots=True)
class Question:
    """A place in a tree where a feature is compared with a number."""

    feature: str
    at_most: float
    yes: "Node"
    no: "Node"
    mean: float
    leaves: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a way through a tree."""

    mean: float
    leaves: int = 1


Node: TypeAlias = Question | Leaf


def read(source: str, function: str) -> tuple[Node, ...]:
    """Reads the trees of a function of a generated module: one `total += …` is one tree."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == function:
            added = (each for each in statement.body if isinstance(each, ast.AugAssign))
            return tuple(_node(each.value) for each in added)
    raise ValueError(f"there is no function {function} in this module")


def shares(trees: Iterable[Node], features: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """Returns the sum of the means of all trees, and what each asked feature adds to it."""
    base, found = 0.0, dict[str, float]()
    for tree in trees:
        base += tree.mean
        node = tree
        while isinstance(node, Question):
            chosen = node.yes if features[node.feature] <= node.at_most else node.no
            found[node.feature] = found.get(node.feature, 0.0) + chosen.mean - node.mean
            node = chosen
    return base, found


def on_grid(value: float) -> float:
    """Returns the nearest multiple of 2^-40."""
    return round(value * GRID) / GRID


def balanced(total: float, found: Mapping[str, float]) -> tuple[float, float, dict[str, float]]:
    """Returns total, base and shares on the grid; base is what is left of the total.

    They add up exactly, in any order.
    """
    sum_, parts = on_grid(total), {name: on_grid(value) for name, value in found.items()}
    return sum_, sum_ - sum(parts.values()), {name: part for name, part in parts.items() if part}


def checked(base: float, found: Mapping[str, float], total: float) -> None:
    """Raises ValueError unless base and shares are the total, but for rounding."""
    lost = abs(base + sum(found.values()) - total)
    if not lost < RESIDUE:
        raise ValueError(f"the shares of a margin do not add up: {lost:g} is missing")


def _node(found: ast.expr) -> Node:
    if isinstance(found, ast.IfExp):
        feature, at_most = _comparison(found.test)
        yes, no = _node(found.body), _node(found.orelse)
        return Question(feature, at_most, yes, no, _mean((yes, no)), yes.leaves + no.leaves)
    return Leaf(_number(found))


def _mean(nodes: Sequence[Node]) -> float:
    return sum(node.mean * node.leaves for node in nodes) / sum(node.leaves for node in nodes)


def _comparison(test: ast.expr) -> tuple[str, float]:
    match test:
        case ast.Compare(left=ast.Name(id=feature), ops=[ast.LtE()], comparators=[limit]):
            return feature, _number(limit)
        case _:
            raise ValueError(f"a tree asks {ast.unparse(test)}, not if a feature is at most this")


def _number(found: ast.expr) -> float:
    value = ast.literal_eval(found)
    if not isinstance(value, int | float):
        raise TypeError(f"a tree holds {value!r} where a number is expected")
    return float(value)
