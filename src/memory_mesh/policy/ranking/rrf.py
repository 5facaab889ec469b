"""Reciprocal rank fusion as in RFC-0011 section 5."""

from memory_mesh.model import Fused
from memory_mesh.policy.ranking.relevance import (
    Legs,
    distance_similarity,
    leg_relevance,
)

K = 60  # Cormack et al. 2009


def rrf(legs: Legs) -> list[Fused]:
    """Adds 1 / (60 + rank + 1) for each list; first in both lists is 1 after normalisation.

    The part `similarity` is RFC-0011 §5.2's score of the vector leg.
    """
    raw: dict[int, dict[str, float]] = {}
    for name, versions in (
        ("vector", [near.version for near in legs.vector]),
        ("keyword", [match.version for match in legs.keyword.found]),
    ):
        for rank, version in enumerate(versions):
            raw.setdefault(version, {})[f"rrf_{name}"] = 1 / (K + rank + 1)
    best = 2 / (K + 1)
    known = leg_relevance(legs)
    for near in legs.vector:
        known[near.version]["similarity"] = distance_similarity(1 - near.cosine)
    return [
        Fused(version, sum(ranks.values()) / best, ranks | known[version])
        for version, ranks in raw.items()
    ]
