"""Orders candidates by their features and computes a relevance from 0 to 1.

The order is that of a small forest of decision trees, learned from the dev conversations by
`bench/training` and kept as plain code in `learned`: each tree asks a few features and adds a
number, and of most features more never takes anything away. Relevance is the chance that a
candidate answers the question. It orders nothing, but it can be compared between questions: a
threshold means something.
"""

import heapq
import math

from memory_mesh.model import Fused
from memory_mesh.policy.ranking import _forest_model
from memory_mesh.policy.ranking.features import NAMES, Table
from memory_mesh.policy.ranking.usefulness import LEAST_USEFUL, MOST_USEFUL

USEFUL = 0.3  # what a vote of use is worth: from -0.7 for the worst to +0.2 for the best
ABSOLUTE = ("cosine", "covered", "covered_around", "pairs", "tagged", "in_period", "speaker")
_JUDGED = tuple(NAMES.index(name) for name in ABSOLUTE)


def best(table: Table, limit: int, *, by_meaning: bool) -> list[Fused]:
    """Returns the best `limit` candidates, best first; in a tie the newer version wins."""
    margin_of = _forest_model.margin_by_meaning if by_meaning else _forest_model.margin_by_words
    odds_of = _forest_model.odds_by_meaning if by_meaning else _forest_model.odds_by_words
    margins = [
        margin_of(*row) + USEFUL * math.log(min(MOST_USEFUL, max(LEAST_USEFUL, useful)))
        for row, useful in zip(table.rows, table.usefulness, strict=True)
    ]
    ranked = heapq.nlargest(limit, zip(margins, table.versions, range(len(margins)), strict=True))
    found: list[Fused] = []
    relevance = 1.0
    for margin, version, at in ranked:
        odds = odds_of(margin, *(table.rows[at][feature] for feature in _JUDGED))
        relevance = min(relevance, 1 / (1 + math.exp(-odds)))  # it never rises on the way down
        found.append(Fused(version, relevance, {"margin": round(margin, 4), **table.told(at)}))
    return found
