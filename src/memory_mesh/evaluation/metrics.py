"""Computes the figures of a run from its rows: recall, ranks, latency, tokens.

A question without gold has no recall: it counts where wrong answers count, in precision. A figure
at k leaves out what cannot be asked: a pool of no more than k, an answer cut off before k.
"""

import math
from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import TypeAlias
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.suite import NEWEST, PRECISION, Suite
from memory_mesh.model import Json

RECALL_WANTED = 0.95
DEFAULT_LIMIT = 10  # of `search`: what is returned when nobody asks for more
_PERCENTILES = (50, 95, 99)
_DECIMALS = 4
_SLACK = 1e-9  # of a float

Threshold: TypeAlias = tuple[float, float]
"""A precision and its score threshold."""


def metrics(suite: Suite) -> list[str]:
    """Returns the names of the figures that are means, in display order."""
    recall = [f"R@{k}" for k in suite.ks]
    return [*recall, f"all@{suite.cut}", "MRR", f"nDCG@{suite.cut}", NEWEST]


def value(row: QuestionResult, metric: str) -> float | None:
    """Returns one question's contribution to a mean, or None."""
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
    return float(top.issuperset(row.gold)) if name == "all" else _ndcg(row, k)


def mean(rows: Sequence[QuestionResult], metric: str) -> float | None:
    """Returns the mean over the questions that contribute to it."""
    found = [part for row in rows if (part := value(row, metric)) is not None]
    return sum(found) / len(found) if found else None


def summary(rows: Sequence[QuestionResult], suite: Suite) -> dict[str, Json]:
    """Returns every figure of the rows, and the means per category."""
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


def precision_at_recall(
    rows: Sequence[QuestionResult], wanted: float = RECALL_WANTED
) -> Threshold | None:
    """Returns the precision at the highest threshold that reaches the recall, or None."""
    pairs = sorted(pooled(rows), reverse=True)
    every = gold_count(rows)
    right = 0
    for number, (score, hit) in enumerate(pairs, start=1):
        right += hit
        tied = number < len(pairs) and pairs[number][0] == score
        if not tied and every and right >= wanted * every - _SLACK:
            return (right / number, score)
    return None


def pooled(rows: Sequence[QuestionResult]) -> list[tuple[float, bool]]:
    """Returns the score and the correctness of every hit of every question."""
    return [
        (score, name in row.gold)
        for row in rows
        for name, score in zip(row.ranked, scored(row), strict=True)
    ]


def scored(row: QuestionResult) -> Sequence[float]:
    """Returns the scores of the hits, or scores by rank if a system gives none."""
    if len(row.scores) == len(row.ranked):
        return row.scores
    return [1 / (place + 1) for place in range(len(row.ranked))]


def gold_count(rows: Sequence[QuestionResult]) -> int:
    """Returns the number of gold memories, each counted once."""
    return sum(len(set(row.gold)) for row in rows)


def _means(rows: Sequence[QuestionResult], suite: Suite) -> dict[str, Json]:
    shown: dict[str, Json] = {"n": len(rows)}
    for metric in metrics(suite):
        found = mean(rows, metric)
        if found is not None:
            shown[metric] = round(found, _DECIMALS)
    return shown


def _precision(rows: Sequence[QuestionResult], suite: Suite) -> dict[str, Json]:
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


def _answered(rows: Sequence[QuestionResult], least: float | None) -> dict[str, Json]:
    """Returns precision, recall and unanswered share of the first ten hits above a score."""
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


def _left_out(rows: Sequence[QuestionResult], suite: Suite) -> dict[str, Json]:
    """Returns the number of questions with too few records, by k."""
    counts = {str(k): sum(bool(row.gold) and row.pool <= k for row in rows) for k in suite.ks}
    return {k: count for k, count in counts.items() if count}


def _latency(rows: Sequence[QuestionResult]) -> dict[str, Json] | None:
    times = sorted(row.ms for row in rows if row.ms is not None)
    if not times:
        return None
    return {f"p{part}": round(percentile(times, part), 2) for part in _PERCENTILES}


def percentile(ordered: Sequence[float], part: float) -> float:
    """Returns a percentile of the values."""
    return ordered[max(0, math.ceil(part / 100 * len(ordered)) - 1)]


def _mean_tokens(rows: Sequence[QuestionResult]) -> float | None:
    counts = [row.tokens for row in rows if row.tokens is not None]
    return round(sum(counts) / len(counts), 1) if counts else None


def _first(ranked: Sequence[str], wanted: Sequence[str]) -> int | None:
    names = set(wanted)
    return next((place for place, name in enumerate(ranked) if name in names), None)


def _newest(row: QuestionResult) -> float | None:
    """Returns 1 if a gold record is found and no stale record ranks above it."""
    if not row.stale:
        return None
    gold, stale = _first(row.ranked, row.gold), _first(row.ranked, row.stale)
    return float(gold is not None and (stale is None or gold < stale))


def _ndcg(row: QuestionResult, k: int) -> float:
    gold = set(row.gold)
    gain = sum(
        1 / math.log2(place + 2) for place, name in enumerate(row.ranked[:k]) if name in gold
    )
    return gain / sum(1 / math.log2(place + 2) for place in range(min(k, len(gold))))


def shares(figures: Mapping[str, Json], metric: str) -> float | None:
    """Returns a figure of a summary."""
    found = figures.get(metric)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
