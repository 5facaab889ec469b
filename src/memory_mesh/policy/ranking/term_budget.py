"""Chooses the terms of a question that are searched, and computes their weights."""

import math
from collections.abc import Mapping, Sequence

from memory_mesh.fastdataclass import dataclass

BUDGET = 5_000  # postings one search may rank, a microsecond each
_CHEAP_POSTINGS = 1_000  # up to here even a word that tells nothing apart is ranked
_FLOOR = 1e-6  # FTS5's bm25() gives a term that more than half of the rows hold this weight


@dataclass(frozen=True, slots=True)
class Selection:
    """Splits terms into those that find candidates and those that only add to scores."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    weights: Mapping[str, float]
    ceiling: float


def select(terms: Sequence[str], postings: Mapping[str, int], rows: int) -> Selection:
    """Keeps the rarest terms whose postings fit the budget; unknown terms cost nothing."""
    weights = {term: inverse_frequency(min(postings.get(term, 0), rows), rows) for term in terms}
    known = sorted(
        (term for term in weights if postings.get(term, 0) > 0),
        key=lambda term: (postings[term], term),
    )
    spent, keeping = 0, 0
    for term in known:
        spent += postings[term]
        if spent > BUDGET or (postings[term] > _CHEAP_POSTINGS and weights[term] <= _FLOOR):
            break
        keeping += 1
    # The ceiling is the score of a row of average length that holds every term once.
    return Selection(tuple(known[:keeping]), tuple(known[keeping:]), weights, sum(weights.values()))


def inverse_frequency(postings: int, rows: int) -> float:
    """Returns the IDF of a term as FTS5 computes it."""
    return max(_FLOOR, math.log((rows - postings + 0.5) / (postings + 0.5)))
