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

from collections.abc import Mapping, Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Fused
from memory_mesh.policy.ranking import forest, tree_shares
from memory_mesh.policy.ranking.composite import composite_weights
from memory_mesh.policy.ranking.features import NAMES, Table
from memory_mesh.policy.ranking.relevance import similarity

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
    table: Table,
    position: int,
    order: str,
    trees: Sequence[tree_shares.Node],
    margins: tuple[float, float],
) -> Shares:
    """Returns the shares of one candidate of profile mesh in its margin, given the trees.

    `margins` is what it would have alone, and what it has among the others.
    """
    row = dict(zip(NAMES, table.rows[position], strict=True))
    base, found = tree_shares.shares(trees, row)
    found |= {f"line_{name}": row[name] for name in forest.lines(order)}
    useful = forest.usefulness_share(table.usefulness[position])
    alone, margin = margins
    below = alone - useful - base - sum(found.values())
    found["usefulness"] = useful
    if below < -tree_shares.RESIDUE:  # a guessed spelling, put below the nearest by meaning
        found["below_nearest"] = below
    if margin < alone:
        found["below_trusted"] = margin - alone
    tree_shares.checked(base, found, margin)
    return Shares(*tree_shares.balanced(margin, found))


def of_score(profile: str, found: Fused, weights: Mapping[str, float]) -> Shares:
    """Returns the shares of one candidate of another profile in its score."""
    shares = _MADE_OF[profile](found, weights)
    tree_shares.checked(0.0, shares, found.score)
    return Shares(*tree_shares.balanced(found.score, shares))


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
