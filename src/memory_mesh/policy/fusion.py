"""Two ranked lists become one: `rrf` to the letter of RFC-0011 §5, or by weight.

`composite` and `lane` reorder what the weighted sum lets through. The default profile does not
fuse: it weighs candidates one by one, in `features` and `weighing`.

A leg that is missing (no model, no keyword in common) simply says nothing: what remains is the
other leg's order. Every candidate keeps the parts that its score was made of.
"""

import heapq

from memory_mesh.model import Fused, Matches, Near
from memory_mesh.policy.scoring import cosine_relevance, keyword_relevance, similarity
from memory_mesh.values import dataclass

K = 60  # Cormack et al. 2009
VECTOR_WEIGHT = 0.6  # best on the dev conversations; 0.7 suits long messages
MESH = "mesh"
PROFILES = (MESH, "rrf")
RANKED = ("composite", "lane")  # these reorder by more than relevance: they must see more
LEG = 100  # candidates of a leg
LARGE, LARGE_LEG = 20_000, 200  # from so many writes on: docs/benchmarks/depth.json
DEEP = 1_000


@dataclass(frozen=True, slots=True)
class Legs:
    """What keyword search and vector search found, each from best to worst."""

    keyword: Matches
    vector: tuple[Near, ...] = ()


def depth(profile: str, limit: int, writes: int = 0) -> int:
    """How many candidates each leg is asked for: twice the limit, or at least 100, or 1,000.

    Among very many memories the right one stands a little further down.
    """
    if profile == "rrf":
        return 2 * limit
    if profile in RANKED:
        return max(DEEP, limit)
    return max(LARGE_LEG if writes >= LARGE else LEG, limit)


def fuse(profile: str, legs: Legs, limit: int) -> list[Fused]:
    """The best `limit` versions, best first; ties go to the newer version."""
    scored = _rrf(legs) if profile == "rrf" else _weighted(legs)
    if len(scored) <= 2 * limit:
        return sorted(scored, key=_order)[:limit]
    return heapq.nsmallest(limit, scored, key=_order)


def _order(candidate: Fused) -> tuple[float, int]:
    return (-candidate.score, -candidate.version)


def _rrf(legs: Legs) -> list[Fused]:
    """Each list adds 1 / (60 + rank + 1); first in both lists is 1 after normalisation.

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
    known = _relevance(legs)
    for near in legs.vector:
        known[near.version]["similarity"] = similarity(1 - near.cosine)
    return [
        Fused(version, sum(ranks.values()) / best, ranks | known[version])
        for version, ranks in raw.items()
    ]


def _weighted(legs: Legs) -> list[Fused]:
    """Max-normalised BM25 and min-max cosine, summed: an order, which `ranking` then scores."""
    bm25 = {match.version: match.bm25 for match in legs.keyword.found}
    cosine = {near.version: near.cosine for near in legs.vector}
    relevance = _relevance(legs)
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


def _relevance(legs: Legs) -> dict[int, dict[str, float]]:
    """What each leg says of each version on its own, between 0 and 1."""
    parts: dict[int, dict[str, float]] = {}
    for match in legs.keyword.found:
        parts[match.version] = {
            "keyword": keyword_relevance(match.bm25, legs.keyword.ceiling),
            "bm25": match.bm25,
        }
    for near in legs.vector:
        parts.setdefault(near.version, {}).update(
            vector=cosine_relevance(near.cosine), cosine=near.cosine
        )
    return parts
