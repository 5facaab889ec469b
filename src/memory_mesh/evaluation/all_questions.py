"""Every question of a set, put to every system: store, ask, and keep each answer at once.

::

    tenant ── records ──▶ add_many ──▶ a namespace, kept for the next run
       │                                  │
       └── questions ──▶ search ◀─────────┘
                            └──▶ a row in the tenant's file; one that is there is not asked again

Where questions are asked as of a moment, records and questions take turns in a store that is gone
afterwards: what was said later cannot be seen, because it is not there yet.
"""

import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.base.typed import TypeAlias, dataclass
from memory_mesh.evaluation import load_records, results
from memory_mesh.evaluation.one_question import QuestionResult, RecordNames, ask
from memory_mesh.evaluation.records import DataSet, EvaluationQuestion, EvaluationRecord, Fields
from memory_mesh.evaluation.suite import DEPTH, SESSION, Suite
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.ports import Clock, Embedder
from memory_mesh.sync import MemoryMesh

_PASSING = "as-of-"  # how stores are called that last as long as their questions
_MAX_NAMESPACE_CHARS = 60  # characters of a namespace that is called as its tenant

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is going on, how many questions are answered, and of how many."""
Rows: TypeAlias = dict[str, list[QuestionResult]]
"""By system, in the order of the questions."""


@dataclass(frozen=True, slots=True)
class AnswerJob:
    """What is asked of whom, and where it is kept; `key` names data, code and settings."""

    suite: Suite
    systems: Mapping[str, Mapping[str, object]]
    added: Mapping[str, Mapping[str, Fields]]
    folder: Path
    key: str
    embedder: Embedder | None
    progress: Progress


@dataclass(frozen=True, slots=True)
class Answers:
    """The rows of every system, and what became of the records."""

    rows: Rows
    outcomes: Mapping[str, int]


def answer(job: AnswerJob, data: DataSet, questions: Sequence[EvaluationQuestion]) -> Answers:
    """Ask what is not answered yet, tenant by tenant."""
    asked: dict[str, list[EvaluationQuestion]] = {}
    for question in questions:
        asked.setdefault(question.tenant, []).append(question)
    found: dict[str, dict[str, QuestionResult]] = {
        system: {} for system in (*job.systems, *job.added)
    }
    outcomes: dict[str, int] = {}
    _clear_other_stores(job)
    for tenant, records in _every(data, asked):
        done = sum(len(rows) for rows in found.values()) // max(1, len(found))
        part = _Tenant(job, tenant, asked[tenant], records, (done, len(questions)))
        for system, listed in part.rows().items():
            found[system].update({row.id: row for row in listed})
        for name, count in part.outcomes.items():
            outcomes[name] = outcomes.get(name, 0) + count
    rows = {
        system: [by_id[question.id] for question in questions] for system, by_id in found.items()
    }
    return Answers(rows, outcomes)


def steps(
    job: AnswerJob, data: DataSet, questions: Sequence[EvaluationQuestion]
) -> Iterator[tuple[MemoryMesh, EvaluationQuestion, RecordNames]]:
    """Each question with the mesh that holds what it may see, tenant by tenant."""
    asked: dict[str, list[EvaluationQuestion]] = {}
    for question in questions:
        asked.setdefault(question.tenant, []).append(question)
    _clear_other_stores(job)
    for tenant, records in _every(data, asked):
        yield from _Tenant(job, tenant, asked[tenant], records, (0, len(questions))).steps()


class _Tenant:
    """One tenant's records and questions."""

    def __init__(
        self,
        job: AnswerJob,
        tenant: str,
        questions: Sequence[EvaluationQuestion],
        records: Sequence[EvaluationRecord],
        progress: tuple[int, int],
    ) -> None:
        self._job, self._tenant, self._records = job, tenant, records
        self._questions = sorted(questions, key=_moment) if _as_of(questions) else list(questions)
        self._done, self._of = progress
        self._clock = AskedAt()
        self._code = hashlib.sha256(tenant.encode()).hexdigest()[:16]
        self._stores = job.folder / "stores"
        _check(job.suite, tenant, questions, RecordNames(records, None, job.suite.unit))

    @property
    def outcomes(self) -> Mapping[str, int]:
        """What became of the records; nothing where an as-of run did not come to its end."""
        held = load_records.read(self._note)
        return {} if held is None else held.outcomes

    def rows(self) -> Rows:
        """Every system's answers, from the files of an earlier run where they are there."""
        files = {name: self._file(name) for name in self._job.systems}
        kept = {name: results.kept(file) for name, file in files.items()}
        waiting = {
            name: [question for question in self._questions if question.id not in kept[name]]
            for name in files
        }
        if any(waiting.values()):
            with ExitStack() as stack:
                opened = {
                    name: stack.enter_context(file.open("a", encoding="utf-8"))
                    for name, file in files.items()
                }
                for name, row in self._asked(waiting):
                    results.add(opened[name], row)
                    kept[name][row.id] = row
        rows = {
            name: [found[question.id] for question in self._questions]
            for name, found in kept.items()
        }
        return rows | {name: list(self._added(name)) for name in self._job.added}

    def _asked(
        self, waiting: Mapping[str, Sequence[EvaluationQuestion]]
    ) -> Iterator[tuple[str, QuestionResult]]:
        lacking = {name: {item.id for item in listed} for name, listed in waiting.items()}
        warm = False
        for mesh, question, names in self.steps():
            for name, options in self._job.systems.items():
                if question.id in lacking[name]:
                    if not warm:  # the first question of a process also opens files
                        ask(mesh, question, options, names)
                        warm = True
                    yield name, ask(mesh, question, options, names)
            self._done += 1
            self._job.progress(f"asking {self._tenant}", self._done, self._of)

    def steps(self) -> Iterator[tuple[MemoryMesh, EvaluationQuestion, RecordNames]]:
        """Each question with the mesh that holds what it may see, at the time it was asked."""
        held = self._interleaved() if _as_of(self._questions) else self._stored()
        for mesh, question, names in held:
            self._clock.moment = question.asked_at
            yield mesh, question, names
            self._clock.moment = None

    def _stored(self) -> Iterator[tuple[MemoryMesh, EvaluationQuestion, RecordNames]]:
        folder = self._stores / self._code
        held = load_records.read(self._note)
        if held is None:  # what an interrupted run stored is stored anew: its receipts are gone
            shutil.rmtree(folder, ignore_errors=True)
        with self._mesh(folder) as mesh:
            if held is None:
                held = self._store(mesh, self._records)
                load_records.write(self._note, held)
            names = RecordNames(self._records, held, self._job.suite.unit)
            for question in self._questions:
                yield mesh, question, names

    def _interleaved(self) -> Iterator[tuple[MemoryMesh, EvaluationQuestion, RecordNames]]:
        held, stored = load_records.StoredRecords({}, {}), 0
        ordered = _ordered(self._records)
        with (
            tempfile.TemporaryDirectory(prefix=_PASSING, dir=self._job.folder) as folder,
            self._mesh(Path(folder)) as mesh,
        ):
            for question in self._questions:
                seen = _seen(ordered, question)
                held = load_records.joined(held, self._store(mesh, ordered[stored:seen]))
                stored = max(stored, seen)
                yield mesh, question, RecordNames(ordered[:seen], held, self._job.suite.unit)
        load_records.write(self._note, load_records.StoredRecords({}, held.outcomes))

    def _store(
        self, mesh: MemoryMesh, records: Sequence[EvaluationRecord]
    ) -> load_records.StoredRecords:
        def tell(_: int) -> None:
            self._job.progress(f"storing {self._tenant}", self._done, self._of)

        return load_records.store(mesh, records, tell)

    def _added(self, system: str) -> Iterator[QuestionResult]:
        """Another system's rankings; it saw the same records, each as itself."""
        ranked, ordered = self._job.added[system], _ordered(self._records)
        unit = self._job.suite.unit
        for question in self._questions:
            if question.id not in ranked:
                raise InvalidInput(f"{system} has no ranking for the question {question.id!r}")
            names = RecordNames(ordered[: _seen(ordered, question)], None, unit)
            yield results.added(ranked[question.id], question, names, DEPTH)

    @property
    def _namespace(self) -> str:
        tenant = self._tenant
        fits = 0 < len(tenant) <= _MAX_NAMESPACE_CHARS and tenant.isprintable() and tenant.isascii()
        return tenant if fits else self._code

    @property
    def _note(self) -> Path:
        kind = "as-of" if _as_of(self._questions) else "stored"
        return self._stores / f"{self._code}.{kind}.json"

    def _file(self, system: str) -> Path:
        job = self._job
        key = results.digest([job.key, job.suite.unit, sorted(job.systems[system].items())])
        folder = job.folder / "results" / f"{system}-{key}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._code}.jsonl"

    @contextmanager
    def _mesh(self, folder: Path) -> Iterator[MemoryMesh]:
        with opened_mesh(folder, self._namespace, self._job.embedder, self._clock) as mesh:
            yield mesh


