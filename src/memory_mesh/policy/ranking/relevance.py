"""From what the legs found to one relevance between 0 and 1, with its parts kept."""

import math
from collections.abc import Mapping

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Matches, Near


@dataclass(frozen=True, slots=True)
class Legs:
    """What keyword search and vector search found, each from best to worst."""

    keyword: Matches
    vector: tuple[Near, ...] = ()


def leg_relevance(legs: Legs) -> dict[int, dict[str, float]]:
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


def similarity(parts: Mapping[str, float]) -> float:
    """How near in meaning; by the words where there is no vector."""
    return max(0.0, min(1.0, parts.get("cosine", parts.get("keyword", 0.0))))


_STEEPNESS = 1.6  # a row of average length that holds every term once scores 0.80


def keyword_relevance(bm25: float, ceiling: float) -> float:
    """How much of the question's weight a text carries: 0 for none, towards 1 for all and more."""
    if bm25 <= 0 or ceiling <= 0:
        return 0.0
    return 1 - math.exp(-_STEEPNESS * bm25 / ceiling)


def cosine_relevance(cosine: float) -> float:
    """How near in meaning: 1 for the same, 0 for unrelated or opposed."""
    return min(1.0, max(0.0, cosine))


def distance_similarity(distance: float) -> float:
    """RFC-0011 §5.2: a cosine distance from 0 to 2 as a similarity, in two decimals."""
    return round(max(0.0, min(1.0, 1.0 - distance / 2.0)), 2)
