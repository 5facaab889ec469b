"""Compares two reports, with intervals of the differences."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memory_mesh.evaluation import results, running
from memory_mesh.evaluation.report import ByPart, EvaluationReport, differences
from memory_mesh.evaluation.running import results_of
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput, NotFound

_PLAIN = ("n", "goldless", "with_stale", "threshold", "tokens")  # no figure to be better in


def compare(before: Path, after: Path, *, work: Path | None = None) -> list[Mapping[str, Json]]:
    """Returns the differences between two reports, with intervals if both have results."""
    old, new = EvaluationReport.read(before), EvaluationReport.read(after)
    if old.suite != new.suite:
        raise InvalidInput(f"one report is of {old.suite}, the other of {new.suite}")
    kept = work or running.cache_folder(os.environ)
    rows = _rows(before, kept), _rows(after, kept)
    return [
        each
        for system, splits in new.systems.items()
        for split, figures in splits.items()
        if split in old.systems.get(system, {})
        for each in _each((system, split), (old.systems[system][split], figures), rows, _seed(new))
    ]


def _each(
    named: tuple[str, str],
    pair: tuple[Mapping[str, Json], Mapping[str, Json]],
    rows: tuple[ByPart, ByPart],
    seed: int,
) -> Iterator[Mapping[str, Json]]:
    (system, split), (old, new) = named, pair
    metrics = [name for name, value in new.items() if _figure(name, value) and name in old]
    before, after = (each.get(system, {}).get(split, []) for each in rows)
    found = differences((("after", after), ("before", before)), split, metrics, seed)
    paired = {each["metric"]: each for each in found if isinstance(each, Mapping)}
    for metric in metrics:
        was, is_ = old[metric], new[metric]
        if isinstance(was, int | float) and isinstance(is_, int | float):
            sure = paired.get(metric, {})
            yield {
                "split": split,
                "metric": metric,
                "system": system,
                "before": was,
                "after": is_,
                "difference": round(is_ - was, 4),
                "questions": sure.get("questions"),
                "conversations": sure.get("conversations"),
            }


def _rows(file: Path, work: Path) -> ByPart:
    try:
        return results.read(results_of(file, work))
    except NotFound:
        return {}


def _figure(name: str, value: Json) -> bool:
    return isinstance(value, int | float) and name not in _PLAIN


def _seed(report: EvaluationReport) -> int:
    seed = report.values.get("seed")
    return seed if isinstance(seed, int) else 0
