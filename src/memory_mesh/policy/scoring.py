"""From what the legs found to one relevance between 0 and 1, with its parts kept."""

import math

_STEEPNESS = 1.6  # a row of average length that holds every term once scores 0.80


def keyword_relevance(bm25: float, ceiling: float) -> float:
    """How much of the question's weight a text carries: 0 for none, towards 1 for all and more."""
    if bm25 <= 0 or ceiling <= 0:
        return 0.0
    return 1 - math.exp(-_STEEPNESS * bm25 / ceiling)
