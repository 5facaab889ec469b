"""One question through the real `search`, and what came back as one line of results."""

import time
from collections.abc import Mapping, Sequence

from memory_mesh.evaluation.records import Question, Record
from memory_mesh.evaluation.storing import Held, projects
from memory_mesh.evaluation.suite import SESSION
from memory_mesh.fastdataclass import dataclass
from memory_mesh.model import Hit, Hits, Scope
from memory_mesh.policy.scrub import tokens
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import Any

_SHOWN = 10  # answers that `search` gives unasked, and that go into a prompt
_SCOPE = ("project", "agent", "session")
_DECIMALS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one system answered to one question, and what it should have answered.

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


class Names:
    """What the records of a tenant are called in results, and what stands for a memory."""

    def __init__(self, records: Sequence[Record], held: Held | None, unit: str) -> None:
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
        """How many different answers there are."""
        return len(self._sessions) if self._by_session else len(self._first)

    def of(self, record: str) -> str:
        """The name of a record; of a session where sessions are asked for."""
        if self._by_session:
            return self._session.get(record, record)
        return self._first.get(self._memory.get(record, record), record)

    def known(self, name: str) -> bool:
        """Whether there is such a record, or session where sessions are asked for."""
        return name in self._session or (self._by_session and name in self._sessions)

    def of_memory(self, memory: str) -> str:
        """The name of what a memory came from."""
        first = self._first.get(memory, memory)
        return self._session.get(first, first) if self._by_session else first

    def gold(self, question: Question) -> tuple[str, ...]:
        """What answers the question."""
        if self._by_session and question.gold_sessions:
            return question.gold_sessions
        named = tuple(self.of(record) for record in question.gold)
        return tuple(dict.fromkeys(named)) if self._by_session else named

    def stale(self, question: Question) -> tuple[str, ...]:
        """What no longer does; not what was said anew and became the same memory."""
        gold = set(self.gold(question))
        return tuple(name for name in map(self.of, question.stale) if name not in gold)


def ask(mesh: MemoryMesh, question: Question, options: Mapping[str, object], names: Names) -> Row:
    """Ask, and note what came back and when."""
    told = search_options(options, question.scopes)
    hits, spent = timed(mesh, question.text, told)
    best: dict[str, float] = {}
    for hit in hits:
        best.setdefault(names.of_memory(hit.id), round(hit.score, _DECIMALS))
    return Row(
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
    """All answers, and the milliseconds of a search for the first ten: few users ask for more."""
    start = time.perf_counter()
    hits = mesh.search(text, use_cache=False, **{**told, "limit": min(_SHOWN, told["limit"])})
    spent = round(1_000 * (time.perf_counter() - start), 3)
    if told["limit"] > _SHOWN:
        hits = mesh.search(text, use_cache=False, **told)
    return hits, spent


def search_options(options: Mapping[str, object], scopes: Sequence[str] = ()) -> dict[str, Any]:
    """What `search` is told: the options, and the projects that the question is about."""
    told = {name: value for name, value in options.items() if name not in _SCOPE}
    told["scope"] = Scope(*(_text(options.get(part)) for part in _SCOPE))
    named = projects(scopes)
    if len(named) == 1:
        told["scope"] = Scope(named[0], *(_text(options.get(part)) for part in _SCOPE[1:]))
    elif named:  # a reader is in one project; of several, each is asked for by name
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in named)
        either = f"(project IN ({listed}) OR project IS NULL)"
        told["across"] = (*_across(told), "project")
        told["filter"] = f"({told['filter']}) AND {either}" if told.get("filter") else either
    return told


def injected(hits: Sequence[Hit]) -> int:
    """The tokens of the first ten, as an agent would be shown them."""
    return sum(tokens.count(hit.excerpt) for hit in hits[:_SHOWN])


def _across(told: Mapping[str, object]) -> tuple[str, ...]:
    found = told.get("across", ())
    return tuple(found) if isinstance(found, list | tuple) else (str(found),)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
