"""The profile `composite`: neolata's weighted sum."""

import math
from collections.abc import Mapping
from datetime import datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Fused, Memory
from memory_mesh.policy.ranking.profiles import (
    COMPOSITE_WEIGHTS,
    DEFAULT_IMPORTANCE,
    RECENCY_RATE_PER_DAY,
)
from memory_mesh.policy.ranking.relevance import similarity
from memory_mesh.policy.writing.trust import trust_of

_DAY_SECONDS = 86_400


def recency(memory: Memory, now: datetime) -> float:
    """Returns the recency from 0 to 1, with a half-life of 69 days."""
    days = max(0.0, (now - memory.recorded_from).total_seconds() / _DAY_SECONDS)
    return math.exp(-RECENCY_RATE_PER_DAY * days)


def composite_score(
    fused: Fused, memory: Memory, now: datetime, weights: Mapping[str, float]
) -> Fused:
    """Returns the weighted sum of relevance, trust, recency and importance."""
    features = {
        "relevance": similarity(fused.parts),
        "confidence": trust_of(memory, now),
        "recency": recency(memory, now),
        "importance": DEFAULT_IMPORTANCE if memory.importance is None else memory.importance,
    }
    score = sum(weights[name] * value for name, value in features.items())
    return Fused(fused.version, score, dict(fused.parts) | features)


def composite_weights(given: Mapping[str, float]) -> dict[str, float]:
    """Merges the caller's weights into the defaults; an unknown name is an error."""
    unknown = given.keys() - COMPOSITE_WEIGHTS.keys()
    if unknown:
        raise InvalidInput(
            f"unknown weight {min(unknown)!r}; the weights are: {', '.join(COMPOSITE_WEIGHTS)}"
        )
    return dict(COMPOSITE_WEIGHTS) | dict(given)
