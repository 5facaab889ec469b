"""Records of reads that wait for a transaction: searches, uses, and what entered a prompt."""

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

from memory_mesh.base.typed import Self, dataclass
from memory_mesh.ledgers.shared import commit, named_values, rows
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.model import Entry, Lens, MayBeStored, Scope
from memory_mesh.model.pack import Injected, Injection
from memory_mesh.platform import telemetry
from memory_mesh.rules.audience import AUDIENCE, read_by

_INJECTION = (
    "i.number, i.id, i.at, i.project, i.agent, i.session, i.question, i.format, i.fence, "
    "i.tokens, i.max_tokens, i.by_agent"
)
_FENCED = 1_000  # prompts with the same fence word that are looked at
_INJECTED = "m.id, d.recorded, d.section, d.tokens, d.score"

FULL = 64  # records after which they are written
LOCKED = "a namespace was locked for too long. Look for a stopped process."
MOST = 1_000  # records of a namespace that wait in a process; above that the oldest go
PRUNED_AT_ONCE = 128  # old recall blocks that one write deletes: more than it brings


@dataclass(frozen=True, slots=True)
class Noted:
    """One record: of a search, of an injection, or of memories that were used."""

    entry: Entry | None = None
    injection: "Injection | None" = None
    used: tuple[str, ...] = ()
    at: datetime | None = None  # of the use


class BufferedReads:
    """What a transaction takes from the buffer, once it has begun; it waits again if that fails."""

    def __init__(self, buffer: "NotedBuffer", namespace: str) -> None:
        self._buffer, self._namespace = buffer, namespace
        self.noted: list[Noted] = []

    def __enter__(self) -> Self:
        """Takes nothing yet."""
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        """Gives back what a failed transaction took, but nothing that may be written already."""
        if failure is not None and not issubclass(failure, MayBeStored):
            self._buffer.wait_again(self._namespace, self.noted)

    def all(self) -> list[Noted]:
        """Takes all that waits."""
        self.noted += self._buffer.drained(self._namespace)
        return self.noted


class NotedBuffer:
    """Records that wait for the next transaction; what a failed one took comes back."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: dict[str, list[Noted]] = {}
        self._added = 0
        self.dropped: int = 0

    def add(self, namespace: str, noted: Noted) -> bool:
        """Keep the record; True for every 64th, when it is time to write."""
        with self._mutex:
            waiting = self._waiting.setdefault(namespace, [])
            waiting.append(noted)
            self._added += 1
            self._cut(waiting)
            return len(waiting) == FULL or (len(waiting) > FULL and self._added % FULL == 0)

    def taken(self, namespace: str) -> BufferedReads:
        """What waits, to be written now."""
        return BufferedReads(self, namespace)

    def wait_again(self, namespace: str, noted: Sequence[Noted]) -> None:
        """Keeps records that were taken and not written, before those that came meanwhile."""
        if noted:
            with self._mutex:
                waiting = [*noted, *self._waiting.get(namespace, [])]
                self._cut(waiting)
                self._waiting[namespace] = waiting

    def drained(self, namespace: str) -> list[Noted]:
        """All that waits; it waits no longer."""
        with self._mutex:
            return self._waiting.pop(namespace, [])

    def holds(self, namespace: str) -> bool:
        """Whether anything waits."""
        with self._mutex:
            return bool(self._waiting.get(namespace))

    def namespaces(self) -> list[str]:
        """Those for which something waits."""
        with self._mutex:
            return [name for name, noted in self._waiting.items() if noted]

    def after_fork(self) -> None:
        """A child leaves its parent's records to the parent."""
        self._mutex = threading.Lock()
        self._waiting = {}

    def _cut(self, waiting: list[Noted]) -> None:
        """Forgets the oldest beyond what may wait."""
        if (many := len(waiting) - MOST) > 0:
            del waiting[:many]
            tell_lost(many)
            self.dropped += many


def tell_lost(many: int, why: str = LOCKED) -> None:
    """Warns that records of reads are lost; the memories are not touched by it."""
    telemetry.warn_once(
        "records of reads",
        f"records of searches and uses are lost, because {why} The memories are not touched by it.",
    )
    telemetry.debug("records of reads were dropped", records=many)


def uses(noted: Sequence[Noted]) -> list[tuple[datetime, str]]:
    """When each memory was used, in order."""
    return [(one.at, id_) for one in noted if one.at is not None for id_ in one.used]


# What entered which prompt: write the records, count the use, and read them.


def record(db: Database, noted: Sequence[Noted], now: datetime, recall_days: int) -> None:
    """Counts uses, writes recall blocks and injections, and deletes a few that are too old."""
    if not noted:
        return
    since = rows.since_epoch(_erased(db))  # an earlier question may quote what was erased then
    entries = [one.entry for one in noted if one.entry is not None and one.entry.at > since]
    injections = [
        one.injection for one in noted if one.injection is not None and one.injection.at > since
    ]
    commit.USED.run(db, [(rows.micros(at), id_) for at, id_ in uses(noted)])
    commit.record_recalls(db, entries)
    for injection in injections:
        _record_injection(db, injection)
    if (entries or injections) and recall_days:
        commit.prune_recalls(db, now - timedelta(days=recall_days), PRUNED_AT_ONCE)


