"""The report of a run: every figure with how sure it is, as JSON and as Markdown."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from memory_mesh.base.typed import TypeAlias, dataclass, field
from memory_mesh.evaluation import confidence_intervals, metrics, metrics as evaluation_metrics
from memory_mesh.evaluation.one_question import QuestionResult
from memory_mesh.evaluation.records import DataSet
from memory_mesh.evaluation.suite import NEWEST, PRECISION, SESSION, Suite
from memory_mesh.model import InvalidInput, Json, NotFound

# The questions that failed: what was expected, at which rank it came, and what came first.


_TEXT_CHARS = 500  # of a text in a report

Texts: TypeAlias = Mapping[tuple[str, str], str]
"""The text of a memory or record, by tenant and name."""


@dataclass(frozen=True, slots=True)
class FailureWords:
    """What a person needs to read a row: its question, the texts it names, and why it failed."""

    questions: Mapping[str, str] = field(default_factory=dict)
    texts: Texts = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expected:
    """A memory that should have come first; no rank: it was not among the hits."""

    id: str
    text: str
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedQuestion:
    """One question that failed; `first` is the id, text and score of what came first."""

    id: str
    question: str
    category: str
    expected: tuple[Expected, ...]
    first: tuple[str, str, float] | None
    why: str

    def as_json(self) -> dict[str, Json]:
        """Returns the failure as the values of a JSON object."""
        first: dict[str, Json] | None = None
        if self.first is not None:
            id_, text, score = self.first
            first = {"id": id_, "text": text, "score": score}
        return {
            "id": self.id,
            "question": self.question,
            "category": self.category,
            "expected": [
                {"id": each.id, "text": each.text, "rank": each.rank} for each in self.expected
            ],
            "first": first,
            "why": self.why,
        }


def failed(row: QuestionResult, suite: Suite) -> bool:
    """True if the question costs something of the main figure, or found what it should not."""
    if not row.gold:
        return bool(_above(row, suite)) and (
            suite.store is not None or suite.min_relevance is not None
        )
    part = metrics.value(row, measured_by(suite))
    return part is not None and part < 1


def measured_by(suite: Suite) -> str:
    """Returns the figure that decides whether a question failed: the main one, if it is a mean."""
    return suite.counts if suite.counts in metrics.metrics(suite) else f"R@{suite.cut}"


def depth(suite: Suite) -> int:
    """Returns how many hits count."""
    name, _, k = measured_by(suite).partition("@")
    return int(k) if k else 1 if name == "MRR" else suite.cut


def describe(
    suite: Suite, rows: Sequence[QuestionResult], words: FailureWords
) -> tuple[FailedQuestion, ...]:
    """Returns the rows that failed, in the order of the questions."""
    return tuple(_failure(suite, row, words) for row in rows if failed(row, suite))


def words_of(suite: Suite, rows: Sequence[QuestionResult], data: DataSet) -> FailureWords:
    """Returns the texts of a data set that its failed rows need."""
    lost = [row for row in rows if failed(row, suite)]
    ids = {row.id for row in lost}
    questions = {each.id: each.text for each in data.questions if each.id in ids}
    if suite.unit == SESSION or not lost:
        return FailureWords(questions)
    wanted: dict[str, set[str]] = {}
    for row in lost:
        wanted.setdefault(row.tenant, set()).update((*row.gold, *row.stale, *row.ranked[:1]))
    texts = {
        (tenant, record.id): record.text
        for tenant, records in data.tenants(wanted.keys())
        for record in records
        if record.id in wanted[tenant]
    }
    return FailureWords(questions, texts)


def _failure(suite: Suite, row: QuestionResult, words: FailureWords) -> FailedQuestion:
    ranks = {name: place for place, name in reversed(list(enumerate(row.ranked, start=1)))}
    k = depth(suite)
    missed = [name for name in row.gold if ranks.get(name, k + 1) > k] or list(row.gold)
    shown = _above(row, suite)
    return FailedQuestion(
        id=row.id,
        question=words.questions.get(row.id, row.id),
        category=row.category,
        expected=tuple(
            Expected(name, _text(words, row, name), ranks.get(name))
            for name in dict.fromkeys(missed)
        ),
        first=(shown[0][0], _text(words, row, shown[0][0]), shown[0][1]) if shown else None,
        why=words.why.get(row.id) or " ".join(_reasons(suite, row, ranks, missed)),
    )


def _reasons(
    suite: Suite, row: QuestionResult, ranks: Mapping[str, int], missed: Sequence[str]
) -> Iterator[str]:
    if not row.gold:
        score = _above(row, suite)[0][1]
        yield f"Nothing should be found; the first hit scores {score:.2f}."
        yield f"A min_relevance above {score:.2f} would leave it out."
        return
    if not row.ranked:
        yield "No hits."
        return
    best = min((ranks[name] for name in row.gold if name in ranks), default=None)
    stale = min((ranks[name] for name in row.stale if name in ranks), default=None)
    if measured_by(suite) == NEWEST and stale is not None and (best is None or stale < best):
        yield f"An outdated record has rank {stale}."
    for name in dict.fromkeys(missed):
        rank = ranks.get(name)
        if rank is None:
            yield f"{name} is not among the {len(row.ranked)} hits."
        else:
            yield f"{name} has rank {rank}; {suite.counts} counts the first {depth(suite)}."


def _above(row: QuestionResult, suite: Suite) -> list[tuple[str, float]]:
    """The hits with their scores; of a question without an answer, those above the threshold."""
    least = suite.min_relevance if not row.gold else None
    pairs = zip(row.ranked, metrics.scored(row), strict=True)
    return [pair for pair in pairs if least is None or pair[1] >= least]


def _text(words: FailureWords, row: QuestionResult, name: str) -> str:
    text = " ".join(words.texts.get((row.tenant, name), "").split())
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]} …"


BASELINE = "baseline"
COUNTED = ("n", "goldless", "with_stale", "tokens")

ByPart: TypeAlias = Mapping[str, Mapping[str, Sequence[QuestionResult]]]
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
class EvaluationReport:
    """Everything that was measured; `values` is what the JSON file holds: figures, no texts.

    `failures` are the questions that the first system failed at; a report that was read from a file
    has none. `lacking` says which files could not be written.
    """

    values: Mapping[str, Json]
    failures: tuple[FailedQuestion, ...] = ()
    lacking: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: Path) -> "EvaluationReport":
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
) -> EvaluationReport:
    """The report on these rows by system and split, compared with those of an earlier run."""
    commit, dirty = facts.commit
    systems = {
        system: {split: _figures(suite, listed, facts.seed) for split, listed in splits.items()}
        for system, splits in rows.items()
    }
    return EvaluationReport(
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


def _figures(suite: Suite, rows: Sequence[QuestionResult], seed: int) -> dict[str, Json]:
    found = evaluation_metrics.summary(rows, suite)
    sure = confidence_intervals.estimates(rows, compared(suite), seed=seed)
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
    pair: tuple[tuple[str, Sequence[QuestionResult]], tuple[str, Sequence[QuestionResult]]],
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
        for metric, each in confidence_intervals.differences(
            ours, theirs, metrics, seed=seed
        ).items()
    ]


def _interval(each: confidence_intervals.Estimate) -> dict[str, Json]:
    conversations = None if each.conversations is None else list(each.conversations)
    return {"questions": list(each.questions), "conversations": conversations}


def _mapping(value: Json) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidInput("the report is damaged: run the evaluation again")
    return value


def _items(value: Json) -> list[tuple[str, Json]]:
    return list(_mapping(value).items())
