"""Orders candidates by their features and computes a relevance from 0 to 1.

The order is a sum of scales, and the scales are one file that one can read, `scales.json`. Each
feature has a scale: limits, and for each place between them a number that a value there adds. The
sum is the margin, which orders; of most features more never takes anything away. Other scales make
odds of the margin and of what a candidate is in itself. Relevance is the chance that it answers the
question: it orders nothing, but it can be compared between questions, so that a threshold means
something. `bench/training` fits the scales.
"""

import heapq
import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from memory_mesh.base.typed import dataclass
from memory_mesh.base.word_files import text_beside
from memory_mesh.model import Fused
from memory_mesh.rules.trust import LEAST_USEFUL, MOST_USEFUL
from memory_mesh.search.ranking.features import NAMES, FeatureTable, below_trusted
from memory_mesh.text.embedding_models import WORDS

USEFUL = 0.3  # what a vote of use is worth: from -0.7 for the worst to +0.2 for the best
LINE = ("covered_passage", "cosine_mixed")  # added as they are: tells apart what has equal margins
TOP = ("cosine", "covered_passage")  # of these the odds look at the best candidate, too
_COLUMNS = {name: place for place, name in enumerate(NAMES)}
_SURE = 1e-9


@dataclass(frozen=True, slots=True)
class Scale:
    """What a feature adds: up to each limit the number at its place, above all limits the last."""

    limits: tuple[float, ...]
    added: tuple[float, ...]

    def of(self, values: Iterable[float]) -> list[float]:
        """Returns what each value adds."""
        return [self.added[bisect_left(self.limits, value)] for value in values]


@dataclass(frozen=True, slots=True)
class Scales:
    """The scales of an order, by feature."""

    margin: Mapping[str, Scale]
    odds: Mapping[str, Scale]


@cache
def scales(order: str) -> Scales:
    """Returns the scales of an order."""
    kinds = json.loads(text_beside(__file__, "scales.json"))[order]
    return Scales(
        *(
            {name: Scale(*map(tuple, scale)) for name, scale in kinds[kind].items()}
            for kind in ("margin", "odds")
        )
    )


def fitting(table: FeatureTable, order: str) -> str:
    """Returns the order for these candidates: that of words where none of them has a vector yet."""
    return order if any(row[_COLUMNS["cosine"]] for row in table.rows) else WORDS


def best(table: FeatureTable, limit: int, order: str) -> list[Fused]:
    """Returns the best `limit` candidates, best first; in a tie the newer version wins.

    `order` says what the cosines are worth: `meaning`, `static`, or `words` where they say nothing.
    """
    order = fitting(table, order)
    margins = margins_of(table, order)
    ranked = heapq.nlargest(limit, zip(margins, table.versions, range(len(margins)), strict=True))
    if not ranked:
        return []
    found: list[Fused] = []
    relevance = 1.0
    for odds, (margin, version, at) in zip(_odds(table, ranked, order), ranked, strict=True):
        relevance = min(relevance, 1 / (1 + math.exp(-odds)))  # it never rises on the way down
        found.append(Fused(version, relevance, {"margin": round(margin, 4), **table.told(at)}))
    return found


def _odds(table: FeatureTable, ranked: Sequence[tuple[float, int, int]], order: str) -> list[float]:
    """The logarithm of the odds of each of the best candidates."""
    top, count = ranked[0][0], len(ranked)
    columns: dict[str, Sequence[float]] = dict(
        zip(NAMES, zip(*(table.rows[at] for _, _, at in ranked), strict=True), strict=True)
    )
    columns |= {
        "margin": [margin for margin, _, _ in ranked],
        "top": [top] * count,
        "behind": [margin - top for margin, _, _ in ranked],
        "in_session": [float(session > 0) for session in columns["session"]],
    }
    for name in TOP:
        columns[f"top_{name}"] = [max(row[_COLUMNS[name]] for row in table.rows)] * count
    return _summed(scales(order).odds, columns, count)


def _summed(
    added: Mapping[str, Scale], columns: Mapping[str, Sequence[float]], count: int
) -> list[float]:
    sums = [0.0] * count
    for name, scale in added.items():
        sums = [own + more for own, more in zip(sums, scale.of(columns[name]), strict=True)]
    return sums


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
    """What the scales and the line add for each candidate."""
    if not table.rows:
        return []
    columns = dict(zip(NAMES, zip(*table.rows, strict=True), strict=True))
    sums = _summed(scales(order).margin, columns, len(table.rows))
    for name in lines(order):
        sums = [own + value for own, value in zip(sums, columns[name], strict=True)]
    return sums


def lines(order: str) -> tuple[str, ...]:
    """Returns the features that are added as they are."""
    return LINE[:1] if order == WORDS else LINE


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
