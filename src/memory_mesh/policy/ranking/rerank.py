"""Applies the profiles that use more than relevance: `composite` and `lane`.

Both reorder what the legs found; every part of a score is kept beside it. A threshold is on
similarity, never on the product, or a light type could never be returned at all.
"""

from collections.abc import Sequence

from memory_mesh.model import Fused, Memory, Query
from memory_mesh.policy.ranking import lane, profiles
from memory_mesh.policy.ranking.composite import composite_score, composite_weights
from memory_mesh.policy.ranking.lane import lane_score
from memory_mesh.policy.ranking.relevance import similarity


def rank(query: Query, found: Sequence[tuple[Fused, Memory]]) -> list[Fused]:
    """Returns all candidates in the order of the query's profile, best first."""
    scored = _SCORED[query.profile](query, found)
    return sorted(scored, key=lambda fused: (-fused.score, -fused.version))


def similar_enough(query: Query, fused: Fused) -> bool:
    """True if the candidate reaches the query's threshold of similarity, or the profile's."""
    return similarity(fused.parts) >= least_similarity(query)


def least_similarity(query: Query) -> float:
    """The similarity that a candidate needs."""
    if query.min_similarity is not None:
        return query.min_similarity
    return profiles.named(query.profile).min_similarity


def _by_lane(query: Query, found: Sequence[tuple[Fused, Memory]]) -> list[Fused]:
    boosted = lane.intents(query.text)
    return [lane_score(fused, memory, query.lens.now, boosted) for fused, memory in found]


def _by_composite(query: Query, found: Sequence[tuple[Fused, Memory]]) -> list[Fused]:
    weights = composite_weights(query.weights)
    return [composite_score(fused, memory, query.lens.now, weights) for fused, memory in found]


_SCORED = {"lane": _by_lane, "composite": _by_composite}
