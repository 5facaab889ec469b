"""Figures from rows: what share of the evidence was found, how high, at what price.

A question without gold has no recall: it counts where wrong answers count, in precision. A figure
at k leaves out what cannot be asked: a pool of no more than k, an answer cut off before k.
"""

import math
from collections.abc import Mapping, Sequence

from memory_mesh.evaluation.asking import Row
from memory_mesh.evaluation.suite import NEWEST, PRECISION, Suite
from memory_mesh.model import Json
from memory_mesh.typed import TypeAlias

RECALL_WANTED = 0.95
DEFAULT_LIMIT = 10  # of `search`: what is returned when nobody asks for more
_PERCENTILES = (50, 95, 99)
_DECIMALS = 4
_SLACK = 1e-9  # of a float

Threshold: TypeAlias = tuple[float, float]
"""A precision, and the score it is reached at."""


def metrics(suite: Suite) -> list[str]:
    """The figures that are means over questions, in the order they are shown."""
    recall = [f"R@{k}" for k in suite.ks]
    return [*recall, f"all@{suite.cut}", "MRR", f"nDCG@{suite.cut}", NEWEST]


def value(row: Row, metric: str) -> float | None:
    """One question's part of a mean, or None where it has none."""
    if not row.gold:
        return None
    if metric == "MRR":
        found = _first(row.ranked, row.gold)
        return 0.0 if found is None else 1 / (found + 1)
    if metric == NEWEST:
        return _newest(row)
    name, _, depth = metric.partition("@")
    k = int(depth)
    if k >= row.pool or k > row.limit:
        return None
    top = set(row.ranked[:k])
    if name == "R":
        return sum(gold in top for gold in row.gold) / len(row.gold)
    if name == "all":
        return float(top.issuperset(row.gold))
    return _ndcg(row, k)


def mean(rows: Sequence[Row], metric: str) -> float | None:
    """The mean over the questions that have a part in it."""
    found = [part for row in rows if (part := value(row, metric)) is not None]
    return sum(found) / len(found) if found else None


def summary(rows: Sequence[Row], suite: Suite) -> dict[str, Json]:
    """Every figure of some rows, and the means of each category."""
    by_category = {
        category: _means([row for row in rows if row.category == category], suite)
        for category in sorted(dict.fromkeys(row.category for row in rows))
    }
    return {
        **_means(rows, suite),
        "goldless": sum(not row.gold for row in rows),
        "with_stale": sum(bool(row.gold and row.stale) for row in rows),
        "small_pool": _left_out(rows, suite),
        **_precision(rows, suite),
        "latency_ms": _latency(rows),
        "tokens": _mean_tokens(rows),
        "by_category": by_category,
    }


def precision_at_recall(rows: Sequence[Row], wanted: float = RECALL_WANTED) -> Threshold | None:
    """Precision at the highest threshold whose pooled recall is high enough; None if none is."""
    pairs = sorted(pooled(rows), reverse=True)
    every = gold_count(rows)
    right = 0
    for number, (score, hit) in enumerate(pairs, start=1):
        right += hit
        tied = number < len(pairs) and pairs[number][0] == score
        if not tied and every and right >= wanted * every - _SLACK:
            return (right / number, score)
    return None


def pooled(rows: Sequence[Row]) -> list[tuple[float, bool]]:
    """Every answer of every question: its score, and whether it is right."""
    return [
        (score, name in row.gold)
        for row in rows
        for name, score in zip(row.ranked, scored(row), strict=True)
    ]


def scored(row: Row) -> Sequence[float]:
    """The scores of the answers; where a system gives none, the place in the list has to do."""
    if len(row.scores) == len(row.ranked):
        return row.scores
    return [1 / (place + 1) for place in range(len(row.ranked))]


def gold_count(rows: Sequence[Row]) -> int:
    """How many answers there are to be found, each memory counted once."""
    return sum(len(set(row.gold)) for row in rows)


def _means(rows: Sequence[Row], suite: Suite) -> dict[str, Json]:
    shown: dict[str, Json] = {"n": len(rows)}
    for metric in metrics(suite):
        found = mean(rows, metric)
        if found is not None:
            shown[metric] = round(found, _DECIMALS)
    return shown


def _precision(rows: Sequence[Row], suite: Suite) -> dict[str, Json]:
    reached = precision_at_recall(rows)
    found: dict[str, Json] = {
        PRECISION: None if reached is None else round(reached[0], _DECIMALS),
        "threshold": None if reached is None else reached[1],
        "at_default": _answered(rows, None),
    }
    if suite.min_relevance is not None:
        found["at_min_relevance"] = {
            "min_relevance": suite.min_relevance,
            **_answered(rows, suite.min_relevance),
        }
    return found


def _answered(rows: Sequence[Row], least: float | None) -> dict[str, Json]:
    """Precision, recall and silence of the first ten, or of those that are relevant enough."""
    right = shown = silent = 0
    goldless = sum(not row.gold for row in rows)
    for row in rows:
        kept = [
            name
            for name, score in zip(row.ranked, scored(row), strict=True)
            if least is None or score >= least
        ][:DEFAULT_LIMIT]
        shown += len(kept)
        right += len(set(kept) & set(row.gold))
        silent += not kept and not row.gold
    every = gold_count(rows)
    return {
        "precision": round(right / shown, _DECIMALS) if shown else None,
        "recall": round(right / every, _DECIMALS) if every else None,
        "silent": round(silent / goldless, _DECIMALS) if goldless else None,
    }


def _left_out(rows: Sequence[Row], suite: Suite) -> dict[str, Json]:
    """How many questions had too small a pool, by k."""
    counts = {str(k): sum(bool(row.gold) and row.pool <= k for row in rows) for k in suite.ks}
    return {k: count for k, count in counts.items() if count}


def _latency(rows: Sequence[Row]) -> dict[str, Json] | None:
    times = sorted(row.ms for row in rows if row.ms is not None)
    if not times:
        return None
    return {f"p{part}": round(percentile(times, part), 2) for part in _PERCENTILES}


def percentile(ordered: Sequence[float], part: float) -> float:
    """The smallest value that this part of all does not exceed."""
    return ordered[max(0, math.ceil(part / 100 * len(ordered)) - 1)]


def _mean_tokens(rows: Sequence[Row]) -> float | None:
    counts = [row.tokens for row in rows if row.tokens is not None]
    return round(sum(counts) / len(counts), 1) if counts else None


def _first(ranked: Sequence[str], wanted: Sequence[str]) -> int | None:
    names = set(wanted)
    return next((place for place, name in enumerate(ranked) if name in names), None)


def _newest(row: Row) -> float | None:
    """Right when some gold is there and nothing stale stands above it."""
    if not row.stale:
        return None
    gold, stale = _first(row.ranked, row.gold), _first(row.ranked, row.stale)
    return float(gold is not None and (stale is None or gold < stale))


def _ndcg(row: Row, k: int) -> float:
    gold = set(row.gold)
    gain = sum(
        1 / math.log2(place + 2) for place, name in enumerate(row.ranked[:k]) if name in gold
    )
    return gain / sum(1 / math.log2(place + 2) for place in range(min(k, len(gold))))


def shares(figures: Mapping[str, Json], metric: str) -> float | None:
    """A figure of a summary, whether it is a mean or pooled."""
    found = figures.get(metric)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
