"""Computes confidence intervals by resampling questions and whole conversations.

A resample is a weight for each question: how often it was drawn. Drawing conversations gives all
questions of one the same weight. Every figure is a function of rows and weights, so that pooled
figures are resampled as honestly as means.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from memory_mesh.base.typed import TYPE_CHECKING, dataclass
from memory_mesh.evaluation import metrics as evaluation_metrics
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.suite import PRECISION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Statistic = Callable[[Floats], Floats]  # weights, a resample a row, to the figure of each

RESAMPLES = 10_000
_CONFIDENCE = 0.95
_SLICE = 500  # resamples at a time
_DECIMALS = 4

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure or a difference, with its 95 % interval."""

    value: float
    questions: Interval
    conversations: Interval | None  # none where there is one conversation only


def possible() -> bool:
    """True if numpy is installed; without it figures have no intervals."""
    try:
        import numpy as np
    except ImportError:
        return False
    return bool(np)


def estimates(
    rows: Sequence[QuestionResult], metrics: Sequence[str], *, seed: int, resamples: int = RESAMPLES
) -> dict[str, Estimate]:
    """Returns the intervals of one system's figures; none without numpy."""
    if not possible():
        return {}
    found = {
        metric: _precision(rows) if metric == PRECISION else _mean(_parts(rows, metric))
        for metric in _counted(rows, metrics)
    }
    return _resampled(rows, found, seed, resamples)


def differences(
    rows: Sequence[QuestionResult],
    others: Sequence[QuestionResult],
    metrics: Sequence[str],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Returns the paired differences between two systems on their common questions."""
    if not possible():
        return {}
    by_id = {row.id: row for row in others}
    ours = [row for row in rows if row.id in by_id]
    theirs = [by_id[row.id] for row in ours]
    both = [metric for metric in _counted(ours, metrics) if metric in _counted(theirs, metrics)]
    found = {metric: _between(ours, theirs, metric) for metric in both}
    return _resampled(ours, found, seed, resamples)


def _counted(rows: Sequence[QuestionResult], metrics: Sequence[str]) -> list[str]:
    return [
        metric
        for metric in metrics
        if (
            evaluation_metrics.gold_count(rows)
            if metric == PRECISION
            else any(evaluation_metrics.value(row, metric) is not None for row in rows)
        )
    ]


def _resampled(
    rows: Sequence[QuestionResult], statistics: "Mapping[str, Statistic]", seed: int, resamples: int
) -> dict[str, Estimate]:
    import numpy as np

    if not statistics:
        return {}
    place = {name: at for at, name in enumerate(dict.fromkeys(row.tenant for row in rows))}
    home = np.array([place[row.tenant] for row in rows])
    questions = _drawn(len(rows), statistics, seed, resamples)
    conversations = (
        _drawn(len(place), statistics, seed, resamples, home) if len(place) > 1 else None
    )
    once = np.ones((1, len(rows)))
    return {
        metric: Estimate(
            round(float(statistic(once)[0]), _DECIMALS),
            questions[metric],
            None if conversations is None else conversations[metric],
        )
        for metric, statistic in statistics.items()
    }


def _drawn(
    many: int,
    statistics: "Mapping[str, Statistic]",
    seed: int,
    resamples: int,
    home: "NDArray[np.int64] | None" = None,
) -> dict[str, Interval]:
    """Returns the interval of each figure over resampled questions or conversations."""
    import numpy as np

    found: dict[str, list[Floats]] = {metric: [] for metric in statistics}
    for drawn in _weights(many, seed, resamples):
        weights = drawn if home is None else drawn[:, home]
        for metric, statistic in statistics.items():
            found[metric].append(statistic(weights))
    return {metric: _bounds(np.concatenate(parts)) for metric, parts in found.items()}


def _weights(many: int, seed: int, resamples: int) -> "Iterator[Floats]":
    """Yields how often each item was drawn, for a slice of resamples at a time."""
    import numpy as np

    chance = np.random.default_rng(seed)
    for start in range(0, resamples, _SLICE):
        size = min(_SLICE, resamples - start)
        drawn = chance.integers(0, many, (size, many)) + many * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * many)
        yield counts.reshape(size, many).astype(np.float64)


def _bounds(found: "Floats") -> Interval:
    import numpy as np

    edge = 100 * (1 - _CONFIDENCE) / 2
    taken = found[np.isfinite(found)]
    low, high = np.percentile(taken if len(taken) else np.zeros(1), [edge, 100 - edge])
    return round(float(low), _DECIMALS), round(float(high), _DECIMALS)


def _between(
    rows: Sequence[QuestionResult], others: Sequence[QuestionResult], metric: str
) -> "Statistic":
    if metric == PRECISION:
        mine, theirs = _precision(rows), _precision(others)
        return lambda weights: mine(weights) - theirs(weights)
    ours, other = _parts(rows, metric), _parts(others, metric)
    return _mean(ours - other)


def _parts(rows: Sequence[QuestionResult], metric: str) -> "Floats":
    """Returns each question's contribution to a mean; NaN if it has none."""
    import numpy as np

    return np.array([evaluation_metrics.value(row, metric) for row in rows], dtype=np.float64)


def _mean(parts: "Floats") -> "Statistic":
    import numpy as np

    counted = np.isfinite(parts)
    values, ones = np.where(counted, parts, 0.0), counted.astype(np.float64)

    def weighted(weights: "Floats") -> "Floats":
        count = weights @ ones
        nothing = np.full(len(weights), np.nan)  # of a resample that holds none of them
        shares: Floats = np.divide(weights @ values, count, out=nothing, where=count > 0)
        return shares

    return weighted


def _precision(rows: Sequence[QuestionResult]) -> "Statistic":
    """Returns the precision at recall .95 of each resample; 0 if no threshold reaches it."""
    import numpy as np

    pairs = sorted(
        (
            (score, name in row.gold, at)
            for at, row in enumerate(rows)
            for name, score in zip(row.ranked, evaluation_metrics.scored(row), strict=True)
        ),
        key=lambda pair: -pair[0],
    )
    if not pairs:
        return lambda weights: np.zeros(len(weights))
    scores = np.array([pair[0] for pair in pairs])
    right = np.array([pair[1] for pair in pairs], dtype=np.float64)
    home = np.array([pair[2] for pair in pairs])
    last = np.append(scores[1:] != scores[:-1], True)  # of those with one score
    gold = np.array([len(set(row.gold)) for row in rows], dtype=np.float64)

    def at_recall(weights: "Floats") -> "Floats":
        drawn = weights[:, home]
        found = np.cumsum(drawn * right, axis=1)
        shown = np.cumsum(drawn, axis=1)
        every = weights @ gold
        enough = last & (found >= evaluation_metrics.RECALL_WANTED * every[:, None] - 1e-9)
        enough &= every[:, None] > 0
        first = enough.argmax(axis=1)
        at = np.arange(len(weights))
        with np.errstate(invalid="ignore", divide="ignore"):
            precision = found[at, first] / shown[at, first]
        return np.where(enough[at, first], precision, 0.0)

    return at_recall