def looks(db: Database, noted: Sequence[Noted]) -> None:
    """Looks up what `record` needs to know."""
    if noted:
        ids = [one.entry.id for one in noted if one.entry is not None]
        engine_of(db).expect(db, partial(_erased, db), partial(commit.taken_recalls, db, ids))


def _erased(db: Database) -> int:
    """When something was last erased."""
    return int(named_values.by_name(db, [named_values.ERASED]).get(named_values.ERASED, "0"))


def _record_injection(db: Database, injection: Injection) -> None:
    """Writes one injection with its memories, and counts one use of each memory."""
    written = db.execute(
        "INSERT INTO injection (id, at, by_agent, project, agent, session, question, format, "
        "fence, tokens, max_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO NOTHING",
        (
            injection.id,
            rows.micros(injection.at),
            injection.agent,
            injection.reader.project,
            injection.reader.agent,
            injection.reader.session,
            injection.question,
            injection.format,
            injection.fence,
            injection.tokens,
            injection.max_tokens,
        ),
    )
    if written.rowcount:
        _record_memories(db, written.lastrowid or 0, injection)


def _record_memories(db: Database, number: int, injection: Injection) -> None:
    """Writes the memories of one injection; one that was erased meanwhile is left out."""
    db.executemany(
        "INSERT INTO injected SELECT ?, ?, number, ?, ?, ?, ? FROM memory WHERE id = ?",
        [
            (
                number,
                place,
                rows.micros(one.recorded),
                one.section,
                one.tokens,
                one.score,
                one.memory,
            )
            for place, one in enumerate(injection.memories, start=1)
        ],
    )
    stamp = rows.micros(injection.at)
    commit.USED.run(db, [(stamp, one.memory) for one in injection.memories])


def by_id(db: Database, injection_id: str) -> Injection | None:
    """One injection with its memories in their order."""
    row = db.execute(
        f"SELECT {_INJECTION} FROM injection i WHERE i.id = ?",  # noqa: S608  # own names
        (injection_id,),
    ).fetchone()
    if row is None:
        return None
    found = db.execute(
        f"SELECT {_INJECTED} FROM injected d JOIN memory m ON m.number = d.memory "  # noqa: S608
        "WHERE d.injection = ? ORDER BY d.place",
        (row[0],),
    )
    return _injection(row, [_injected(each) for each in found])


def by_fence(db: Database, word: str) -> list[Injection]:
    """The latest injections whose text had this fence word, newest first."""
    found = db.execute(
        "SELECT id FROM injection WHERE fence = ? ORDER BY number DESC LIMIT ?", (word, _FENCED)
    ).fetchall()
    return [one for (id_,) in found if (one := by_id(db, id_)) is not None]


def latest(db: Database, lens: Lens, limit: int, before: str | None) -> list[Injection]:
    """The latest injections for the readers that a lens belongs to, newest first."""
    tests, values = ["TRUE"], list[object]()
    for part in AUDIENCE:
        if part not in lens.across:
            held = f"i.{part} IN (SELECT value FROM json_each(?))"  # noqa: S608  # own names
            tests.append(f"(i.{part} IS NULL OR {held})")
            values.append(rows.dumped([each for each in read_by(lens.scope, part) if each]))
    if before is not None:
        tests.append("i.number < (SELECT number FROM injection WHERE id = ?)")
        values.append(before)
    listed = db.execute(
        f"SELECT {_INJECTION} FROM injection i WHERE {' AND '.join(tests)} "  # noqa: S608
        "ORDER BY i.number DESC LIMIT ?",
        [*values, limit],
    ).fetchall()
    found = db.execute(
        f"SELECT d.injection, {_INJECTED} FROM injected d JOIN memory m "  # noqa: S608
        "ON m.number = d.memory WHERE d.injection IN (SELECT value FROM json_each(?)) "
        "ORDER BY d.injection, d.place",
        (rows.dumped([row[0] for row in listed]),),
    )
    entered: dict[int, list[Injected]] = {row[0]: [] for row in listed}
    for number, *row in found:
        entered[number].append(_injected(row))
    return [_injection(row, entered[row[0]]) for row in listed]


def of_memory(db: Database, memory_id: str, limit: int) -> list[Injection]:
    """The latest injections of a memory, newest first, each with this memory alone."""
    found = db.execute(
        f"SELECT {_INJECTION}, {_INJECTED} FROM injected d JOIN memory m "  # noqa: S608
        "ON m.number = d.memory JOIN injection i ON i.number = d.injection "
        "WHERE m.id = ? ORDER BY d.injection DESC LIMIT ?",
        (memory_id, limit),
    )
    return [_injection(row[:12], [_injected(row[12:])]) for row in found]


def _injection(row: rows.Row, memories: Sequence[Injected]) -> Injection:
    (_, id_, at, project, agent, session, question, format_, fence, tokens, max_tokens,
     by_agent) = row  # fmt: skip
    return Injection(
        id=id_,
        at=rows.since_epoch(at),
        reader=Scope(project, agent, session),
        question=question,
        format=format_,
        fence=fence,
        tokens=tokens,
        max_tokens=max_tokens,
        memories=tuple(memories),
        agent=by_agent,
    )


def _injected(row: rows.Row) -> Injected:
    memory, recorded, section, tokens, score = row
    return Injected(memory, rows.since_epoch(recorded), section, tokens, score)
