"""The questions that failed: what was expected, at which rank it came, and what came first."""

from collections.abc import Iterator, Mapping, Sequence

from memory_mesh.evaluation import metrics
from memory_mesh.evaluation.asking import Row
from memory_mesh.evaluation.records import DataSet
from memory_mesh.evaluation.suite import NEWEST, SESSION, Suite
from memory_mesh.fastdataclass import dataclass, field
from memory_mesh.model import Json
from memory_mesh.typed import TypeAlias

_TEXT_CHARS = 500  # of a text in a report

Texts: TypeAlias = Mapping[tuple[str, str], str]
"""The text of a memory or record, by tenant and name."""


@dataclass(frozen=True, slots=True)
class Words:
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
class Failure:
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


def failed(row: Row, suite: Suite) -> bool:
    """True if the question costs something of the main figure, or found what it should not."""
    if not row.gold:
        return bool(_above(row, suite)) and _silence_matters(suite)
    part = metrics.value(row, measured_by(suite))
    return part is not None and part < 1


def measured_by(suite: Suite) -> str:
    """Returns the figure that decides whether a question failed: the main one, if it is a mean."""
    return suite.counts if suite.counts in metrics.metrics(suite) else f"R@{suite.cut}"


def depth(suite: Suite) -> int:
    """Returns how many hits count."""
    name, _, k = measured_by(suite).partition("@")
    return int(k) if k else 1 if name == "MRR" else suite.cut


def describe(suite: Suite, rows: Sequence[Row], words: Words) -> tuple[Failure, ...]:
    """Returns the rows that failed, in the order of the questions."""
    return tuple(_failure(suite, row, words) for row in rows if failed(row, suite))


def words_of(suite: Suite, rows: Sequence[Row], data: DataSet) -> Words:
    """Returns the texts of a data set that its failed rows need."""
    lost = [row for row in rows if failed(row, suite)]
    ids = {row.id for row in lost}
    questions = {each.id: each.text for each in data.questions if each.id in ids}
    if suite.unit == SESSION or not lost:
        return Words(questions)
    wanted: dict[str, set[str]] = {}
    for row in lost:
        wanted.setdefault(row.tenant, set()).update((*row.gold, *row.stale, *row.ranked[:1]))
    texts = {
        (tenant, record.id): record.text
        for tenant, records in data.tenants(wanted.keys())
        for record in records
        if record.id in wanted[tenant]
    }
    return Words(questions, texts)


def _failure(suite: Suite, row: Row, words: Words) -> Failure:
    ranks = {name: place for place, name in reversed(list(enumerate(row.ranked, start=1)))}
    k = depth(suite)
    missed = [name for name in row.gold if ranks.get(name, k + 1) > k] or list(row.gold)
    shown = _above(row, suite)
    return Failure(
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
    suite: Suite, row: Row, ranks: Mapping[str, int], missed: Sequence[str]
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


def _above(row: Row, suite: Suite) -> list[tuple[str, float]]:
    """The hits with their scores; of a question without an answer, those above the threshold."""
    least = suite.min_relevance if not row.gold else None
    pairs = zip(row.ranked, metrics.scored(row), strict=True)
    return [pair for pair in pairs if least is None or pair[1] >= least]


def _silence_matters(suite: Suite) -> bool:
    return suite.store is not None or suite.min_relevance is not None


def _text(words: Words, row: Row, name: str) -> str:
    text = " ".join(words.texts.get((row.tenant, name), "").split())
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]} …"
