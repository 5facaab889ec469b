"""Merges two ranked lists: `rrf` as in RFC-0011 5, or by weights.

`composite` and `lane` reorder what the weighted sum lets through. The default profile does not
fuse: it weighs candidates one by one, in `features` and `scales`.

A leg that is missing (no model, no keyword in common) simply says nothing: what remains is the
other leg's order. Every candidate keeps the parts that its score was made of.
"""

import heapq
import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import dataclass
from memory_mesh.model import Fused, InvalidInput, Kind, Matches, Memory, Near, Query
from memory_mesh.rules.trust import trust_of
from memory_mesh.search.ranking import profiles

_DAY = 86_400
_INTENTS: Mapping[str, tuple[Kind, ...]] = {
    "mistake": (Kind.CORRECTION, Kind.GAP),
    "mistakes": (Kind.CORRECTION, Kind.GAP),
    "wrong": (Kind.CORRECTION, Kind.GAP),
    "error": (Kind.CORRECTION, Kind.GAP),
    "errors": (Kind.CORRECTION, Kind.GAP),
    "decided": (Kind.DECISION,),
    "chose": (Kind.DECISION,),
    "choice": (Kind.DECISION,),
    "pattern": (Kind.PATTERN_SEED, Kind.COMMITMENT),
    "usually": (Kind.PATTERN_SEED, Kind.COMMITMENT),
    "habit": (Kind.PATTERN_SEED, Kind.COMMITMENT),
    "learned": (Kind.LEARNING, Kind.INSIGHT),
    "realized": (Kind.LEARNING, Kind.INSIGHT),
}

_DAY_SECONDS = 86_400

# Combines the results of keyword and vector search into a relevance from 0 to 1.


@dataclass(frozen=True, slots=True)
class Legs:
    """The results of keyword search and vector search, each from best to worst."""

    keyword: Matches
    vector: tuple[Near, ...] = ()


def leg_relevance(legs: Legs) -> dict[int, dict[str, float]]:
    """Returns the keyword and vector score of each version, from 0 to 1."""
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


def similarity(parts: Mapping[str, float]) -> float:
    """Returns the similarity by meaning, or by words if there is no vector."""
    return max(0.0, min(1.0, parts.get("cosine", parts.get("keyword", 0.0))))


_STEEPNESS = 1.6  # a row of average length that holds every term once scores 0.80


def keyword_relevance(bm25: float, ceiling: float) -> float:
    """Converts a BM25 score into a relevance from 0 towards 1."""
    if bm25 <= 0 or ceiling <= 0:
        return 0.0
    return 1 - math.exp(-_STEEPNESS * bm25 / ceiling)


def cosine_relevance(cosine: float) -> float:
    """Converts a cosine into a relevance: 1 for the same, 0 for unrelated or opposed."""
    return min(1.0, max(0.0, cosine))


def distance_similarity(distance: float) -> float:
    """Converts a cosine distance (0 to 2) into RFC-0011 5.2's similarity, with two decimals."""
    return round(max(0.0, min(1.0, 1.0 - distance / 2.0)), 2)


K = 60  # Cormack et al. 2009

VECTOR_WEIGHT = 0.6  # best on the dev conversations; 0.7 suits long messages


def fuse(profile: profiles.Profile, legs: Legs, limit: int) -> list[Fused]:
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


# Reciprocal rank fusion as in RFC-0011 section 5.


def rrf(legs: Legs) -> list[Fused]:
    """Adds 1 / (60 + rank + 1) for each list; first in both lists is 1 after normalisation.

    The part `similarity` is RFC-0011 5.2's score of the vector leg.
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


# Applies the profiles that use more than relevance: `composite` and `lane`.
#
# Both reorder what the legs found; every part of a score is kept beside it. A threshold is on
# similarity, never on the product, or a light type could never be returned at all.


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
    boosted = intents(query.text)
    return [lane_score(fused, memory, query.lens.now, boosted) for fused, memory in found]


def _by_composite(query: Query, found: Sequence[tuple[Fused, Memory]]) -> list[Fused]:
    weights = composite_weights(query.weights)
    return [composite_score(fused, memory, query.lens.now, weights) for fused, memory in found]


_SCORED = {"lane": _by_lane, "composite": _by_composite}


def recency(memory: Memory, now: datetime) -> float:
    """Returns the recency from 0 to 1, with a half-life of 69 days."""
    days = max(0.0, (now - memory.recorded_from).total_seconds() / _DAY_SECONDS)
    return math.exp(-profiles.RECENCY_RATE_PER_DAY * days)


def composite_score(
    fused: Fused, memory: Memory, now: datetime, weights: Mapping[str, float]
) -> Fused:
    """Returns the weighted sum of relevance, trust, recency and importance."""
    features = {
        "relevance": similarity(fused.parts),
        "confidence": trust_of(memory, now),
        "recency": recency(memory, now),
        "importance": profiles.DEFAULT_IMPORTANCE
        if memory.importance is None
        else memory.importance,
    }
    score = sum(weights[name] * value for name, value in features.items())
    return Fused(fused.version, score, dict(fused.parts) | features)


def composite_weights(given: Mapping[str, float]) -> dict[str, float]:
    """Merges the caller's weights into the defaults; an unknown name is an error."""
    unknown = given.keys() - profiles.COMPOSITE_WEIGHTS.keys()
    if unknown:
        raise InvalidInput(
            f"unknown weight {min(unknown)!r}; the weights are: "
            f"{', '.join(profiles.COMPOSITE_WEIGHTS)}"
        )
    return dict(profiles.COMPOSITE_WEIGHTS) | dict(given)


def intents(question: str) -> frozenset[str]:
    """Returns the kinds of memory that the words of a question ask for."""
    words = "".join(char if char.isalnum() else " " for char in question.casefold()).split()
    return frozenset(kind for word in words for kind in _INTENTS.get(word, ()))


def decay(memory: Memory, now: datetime) -> float:
    """Returns the decay of a memory since its last use, or since its creation."""
    days = (now - memory.created).total_seconds() / _DAY
    if days >= profiles.LANE_DECAY_STEPS[0][0] and memory.last_used is not None:
        days = (now - memory.last_used).total_seconds() / _DAY
    return next(
        (left for limit, left in profiles.LANE_DECAY_STEPS if days < limit),
        profiles.LANE_DECAY_FLOOR,
    )


def factors(memory: Memory, now: datetime, boosted: frozenset[str]) -> dict[str, float]:
    """Returns the factors of the score: type, decay, feedback and intent."""
    kind = profiles.LANE_KIND_OF.get(memory.kind, memory.kind)
    return {
        "type_weight": profiles.LANE_KIND_WEIGHTS.get(kind, profiles.LANE_OTHER_KIND_WEIGHT),
        "decay_factor": decay(memory, now),
        "feedback_score": memory.usefulness,
        "intent_boost": profiles.LANE_INTENT_BOOST if kind in boosted else 1.0,
    }


def lane_score(fused: Fused, memory: Memory, now: datetime, boosted: frozenset[str]) -> Fused:
    """Returns similarity times type, decay, feedback and intent."""
    times = factors(memory, now, boosted)
    score = similarity(fused.parts) * math.prod(times.values())
    return Fused(fused.version, score, dict(fused.parts) | times)