class AskedAt:
    """The time of day, or the moment at which a question of the set was asked."""

    def __init__(self) -> None:
        self.moment: datetime | None = None

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()

    def now(self) -> datetime:
        """The moment, where one is set."""
        return self.moment or datetime.now(UTC)


def opened_mesh(
    folder: Path, namespace: str, embedder: Embedder | None, clock: Clock | None = None
) -> MemoryMesh:
    """A mesh that leaves no recall blocks and is in no project or session of its own."""
    return MemoryMesh(
        clock=clock,
        db_dir=folder,
        namespace=namespace,
        project="",
        session="",
        settings={"session_days": 0},
        skill_directories=(),
        enable_yamo=False,
        enable_llm=False,
        embedder="none" if embedder is None else None,
        custom_embedder=embedder,
    )


def _every(
    data: DataSet, asked: Mapping[str, Sequence[EvaluationQuestion]]
) -> Iterator[tuple[str, list[EvaluationRecord]]]:
    """The records of each tenant that is asked; one without any is asked all the same."""
    seen = set()
    for tenant, records in data.tenants(asked.keys()):
        seen.add(tenant)
        yield tenant, records
    yield from ((tenant, []) for tenant in asked if tenant not in seen)


def _check(
    suite: Suite, tenant: str, questions: Sequence[EvaluationQuestion], names: RecordNames
) -> None:
    """Refuse what would give a figure that means nothing."""
    for question in questions:
        wanted = question.gold_sessions if suite.unit == SESSION else question.gold
        for name in (*(wanted or question.gold), *question.stale):
            if not names.known(name):
                raise InvalidInput(
                    f"the question {question.id!r}: {name!r} is no {suite.unit} of {tenant}"
                )
    if names.pool <= max(suite.ks) and any(map(names.gold, questions)):
        raise InvalidInput(
            f"{tenant} has {names.pool} {suite.unit}s: with k = {max(suite.ks)} everything would "
            "be found. State a smaller k in the suite"
        )


