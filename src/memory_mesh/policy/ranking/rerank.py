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
    now = query.lens.now
    if query.profile == "lane":
        boosted = lane.intents(query.text)
        scored = [lane_score(fused, memory, now, boosted) for fused, memory in found]
    else:
        weights = composite_weights(query.weights)
        scored = [composite_score(fused, memory, now, weights) for fused, memory in found]
    return sorted(scored, key=lambda fused: (-fused.score, -fused.version))


def similar_enough(query: Query, fused: Fused) -> bool:
    """True if the candidate reaches the query's threshold of similarity, or the profile's."""
    min_similarity = query.min_similarity
    if min_similarity is None:
        min_similarity = profiles.LANE_MIN_SIMILARITY if query.profile == "lane" else 0.0
    return similarity(fused.parts) >= min_similarity
