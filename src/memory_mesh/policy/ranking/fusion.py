"""Merges two ranked lists: `rrf` as in RFC-0011 §5, or by weights.

`composite` and `lane` reorder what the weighted sum lets through. The default profile does not
fuse: it weighs candidates one by one, in `features` and `forest`.

A leg that is missing (no model, no keyword in common) simply says nothing: what remains is the
other leg's order. Every candidate keeps the parts that its score was made of.
"""

import heapq

from memory_mesh.model import Fused
from memory_mesh.policy.ranking.profiles import Profile
from memory_mesh.policy.ranking.relevance import Legs, leg_relevance
from memory_mesh.policy.ranking.rrf import rrf

VECTOR_WEIGHT = 0.6  # best on the dev conversations; 0.7 suits long messages


def fuse(profile: Profile, legs: Legs, limit: int) -> list[Fused]:
    """Returns the best `limit` versions, best first; in a tie the newer version wins."""
    scored = rrf(legs) if profile.by_place else _weighted(legs)
    if len(scored) <= 2 * limit:
        return sorted(scored, key=_order)[:limit]
    return heapq.nsmallest(limit, scored, key=_order)


def _order(candidate: Fused) -> tuple[float, int]:
    return (-candidate.score, -candidate.version)


def _weighted(legs: Legs) -> list[Fused]:
    """Sums max-normalised BM25 and min-max scaled cosine."""
    bm25 = {match.version: match.bm25 for match in legs.keyword.found}
    cosine = {near.version: near.cosine for near in legs.vector}
    relevance = leg_relevance(legs)
    if not bm25 or not cosine:
        leg = "keyword" if bm25 else "vector"
        return [Fused(version, parts[leg], parts) for version, parts in relevance.items()]
    top = max(bm25.values()) or 1.0
    low, high = min(cosine.values()), max(cosine.values())
    spread = (high - low) or 1.0
    fused = {
        version: (1 - VECTOR_WEIGHT) * bm25.get(version, 0.0) / top
        + VECTOR_WEIGHT * (cosine.get(version, low) - low) / spread
        for version in relevance
    }
    return [
        Fused(version, score, relevance[version] | {"fused": score})
        for version, score in fused.items()
    ]
