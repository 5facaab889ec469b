"""Asks one question with the public `search` and records the result as one row."""

import time
from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import Any, dataclass
from memory_mesh.evaluation.load_records import StoredRecords, projects
from memory_mesh.evaluation.records import EvaluationQuestion, EvaluationRecord
from memory_mesh.evaluation.suite import SESSION
from memory_mesh.model import Hit, Hits, Scope
from memory_mesh.rules.filter_fields import canonical
from memory_mesh.rules.filters import parse
from memory_mesh.sync import MemoryMesh
from memory_mesh.text.scrub import tokens

_SHOWN = 10  # answers that `search` gives unasked, and that go into a prompt
_SCOPE = ("project", "agent", "session")
_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionResult:
    """The result of one system for one question, and the expected result.

    Records that became one memory are called by the first of them, in gold and stale too.
    """

    id: str
    tenant: str
    category: str
    gold: tuple[str, ...]
    ranked: tuple[str, ...]
    scores: tuple[float, ...] = ()
    stale: tuple[str, ...] = ()
    pool: int  # what could have been found
    limit: int  # how many were asked for
    ms: float | None = None
    tokens: int | None = None


class RecordNames:
    """Maps the records of a tenant to their names in results."""

    def __init__(
        self, records: Sequence[EvaluationRecord], held: StoredRecords | None, unit: str
    ) -> None:
        memories = held.memories if held is not None else {}
        self._by_session = unit == SESSION
        self._session = {record.id: record.session or record.id for record in records}
        self._sessions = set(self._session.values())
        self._first: dict[str, str] = {}
        for record in records:
            self._first.setdefault(memories.get(record.id, record.id), record.id)
        self._memory = memories

    @property
    def pool(self) -> int:
        """The number of different names."""
        return len(self._sessions) if self._by_session else len(self._first)

    def of(self, record: str) -> str:
        """Returns the name of a record, or of its session if the unit is session."""
        if self._by_session:
            return self._session.get(record, record)
        return self._first.get(self._memory.get(record, record), record)

    def known(self, name: str) -> bool:
        """True if the record, or the session if the unit is session, exists."""
        return name in self._session or (self._by_session and name in self._sessions)

    def of_memory(self, memory: str) -> str:
        """Returns the name of a memory's record."""
        first = self._first.get(memory, memory)
        return self._session.get(first, first) if self._by_session else first

    def gold(self, question: EvaluationQuestion) -> tuple[str, ...]:
        """Returns the gold names of the question."""
        if self._by_session and question.gold_sessions:
            return question.gold_sessions
        named = tuple(self.of(record) for record in question.gold)
        return tuple(dict.fromkeys(named)) if self._by_session else named

    def stale(self, question: EvaluationQuestion) -> tuple[str, ...]:
        """Returns the stale names, without those merged into a gold memory."""
        gold = set(self.gold(question))
        return tuple(name for name in map(self.of, question.stale) if name not in gold)


def ask(
    mesh: MemoryMesh,
    question: EvaluationQuestion,
    options: Mapping[str, object],
    names: RecordNames,
) -> QuestionResult:
    """Asks the question and returns the row."""
    told = search_options(options, question.scopes)
    hits, spent = timed(mesh, question.text, told)
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(names.of_memory(hit.id), round(hit.score, _DECIMALS))
    return QuestionResult(
        id=question.id,
        tenant=question.tenant,
        category=question.category,
        gold=names.gold(question),
        stale=names.stale(question),
        ranked=tuple(best),
        scores=tuple(best.values()),
        pool=names.pool,
        limit=told["limit"],
        ms=spent,
        tokens=injected(hits),
    )


def timed(mesh: MemoryMesh, text: str, told: Mapping[str, Any]) -> tuple[Hits, float]:
    """Returns all hits, and the milliseconds of a search for ten."""
    start = time.perf_counter()
    hits = mesh.search(text, use_cache=False, **{**told, "limit": min(_SHOWN, told["limit"])})
    spent = round(1_000 * (time.perf_counter() - start), 3)
    if told["limit"] > _SHOWN:
        hits = mesh.search(text, use_cache=False, **told)
    return hits, spent


def search_options(options: Mapping[str, object], scopes: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the arguments of `search`: the options and the question's projects."""
    told = {name: value for name, value in options.items() if name not in _SCOPE}
    told["scope"] = Scope(*(_text(options.get(part)) for part in _SCOPE))
    named = projects(scopes)
    if len(named) == 1:
        told["scope"] = Scope(named[0], *(_text(options.get(part)) for part in _SCOPE[1:]))
    elif named:  # a reader is in one project; of several, each is asked for by name
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in named)
        either = f"(project IN ({listed}) OR project IS NULL)"
        told["across"] = (*_across(told), "project")
        given = canonical(parse(told["filter"])) if told.get("filter") else None
        told["filter"] = f"({given}) AND {either}" if given else either
    return told


def injected(hits: Sequence[Hit]) -> int:
    """Returns the tokens of the first ten hits in a prompt."""
    return sum(tokens.count(hit.excerpt) for hit in hits[:_SHOWN])


def _across(told: Mapping[str, object]) -> tuple[str, ...]:
    found = told.get("across", ())
    return tuple(found) if isinstance(found, list | tuple) else (str(found),)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
