"""Computes what each part adds to the number by which a profile orders its candidates.

======================  ==============================================================
profile                 shares
======================  ==============================================================
mesh                    what each scale adds, two features once more as they are
                        (`line_…`), votes of use (`usefulness`), and what a guessed
                        spelling loses to the nearest by meaning (`below_nearest`), a less
                        trusted one to a more trusted that answers as well (`below_trusted`)
rrf                     one term for each list
composite               weight times part
lane                    the similarity, then what each factor changes, one after another
points                  a hundredth of the points of each factor; `most` is the cut at 100
======================  ==============================================================
"""

from collections.abc import Mapping

from memory_mesh.base.typed import dataclass
from memory_mesh.model import Fused
from memory_mesh.search.ranking import scales
from memory_mesh.search.ranking.features import NAMES, FeatureTable
from memory_mesh.search.ranking.fusion import composite_weights, similarity

# The mean of what its scale adds is known without a feature, and the means are the base. What
# a feature adds beyond its mean is its share, and base and shares add up to the margin.


GRID = 2.0**40  # numbers on this grid add up exactly, in any order, as long as they are below 4,096
RESIDUE = 1e-9  # more than this may not be lost


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
    table: FeatureTable, position: int, order: str, margins: tuple[float, float]
) -> Shares:
    """Returns the shares of one candidate of profile mesh in its margin.

    `margins` is what it would have alone, and what it has among the others.
    """
    row = dict(zip(NAMES, table.rows[position], strict=True))
    known = scales.scales(order).margin
    means = {name: sum(scale.added) / len(scale.added) for name, scale in known.items()}
    base = sum(means.values())
    found = {name: scale.of([row[name]])[0] - means[name] for name, scale in known.items()}
    found |= {f"line_{name}": row[name] for name in scales.lines(order)}
    useful = scales.usefulness_share(table.usefulness[position])
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
    "composite": lambda found, weights: {
        name: weight * found.parts[name] for name, weight in composite_weights(weights).items()
    },
    "lane": _by_factors,
    "points": _by_points,
    "rrf": _by_lists,
}