def _clear_other_stores(job: AnswerJob) -> None:
    """Stores of other data or code are of no more use, nor what a killed run left behind."""
    for left in job.folder.glob(f"{_PASSING}*"):
        shutil.rmtree(left, ignore_errors=True)
    folder = job.folder / "stores"
    mark = folder / "key"
    if folder.is_dir() and (not mark.is_file() or mark.read_text(encoding="utf-8") != job.key):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(job.key, encoding="utf-8")


def _as_of(questions: Sequence[EvaluationQuestion]) -> bool:
    return any(question.as_of_order is not None for question in questions)


def _moment(question: EvaluationQuestion) -> tuple[bool, int]:
    """Questions as of no moment come last, when everything is there."""
    order = question.as_of_order
    return (order is None, order or 0)


def _ordered(records: Sequence[EvaluationRecord]) -> list[EvaluationRecord]:
    """In the order they were said; one without a number stands where the file has it."""
    placed = sorted(enumerate(records), key=lambda pair: _order(pair[1], pair[0]))
    return [record for _, record in placed]


def _order(record: EvaluationRecord, place: int) -> int:
    return place if record.order is None else record.order


def _seen(ordered: Sequence[EvaluationRecord], question: EvaluationQuestion) -> int:
    """How many of the records were there when the question was asked."""
    until = question.as_of_order
    if until is None:
        return len(ordered)
    return sum(_order(record, place) < until for place, record in enumerate(ordered))
