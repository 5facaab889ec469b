"""Orders candidates by a weighted sum of their features and computes a relevance from 0 to 1.

The weights are in `_weights`, at most fifteen for each order, fitted by `bench/training/fit.py`:
more of a feature adds the same to every candidate, so a margin can be read. Relevance is the chance
that a candidate answers the question. It orders nothing, but it can be compared between questions:
a threshold means something. Odds below even are scaled for each order, so that the one default
threshold keeps as many right answers by words as by a model.
"""

import heapq
import math
from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import TypeAlias
from memory_mesh.model import Fused
from memory_mesh.rules.trust import LEAST_USEFUL, MOST_USEFUL
from memory_mesh.search.ranking._weights import DOUBT, MARGIN, ODDS
from memory_mesh.search.ranking.features import NAMES, FeatureTable, below_trusted
from memory_mesh.text.embedding_models import WORDS

Ranked: TypeAlias = Sequence[tuple[float, int, int]]  # margin, version, place in the table

USEFUL = 0.3  # what a vote of use is worth: from -0.7 for the worst to +0.2 for the best
_COLUMNS = {name: place for place, name in enumerate(NAMES)}
FEWEST = 20  # texts of a store: a smaller one is judged as the smallest that was fitted on
RELATIVE = (
    "keyword",
    "keyword_turn",
    "keyword_long",
    "meaning",
    "session",
)  # to the best candidate
_SURE = 1e-9


def best(table: FeatureTable, limit: int, order: str) -> list[Fused]:
    """Returns the best `limit` candidates, best first; in a tie the newer version wins.

    `order` says what the cosines are worth: `meaning`, `static`, or `words` where they say nothing.
    """
    margins = margins_of(table, order)
    ranked = heapq.nlargest(
        max(limit, 2), zip(margins, table.versions, range(len(margins)), strict=True)
    )
    found: list[Fused] = []
    relevance = 1.0
    for place, (margin, version, at) in enumerate(ranked[:limit]):
        judged = evidence(table, ranked, place, MARGIN[order])
        odds = sum(weight * judged[name] for name, weight in ODDS[order].items())
        odds *= DOUBT[order] if odds < 0 else 1.0
        relevance = min(relevance, 1 / (1 + math.exp(-odds)))  # it never rises on the way down
        found.append(Fused(version, relevance, {"margin": round(margin, 4), **table.told(at)}))
    return found


def evidence(
    table: FeatureTable, ranked: Ranked, place: int, weights: Mapping[str, float]
) -> dict[str, float]:
    """Returns what speaks for or against an answer: of the candidate, and of the whole question.

    What only compares with other candidates of the question is left out of `sum` and `lead`: among
    four memories one is the nearest, however far it is.
    """
    at = ranked[place][2]
    others = [other for _, _, other in (ranked[1:2] if place == 0 else ranked[:1])]
    row = dict(zip(NAMES, table.rows[at], strict=True))
    own = _absolute(table.rows[at], weights)
    return row | {
        "always": 1.0,
        "sum": own,  # of the first over the second, of others behind the first:
        "lead": own - sum(_absolute(table.rows[other], weights) for other in others),
        "best_cosine": max(each[_COLUMNS["cosine"]] for each in table.rows),
        "in_session": float(row["session"] > 0),
        "texts": math.log10(1 + max(FEWEST, table.texts)),
    }


def _absolute(row: Sequence[float], weights: Mapping[str, float]) -> float:
    return sum(
        weight * row[_COLUMNS[name]] for name, weight in weights.items() if name not in RELATIVE
    )


def margins_of(table: FeatureTable, order: str) -> list[float]:
    """Returns the margin of each candidate: more is better."""
    margins = margins_alone(table, order)
    return margins if not table.authority else below_trusted(margins, table)


def margins_alone(table: FeatureTable, order: str) -> list[float]:
    """Returns the margin of each candidate, whoever said it."""
    weights = [(_COLUMNS[name], weight) for name, weight in MARGIN[order].items()]
    margins = [sum(weight * row[column] for column, weight in weights) for row in table.rows]
    if order != WORDS:
        margins = _guesses_below_nearest(margins, table)
    shares = {useful: usefulness_share(useful) for useful in set(table.usefulness)}
    return [
        margin + shares[useful] for margin, useful in zip(margins, table.usefulness, strict=True)
    ]


def weighed(table: FeatureTable, position: int, order: str) -> dict[str, float]:
    """Returns what each feature of one candidate adds to its margin."""
    row = table.rows[position]
    return {name: weight * row[_COLUMNS[name]] for name, weight in MARGIN[order].items()}


def usefulness_share(useful: float) -> float:
    """Returns what votes of use add to a margin."""
    return USEFUL * math.log(min(MOST_USEFUL, max(LEAST_USEFUL, useful)))


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
