"""Which words of a long question are worth looking up, and what they could score at most."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BUDGET = 20_000  # postings one search may rank; 13-23 ms at 1,000,000 memories
_FLOOR = 1e-6  # FTS5's bm25() gives a term that more than half of the rows hold this weight


@dataclass(frozen=True, slots=True)
class Selection:
    """The terms to look up alone, those only asked for together with all others."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    ceiling: float


def select(terms: Sequence[str], postings: Mapping[str, int], rows: int) -> Selection:
    """Keep the rarest terms while their postings fit the budget; unknown terms cost nothing."""
    known = [term for term in terms if postings.get(term, 0) > 0]
    kept: list[str] = []
    spent = 0
    for term in sorted(known, key=lambda term: (postings[term], term)):
        spent += postings[term]
        if spent > BUDGET:
            break
        kept.append(term)
    dropped = tuple(term for term in known if term not in set(kept))
    return Selection(tuple(kept), dropped, _ceiling(terms, postings, rows))


def inverse_frequency(postings: int, rows: int) -> float:
    """BM25's weight of a term, as FTS5 computes it."""
    return max(_FLOOR, math.log((rows - postings + 0.5) / (postings + 0.5)))


def _ceiling(terms: Sequence[str], postings: Mapping[str, int], rows: int) -> float:
    """The score of a row of average length that holds every term once."""
    return sum(inverse_frequency(min(postings.get(term, 0), rows), rows) for term in terms)
