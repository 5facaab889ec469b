"""Computes what each part adds to the number by which a profile orders its candidates.

======================  ==============================================================
profile                 shares
======================  ==============================================================
mesh                    the features in the trees, two of them once more as they are
                        (`line_…`), votes of use (`usefulness`), and what a guessed
                        spelling loses to the nearest by meaning (`below_nearest`), a less
                        trusted one to a more trusted that answers as well (`below_trusted`)
rrf                     one term for each list
composite               weight times part
lane                    the similarity, then what each factor changes, one after another
points                  a hundredth of the points of each factor; `most` is the cut at 100
======================  ==============================================================
"""

import ast
from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.base.typed import TypeAlias
from memory_mesh.model import Fused
from memory_mesh.search.ranking import forest
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.search.ranking.fusion import composite_weights, similarity

# Computes the exact share of each feature in a sum of decision trees.
#
# A tree that is not asked anything says the mean of its leaves. Each question on the way down to a
# leaf changes that by something, and the change is the share of the feature it asks about. So the
# means of all trees and all shares add up to the sum that the trees compute.


GRID = 2.0**40  # numbers on this grid add up exactly, in any order, as long as they are below 4,096
RESIDUE = 1e-9  # more than this may not be lost


@dataclass(frozen=True, slots=True)
class TreeQuestion:
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


Node: TypeAlias = TreeQuestion | Leaf


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
        while isinstance(node, TreeQuestion):
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
        return TreeQuestion(feature, at_most, yes, no, _mean((yes, no)), yes.leaves + no.leaves)
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


_FACTORS = ("type_weight", "decay_factor", "feedback_score", "intent_boost")  # of profile lane
_POINTS = ("importance", "recency", "title", "specialty", "discoverer")
_LISTS = ("rrf_keyword", "rrf_vector")


@dataclass(frozen=True, slots=True)
class Shares:
    """A number and what it is made of; base and shares add up to it exactly."""

    margin: float
    base: float
    shares: Mapping[str, float]


def of_margin(
    table: FeatureTable,
    position: int,
    order: str,
    trees: Sequence[Node],
    margins: tuple[float, float],
) -> Shares:
    """Returns the shares of one candidate of profile mesh in its margin, given the trees.

    `margins` is what it would have alone, and what it has among the others.
    """
    row = dict(zip(NAMES, table.rows[position], strict=True))
    base, found = shares(trees, row)
    found |= {f"line_{name}": row[name] for name in forest.lines(order)}
    useful = forest.usefulness_share(table.usefulness[position])
    alone, margin = margins
    below = alone - useful - base - sum(found.values())
    found["usefulness"] = useful
    if below < -RESIDUE:  # a guessed spelling, put below the nearest by meaning
        found["below_nearest"] = below
    if margin < alone:
        found["below_trusted"] = margin - alone
    checked(base, found, margin)
    return Shares(*balanced(margin, found))


def of_score(profile: str, found: Fused, weights: Mapping[str, float]) -> Shares:
    """Returns the shares of one candidate of another profile in its score."""
    shares = _MADE_OF[profile](found, weights)
    checked(0.0, shares, found.score)
    return Shares(*balanced(found.score, shares))


def _by_weights(found: Fused, weights: Mapping[str, float]) -> dict[str, float]:
    return {name: weight * found.parts[name] for name, weight in composite_weights(weights).items()}


def _by_factors(found: Fused, _weights: Mapping[str, float]) -> dict[str, float]:
    """What each factor of a product changes, in the order of the factors."""
    score = similarity(found.parts)
    shares = {"similarity": score}
    for name in _FACTORS:
        shares[name] = score * found.parts[name] - score
        score *= found.parts[name]
    return shares


def _by_points(found: Fused, _weights: Mapping[str, float]) -> dict[str, float]:
    shares = {name: found.parts.get(name, 0.0) / 100 for name in _POINTS}
    return shares | {"most": found.score - sum(shares.values())}


def _by_lists(found: Fused, _weights: Mapping[str, float]) -> dict[str, float]:
    terms = {name: found.parts.get(name, 0.0) for name in _LISTS}
    most = sum(terms.values()) / found.score if found.score else 1.0
    return {name: term / most for name, term in terms.items()}


_MADE_OF = {
    "composite": _by_weights,
    "lane": _by_factors,
    "points": _by_points,
    "rrf": _by_lists,
}
