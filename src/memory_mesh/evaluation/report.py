"""The report of a run: every figure with how sure it is, as JSON and as Markdown."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from memory_mesh.errors import InvalidInput, NotFound
from memory_mesh.evaluation import bootstrap, metrics as evaluation_metrics
from memory_mesh.evaluation.asking import Row
from memory_mesh.evaluation.bootstrap import Estimate
from memory_mesh.evaluation.failures import Failure
from memory_mesh.evaluation.suite import PRECISION, Suite
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Json
from memory_mesh.typed import TypeAlias

BASELINE = "baseline"
COUNTED = ("n", "goldless", "with_stale", "tokens")

ByPart: TypeAlias = Mapping[str, Mapping[str, Sequence[Row]]]
"""Rows by system and split."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a report says of its run."""

    command: str
    date: str
    version: str
    commit: tuple[str | None, bool | None]
    seed: int
    sample: int | None
    embedder: str | None
    data_digest: str | None
    records: Mapping[str, int]
    results: str


@dataclass(frozen=True, slots=True)
class Miss:
    """A figure that is below its bound."""

    split: str
    metric: str
    bound: float
    found: float | None

    def __str__(self) -> str:
        """One line for a person."""
        shown = "nothing was measured" if self.found is None else f"{self.found:.4f}"
        return f"{self.split} {self.metric}: {shown}, below {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was measured; `values` is what the JSON file holds: figures, no texts.

    `failures` are the questions that the first system failed at; a report that was read from a file
    has none. `lacking` says which files could not be written.
    """

    values: Mapping[str, Json]
    failures: tuple[Failure, ...] = ()
    lacking: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: Path) -> "Report":
        """A report that was written before."""
        if not file.is_file():
            raise NotFound(f"there is no report {file}")
        try:
            values = json.loads(file.read_text(encoding="utf-8"))
        except ValueError:
            values = None
        if not isinstance(values, dict) or not {"suite", "systems", "results"} <= values.keys():
            raise InvalidInput(f"{file} is no report of an evaluation")
        return cls(values)

    @property
    def suite(self) -> str:
        """The suite's name."""
        return str(self.values["suite"])

    @property
    def counts(self) -> str:
        """The figure that counts."""
        return str(self.values["counts"])

    @property
    def results(self) -> str:
        """The name of the file with every answer."""
        return str(self.values["results"])

    @property
    def systems(self) -> dict[str, dict[str, dict[str, Json]]]:
        """The figures by system and split."""
        return {
            str(system): {str(split): dict(_mapping(each)) for split, each in _items(splits)}
            for system, splits in _items(self.values["systems"])
        }

    @property
    def paired(self) -> list[Mapping[str, Json]]:
        """The differences."""
        found = self.values.get("paired", [])
        return [_mapping(item) for item in found] if isinstance(found, Sequence) else []

    def figure(self, system: str, split: str, metric: str) -> float | None:
        """One figure, if it was measured."""
        return evaluation_metrics.shares(self.systems.get(system, {}).get(split, {}), metric)

    @property
    def last_split(self) -> str:
        """The split that bounds and failures are about: all, or the one that was asked for."""
        return next(reversed(next(iter(self.systems.values()))))

    def misses(self, bounds: Mapping[str, float], split: str | None = None) -> list[Miss]:
        """The bounds that the first system does not reach; what was not measured reaches none."""
        system, chosen = next(iter(self.systems)), split or self.last_split
        found = {metric: self.figure(system, chosen, metric) for metric in bounds}
        return [
            Miss(chosen, metric, bound, found[metric])
            for metric, bound in bounds.items()
            if (value := found[metric]) is None or not value >= bound
        ]


def build(
    suite: Suite,
    facts: Facts,
    rows: ByPart,
    earlier: ByPart,
) -> Report:
    """The report on these rows by system and split, compared with those of an earlier run."""
    commit, dirty = facts.commit
    systems = {
        system: {split: _figures(suite, listed, facts.seed) for split, listed in splits.items()}
        for system, splits in rows.items()
    }
    return Report(
        {
            "suite": suite.name,
            "date": facts.date,
            "version": facts.version,
            "commit": commit,
            "dirty": dirty,
            "seed": facts.seed,
            "sample": facts.sample,
            "command": facts.command,
            "embedder": facts.embedder,
            "unit": suite.unit,
            "counts": suite.counts,
            "data_digest": facts.data_digest,
            "records": dict(facts.records),
            "results": facts.results,
            "systems": systems,
            "paired": _paired(suite, rows, earlier, facts.seed),
        }
    )


def check(suite: Suite, bounds: Iterable[str]) -> None:
    """Refuse a bound on what a run of the suite cannot measure."""
    known = [*evaluation_metrics.metrics(suite), PRECISION, *COUNTED]
    for metric in bounds:
        if metric not in known:
            raise InvalidInput(f"there is no figure {metric!r}; there are: {', '.join(known)}")


def compared(suite: Suite) -> list[str]:
    """The figures that are resampled."""
    pooled = [PRECISION] if suite.counts == PRECISION else []
    return [*evaluation_metrics.metrics(suite), *pooled]


def _figures(suite: Suite, rows: Sequence[Row], seed: int) -> dict[str, Json]:
    found = evaluation_metrics.summary(rows, suite)
    sure = bootstrap.estimates(rows, compared(suite), seed=seed)
    intervals: dict[str, Json] = {metric: _interval(each) for metric, each in sure.items()}
    return {**found, "intervals": intervals}


def _paired(
    suite: Suite,
    rows: ByPart,
    earlier: ByPart,
    seed: int,
) -> list[Json]:
    """The first system against each other one, and each against itself in the earlier run."""
    first, *others = rows
    found: list[Json] = []
    for split in rows[first]:
        for other in others:
            pair = (first, rows[first][split]), (other, rows[other][split])
            found += differences(pair, split, compared(suite), seed)
        for system in rows if earlier else ():
            known = system if system in earlier else next(iter(earlier))
            before = [row for listed in earlier[known].values() for row in listed]
            pair = (system, rows[system][split]), (f"{BASELINE} {known}", before)
            found += differences(pair, split, compared(suite), seed)
    return found


def differences(
    pair: tuple[tuple[str, Sequence[Row]], tuple[str, Sequence[Row]]],
    split: str,
    metrics: Sequence[str],
    seed: int,
) -> list[Json]:
    """What the first of two named systems is better by, figure by figure."""
    (system, ours), (against, theirs) = pair
    return [
        {
            "split": split,
            "metric": metric,
            "system": system,
            "against": against,
            "difference": each.value,
            **_interval(each),
        }
        for metric, each in bootstrap.differences(ours, theirs, metrics, seed=seed).items()
    ]


def _interval(each: Estimate) -> dict[str, Json]:
    conversations = None if each.conversations is None else list(each.conversations)
    return {"questions": list(each.questions), "conversations": conversations}


def _mapping(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidInput("the report is damaged: run the evaluation again")
    return value


def _items(value: Json) -> list[tuple[str, Json]]:
    return list(_mapping(value).items())
