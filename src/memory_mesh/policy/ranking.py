"""Profiles that look at more than relevance: `composite` (neolata) and `lane` (Memory Lane).

Both reorder what the legs found; every part of a score is kept beside it. A threshold is on
similarity, never on the product, or a light type could never be returned at all.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Fused, Memory, Query
from memory_mesh.policy import lane
from memory_mesh.policy.trust import trust_of

COMPOSITE: Mapping[str, float] = {
    "relevance": 0.40,
    "confidence": 0.25,
    "recency": 0.20,
    "importance": 0.15,
}
FADING = 0.01  # a day: half of it is left after 69
UNWEIGHED = 0.7  # importance where none was stated, as neolata has it
_DAY = 86_400


def rank(query: Query, found: Sequence[tuple[Fused, Memory]]) -> list[Fused]:
    """What was found in the order of the query's profile, best first."""
    now = query.lens.now
    near = [(fused, memory) for fused, memory in found if _similar_enough(query, fused)]
    if query.profile == "lane":
        boosted = lane.intents(query.text)
        scored = [_laned(fused, memory, now, boosted) for fused, memory in near]
    else:
        weights = _weights(query.weights)
        scored = [_composed(fused, memory, now, weights) for fused, memory in near]
    return sorted(scored, key=lambda fused: (-fused.score, -fused.version))


def similarity(parts: Mapping[str, float]) -> float:
    """How near in meaning; by the words where there is no vector."""
    found = parts.get("cosine", parts.get("keyword", 0.0))
    return max(0.0, min(1.0, found))


def recency(memory: Memory, now: datetime) -> float:
    """1 for what was said just now, half of it after 69 days."""
    days = max(0.0, (now - memory.recorded_from).total_seconds() / _DAY)
    return math.exp(-FADING * days)


def _similar_enough(query: Query, fused: Fused) -> bool:
    least = query.least
    if least is None:
        least = lane.LEAST if query.profile == "lane" else 0.0
    return similarity(fused.parts) >= least


def _composed(fused: Fused, memory: Memory, now: datetime, weights: Mapping[str, float]) -> Fused:
    features = {
        "relevance": similarity(fused.parts),
        "confidence": trust_of(memory, now),
        "recency": recency(memory, now),
        "importance": UNWEIGHED if memory.importance is None else memory.importance,
    }
    score = sum(weights[name] * value for name, value in features.items())
    return Fused(fused.version, score, dict(fused.parts) | features)


def _laned(fused: Fused, memory: Memory, now: datetime, boosted: frozenset[str]) -> Fused:
    factors = lane.factors(memory, now, boosted)
    score = similarity(fused.parts) * math.prod(factors.values())
    return Fused(fused.version, score, dict(fused.parts) | factors)


def _weights(given: Mapping[str, float]) -> dict[str, float]:
    unknown = given.keys() - COMPOSITE.keys()
    if unknown:
        raise InvalidInput(f"there is no weight {min(unknown)!r}; there are {', '.join(COMPOSITE)}")
    return dict(COMPOSITE) | dict(given)
