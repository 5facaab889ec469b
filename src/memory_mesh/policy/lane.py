"""Memory Lane's numbers: how much a type weighs, how a memory fades, what a question is after."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.model import Kind, Memory
from memory_mesh.policy import analyze
from memory_mesh.policy.usefulness import HARMFUL, HELPFUL

WEIGHTS: Mapping[Kind, float] = {
    Kind.CORRECTION: 1.0,
    Kind.DECISION: 1.0,
    Kind.COMMITMENT: 1.0,
    Kind.INSIGHT: 0.7,
    Kind.LEARNING: 0.7,
    Kind.CONFIDENCE: 0.7,
    Kind.PATTERN_SEED: 0.4,
    Kind.CROSS_AGENT: 0.4,
    Kind.WORKFLOW_NOTE: 0.4,
    Kind.GAP: 0.4,
}
OTHER = 0.5  # any other kind
BOOST = 1.15
LEAST, LEAST_OF_AN_ENTITY = 0.2, 0.15  # similarity; less where the question names an entity
KEYWORDS, AUTO_TAGS = 10, 5  # terms that stand for a text
_SATURATION = 1.2  # BM25's k1
_LONG = 8  # characters: a longer term says no more
_MOST_VOTES = 200  # that are read back from a score
_FADING = ((7, 1.0), (30, 0.8), (90, 0.6))  # days since the last use, and what is left
_FADED = 0.4
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
    """The kinds a question is after, by its words; several words may ask for several kinds."""
    words = "".join(char if char.isalnum() else " " for char in question.casefold()).split()
    return frozenset(kind for word in words for kind in _INTENTS.get(word, ()))


def decay(memory: Memory, now: datetime) -> float:
    """What time leaves of a memory: by its last use, or by its age where it was never used."""
    days = (now - memory.created_at).total_seconds() / _DAY
    if days >= _FADING[0][0] and memory.last_used is not None:
        days = (now - memory.last_used).total_seconds() / _DAY
    return next((left for limit, left in _FADING if days < limit), _FADED)


def factors(memory: Memory, now: datetime, boosted: frozenset[str]) -> dict[str, float]:
    """What similarity is multiplied by: type, decay, feedback and intent."""
    return {
        "type_weight": WEIGHTS.get(memory.kind, OTHER),
        "decay_factor": decay(memory, now),
        "feedback_score": memory.usefulness,
        "intent_boost": BOOST if memory.kind in boosted else 1.0,
    }


def keywords(text: str) -> tuple[str, ...]:
    """The terms that say most about a text: often there, with BM25's saturation, and long.

    Ties keep the order of the text, so that the same text always has the same keywords.
    """
    counted = Counter(analyze.terms(text))
    weight = {
        term: times * (_SATURATION + 1) / (times + _SATURATION) * math.log1p(min(len(term), _LONG))
        for term, times in counted.items()
    }
    return tuple(sorted(weight, key=lambda term: -weight[term])[:KEYWORDS])


def auto_tags(text: str, slugs: Sequence[str]) -> tuple[str, ...]:
    """Its entities, what the files it names are written in, and its first keywords."""
    written = [_WRITTEN_IN[ending] for ending in _FILE.findall(text) if ending in _WRITTEN_IN]
    return tuple(dict.fromkeys((*slugs, *written, *keywords(text)[:AUTO_TAGS])))


def votes_behind(score: float, count: int) -> tuple[int, int]:
    """How many helpful and harmful votes made a score; none where no such votes do."""
    if not 0 < count <= _MOST_VOTES or score <= 0:
        return 0, 0
    for harmful in range(count + 1):
        if math.isclose(HELPFUL ** (count - harmful) * HARMFUL**harmful, score, rel_tol=1e-6):
            return count - harmful, harmful
    return 0, 0


def effective_confidence(score: float, decay_factor: float) -> int:
    """A confidence from 0 to 100 after decay."""
    return round(score * decay_factor)


_FILE = re.compile(r"[\w-]\.([a-z]{1,5})\b")
_WRITTEN_IN = {
    "css": "css",
    "go": "go",
    "html": "html",
    "js": "javascript",
    "jsx": "javascript",
    "md": "markdown",
    "py": "python",
    "rs": "rust",
    "sql": "sql",
    "ts": "typescript",
    "tsx": "typescript",
}
