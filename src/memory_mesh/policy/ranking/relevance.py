"""Combines the results of keyword and vector search into a relevance from 0 to 1."""

import math
from collections.abc import Mapping

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Matches, Near


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
    """Converts a cosine distance (0 to 2) into RFC-0011 §5.2's similarity, with two decimals."""
    return round(max(0.0, min(1.0, 1.0 - distance / 2.0)), 2)
