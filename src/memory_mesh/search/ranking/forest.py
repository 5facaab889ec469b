"""Orders candidates by their features and computes a relevance from 0 to 1.

The order is that of a small forest of decision trees, learned by `bench/training` and kept as plain
code in `_forest_by_…`: each tree asks a few features and adds a number, and of most features more
never takes anything away. Relevance is the chance that a candidate answers the question. It orders
nothing, but it can be compared between questions: a threshold means something.
"""

import heapq
import math
import sys
from collections.abc import Callable, Sequence

from memory_mesh.base.typed import TypeAlias
from memory_mesh.model import Fused
from memory_mesh.rules.trust import LEAST_USEFUL, MOST_USEFUL
from memory_mesh.search.ranking.features import NAMES, FeatureTable, below_trusted
from memory_mesh.text.embedding_models import MEANING, STATIC, WORDS

Sum: TypeAlias = Callable[..., float]

USEFUL = 0.3  # what a vote of use is worth: from -0.7 for the worst to +0.2 for the best
JUDGED = (
    "cosine", "cosine_mixed", "covered", "covered_before", "covered_around", "covered_passage",
    "pairs", "exact", "in_period", "speaker", "other_speaker",
)  # fmt: skip
LINE = ("covered_passage", "cosine_mixed")  # added to the trees: tells apart what they see as equal
_COLUMNS = {name: place for place, name in enumerate(NAMES)}
_JUDGED = tuple(_COLUMNS[name] for name in JUDGED)
_SURE = 1e-9
_MANY_ROWS = 24  # from here arrays are faster than the code of the trees


def best(table: FeatureTable, limit: int, order: str) -> list[Fused]:
    """Returns the best `limit` candidates, best first; in a tie the newer version wins.

    `order` says what the cosines are worth: `meaning`, `static`, or `words` where they say nothing.
    """
    odds_of = _trees(order)[1]
    margins = margins_of(table, order)
    ranked = heapq.nlargest(limit, zip(margins, table.versions, range(len(margins)), strict=True))
    top = (_highest(table, "cosine"), _highest(table, "covered_passage"))
    found: list[Fused] = []
    relevance = 1.0
    for margin, version, at in ranked:
        row = table.rows[at]
        judged = [row[column] for column in _JUDGED]
        in_session = float(row[_COLUMNS["session"]] > 0)
        odds = odds_of(margin, ranked[0][0], margin - ranked[0][0], *judged, *top, in_session)
        relevance = min(relevance, 1 / (1 + math.exp(-odds)))  # it never rises on the way down
        found.append(Fused(version, relevance, {"margin": round(margin, 4), **table.told(at)}))
    return found


def margins_of(table: FeatureTable, order: str) -> list[float]:
    """Returns the margin of each candidate: more is better."""
    margins = margins_alone(table, order)
    return margins if not table.authority else below_trusted(margins, table)


def margins_alone(table: FeatureTable, order: str) -> list[float]:
    """Returns the margin of each candidate, whoever said it."""
    margins = _sums(table, order)
    if order != WORDS:
        margins = _guesses_below_nearest(margins, table)
    shares = {useful: usefulness_share(useful) for useful in set(table.usefulness)}
    return [
        margin + shares[useful] for margin, useful in zip(margins, table.usefulness, strict=True)
    ]


def _sums(table: FeatureTable, order: str) -> list[float]:
    """The sum of the trees and of the line for each candidate."""
    line = [_COLUMNS[name] for name in lines(order)]
    if len(table.rows) >= _MANY_ROWS and "numpy" in sys.modules:  # the same sums, but sooner
        from memory_mesh.search.ranking import tree_arrays

        return tree_arrays.margins(table.rows, order, line)
    margin_of = _trees(order)[0]
    return [margin_of(*row) + sum(row[column] for column in line) for row in table.rows]


def lines(order: str) -> tuple[str, ...]:
    """Returns the features that are added to the trees as they are."""
    return LINE[:1] if order == WORDS else LINE


def usefulness_share(useful: float) -> float:
    """Returns what votes of use add to a margin."""
    return USEFUL * math.log(min(MOST_USEFUL, max(LEAST_USEFUL, useful)))


def _trees(order: str) -> tuple[Sum, Sum]:
    """The sums of trees of an order: of the margin, and of the odds."""
    if order == MEANING:
        from memory_mesh.search.ranking import _forest_by_meaning as by_meaning

        return by_meaning.margin, by_meaning.odds
    if order == STATIC:
        from memory_mesh.search.ranking import _forest_by_static as by_static

        return by_static.margin, by_static.odds
    from memory_mesh.search.ranking import _forest_by_words as by_words

    return by_words.margin, by_words.odds


def _guesses_below_nearest(margins: Sequence[float], table: FeatureTable) -> list[float]:
    """Puts what only a guessed spelling found below the nearest by meaning, in its own order."""
    covered, guessed = _COLUMNS["covered"], _COLUMNS["guessed"]
    cosine = _COLUMNS["cosine"]
    only_guessed = [row[guessed] > 0 and row[covered] <= row[guessed] + _SURE for row in table.rows]
    if not any(only_guessed):
        return list(margins)
    nearest = max(range(len(margins)), key=lambda at: table.rows[at][cosine])
    only_guessed[nearest] = False
    limit, top = margins[nearest], max(margins)
    return [
        limit - _SURE * (1 + top - margin) if guess and margin >= limit else margin
        for margin, guess in zip(margins, only_guessed, strict=True)
    ]


def _highest(table: FeatureTable, name: str) -> float:
    column = _COLUMNS[name]
    return max((row[column] for row in table.rows), default=0.0)
