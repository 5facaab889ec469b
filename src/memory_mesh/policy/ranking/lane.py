"""The profile `lane`: Memory Lane's weights of types, decay and intents."""

import math
from collections.abc import Mapping
from datetime import datetime

from memory_mesh.model import Fused, Kind, Memory
from memory_mesh.policy.ranking.profiles import (
    LANE_DECAY_FLOOR,
    LANE_DECAY_STEPS,
    LANE_INTENT_BOOST,
    LANE_KIND_WEIGHTS,
    LANE_OTHER_KIND_WEIGHT,
)
from memory_mesh.policy.ranking.relevance import similarity

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


def intents(question: str) -> frozenset[str]:
    """Returns the kinds of memory that the words of a question ask for."""
    words = "".join(char if char.isalnum() else " " for char in question.casefold()).split()
    return frozenset(kind for word in words for kind in _INTENTS.get(word, ()))


def decay(memory: Memory, now: datetime) -> float:
    """Returns the decay of a memory since its last use, or since its creation."""
    days = (now - memory.created).total_seconds() / _DAY
    if days >= LANE_DECAY_STEPS[0][0] and memory.last_used is not None:
        days = (now - memory.last_used).total_seconds() / _DAY
    return next((left for limit, left in LANE_DECAY_STEPS if days < limit), LANE_DECAY_FLOOR)


def factors(memory: Memory, now: datetime, boosted: frozenset[str]) -> dict[str, float]:
    """Returns the factors of the score: type, decay, feedback and intent."""
    return {
        "type_weight": LANE_KIND_WEIGHTS.get(memory.kind, LANE_OTHER_KIND_WEIGHT),
        "decay_factor": decay(memory, now),
        "feedback_score": memory.usefulness,
        "intent_boost": LANE_INTENT_BOOST if memory.kind in boosted else 1.0,
    }


def lane_score(fused: Fused, memory: Memory, now: datetime, boosted: frozenset[str]) -> Fused:
    """Returns similarity times type, decay, feedback and intent."""
    times = factors(memory, now, boosted)
    score = similarity(fused.parts) * math.prod(times.values())
    return Fused(fused.version, score, dict(fused.parts) | times)
