"""How memories came to be as they are: blocks, reasons, observations, injections.

And records of reads that wait for a transaction: searches, uses, and what entered a prompt.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial

from memory_mesh.base.typed import Any, Self, dataclass
from memory_mesh.ledgers.shared import commit, named_values, rows, vectors
from memory_mesh.ledgers.shared.engine import Database, engine_of
from memory_mesh.ledgers.shared.visibility import audience, predicate
from memory_mesh.model import (
    Block,
    Body,
    Cursor,
    Entry,
    Lens,
    MayBeStored,
    Observed,
    Outcome,
    Scope,
    Space,
    Status,
)
from memory_mesh.model.job import ATTEMPTS
from memory_mesh.model.pack import Injected, Injection
from memory_mesh.model.ports import Clock
from memory_mesh.platform import telemetry
from memory_mesh.rules.trust import AUDIENCE, read_by

_RECALL = "id, 'recall', agent, at, memories, wire, metadata"
_BY = "json_extract(metadata, '$.by')"  # of a record of a search: project, session, agent
_FIRST = "json_extract(b.memories, '$[0]')"  # what a block is about


class SqlTrail:
    """Implements `ports.Trail` and `ports.PromptRecords`."""

    _db: Database

    def block(self, block_id: str) -> Block | None:
        """A block of the chain, or the record of a recall, by its id."""
        row = self._db.execute(
            f"SELECT {rows.BLOCK} FROM block WHERE id = ?",  # noqa: S608  # own names
            (block_id,),
        ).fetchone()
        if row is not None:
            return rows.block(row)
        row = self._db.execute(
            f"SELECT {_RECALL} FROM recall WHERE id = ?",  # noqa: S608  # own names
            (block_id,),
        ).fetchone()
        return None if row is None else Block(rows.entry(row))

    def blocks_for(self, lens: Lens, after_seq: int, limit: int) -> list[Block]:
        """Blocks of the next commits about what the lens sees, now and when they were written.

        Those about no memory (a skill, a predicate, a refusal) are among them. A commit's blocks
        are never split. Each block that is passed over costs one look into an index.
        """
        first = self._db.execute(
            "SELECT position FROM block WHERE seq > ? ORDER BY seq LIMIT 1", (after_seq,)
        ).fetchone()
        if first is None:
            return []
        now, values = predicate(lens)
        then, more = audience(lens, "w")
        passing = self._db.execute(
            f"SELECT {rows.BLOCK} FROM block b WHERE position >= ? AND coalesce("  # noqa: S608
            f"(SELECT coalesce(({now}) AND (SELECT {then} FROM version w WHERE w.memory = m.number "
            "AND w.seq <= b.seq ORDER BY w.number DESC LIMIT 1), FALSE) FROM memory m "
            "JOIN version v ON v.memory = m.number AND v.recorded_until IS NULL "
            f"WHERE m.id = {_FIRST}), TRUE) ORDER BY position",
            [first[0], *values, *more],
        )
        found: list[Block] = []
        for row in passing:
            block = rows.block(row)
            if len(found) >= limit and block.seq != found[-1].seq:
                break
            found.append(block)
        return found

    def recalls_by(self, reader: Scope, limit: int) -> list[Block]:
        """The latest records of searches by a reader, or by one that sees less, newest first."""
        own = [_ended(parts) for parts in _wider(reader, None)]
        named = [_ended(parts) for parts in _wider(reader, reader.agent)]
        found = self._db.execute(
            f"SELECT {_RECALL} FROM recall WHERE agent = ? AND {_BY} "  # noqa: S608  # own names
            f"IN (SELECT value FROM json_each(?)) OR {_BY} IN (SELECT value FROM json_each(?)) "
            "ORDER BY number DESC LIMIT ?",
            (reader.agent, rows.dumped(own), rows.dumped(named), limit),
        )
        return [Block(rows.entry(row)) for row in found]

    def blocks_about(self, memory_id: str, limit: int) -> list[Block]:
        """The newest chained blocks whose first memory it is, oldest first."""
        alone = rows.dumped([memory_id])
        first = f"{alone[:-1]},"
        found = self._db.execute(
            f"SELECT {rows.BLOCK} FROM block WHERE memories = ?1 "  # noqa: S608  # own names
            f"UNION ALL SELECT {rows.BLOCK} FROM block WHERE memories >= ?2 AND memories < ?3 "
            "ORDER BY position DESC LIMIT ?4",
            (alone, first, f"{first[:-1]}-", limit),
        ).fetchall()
        return [rows.block(row) for row in reversed(found)]

    def reasons(self, memory_id: str) -> dict[datetime, tuple[str, ...]]:
        """The reasons of each version of a memory, by the time it was recorded."""
        found = self._db.execute(
            "SELECT v.recorded_from, v.reasons FROM version v JOIN memory m "
            "ON m.number = v.memory WHERE m.id = ? ORDER BY v.number",
            (memory_id,),
        )
        return {rows.since_epoch(at): tuple(json.loads(said)) for at, said in found}

    def observations(self, memory_id: str, limit: int) -> "list[Observed]":
        """The latest writes that ended in a memory, oldest first."""
        found = self._db.execute(
            "SELECT o.at, o.outcome, o.origin, o.reasons FROM observation o JOIN memory m "
            "ON m.number = o.memory WHERE m.id = ? ORDER BY o.number DESC LIMIT ?",
            (memory_id, limit),
        ).fetchall()
        return [
            Observed(rows.since_epoch(at), Outcome(outcome), origin, tuple(json.loads(said)))
            for at, outcome, origin, said in reversed(found)
        ]

    def keyed(self, beginning: str) -> list[tuple[str, str, Status]]:
        """The memories with an idempotency key that begins so, under all their keys."""
        found = self._db.execute(
            "SELECT o.key, m.id, m.status FROM observation o JOIN memory m ON m.number = o.memory "
            "WHERE o.key IS NOT NULL AND o.memory IN "
            "(SELECT memory FROM observation WHERE key >= ? AND key < ?) ORDER BY o.number",
            (beginning, f"{beginning}\U0010ffff"),
        )
        return [(key, id_, Status(status)) for key, id_, status in found]

    def injection(self, injection_id: str) -> "Injection | None":
        """What entered one prompt."""
        return by_id(self._db, injection_id)

    def injections_fenced(self, word: str) -> "list[Injection]":
        """What entered the prompts with this fence word, the newest first."""
        return by_fence(self._db, word)

    def latest_injections(self, lens: Lens, limit: int, before: str | None) -> "list[Injection]":
        """What entered the latest prompts that a lens belongs to, before one of them."""
        return latest(self._db, lens, limit, before)

    def injections(self, memory_id: str, limit: int) -> "list[Injection]":
        """The latest prompts that a memory entered, newest first, without the other memories."""
        return of_memory(self._db, memory_id, limit)


def _wider(reader: Scope, agent: str | None) -> Iterator[list[str | None]]:
    """The readers that see no more than one, as their records name them."""
    for one in {None, reader.project, *reader.names}:
        yield from ([one, other, agent] for other in {None, reader.session})


def _ended(parts: list[str | None]) -> str:
    """The parts as JSON, without what is not given at the end."""
    while parts and parts[-1] is None:
        parts.pop()
    return rows.dumped(parts)


# The record of what was written and recalled, and how far sinks and indexes have read it.


def blocks(db: Database, after_seq: int, limit: int, since: datetime | None) -> list[Block]:
    """Chained blocks of the next commits, whole commits only, oldest first."""
    after = after_seq if since is None else max(after_seq, rows.seq_before(db, since))
    first = db.execute(
        "SELECT position FROM block WHERE seq > ? ORDER BY seq LIMIT 1", (after,)
    ).fetchone()
    if first is None:
        return []
    start = first[0]  # or every block before it would be read: they are in this order
    found = db.execute(
        f"SELECT {rows.BLOCK} FROM block WHERE position >= ?1 AND position <= coalesce("  # noqa: S608
        "(SELECT max(position) FROM block WHERE seq = (SELECT seq FROM block "
        "WHERE position >= ?1 ORDER BY position LIMIT 1 OFFSET ?2)), ?3) ORDER BY position",
        (start, limit - 1, 2**62),
    )
    return [rows.block(row) for row in found]


def recalls(db: Database, limit: int) -> list[Block]:
    """The latest recall blocks, newest first."""
    found = db.execute(
        "SELECT id, 'recall', agent, at, memories, wire, metadata FROM recall "
        "ORDER BY number DESC LIMIT ?",
        (limit,),
    )
    return [Block(rows.entry(row)) for row in found]


def sink_moved(db: Database, sink: str, seq: int, failure: str | None, at: datetime) -> None:
    """Move a sink's cursor; with a failure, count it, and after the last give the commit up.

    A commit that was given up is dead: it stays so with another failure, and ends when it arrives.
    """
    again = (rows.micros(at), failure or "", sink, seq)
    if db.execute(
        "UPDATE dead_letter SET at = ?, failure = ? WHERE sink = ? AND seq = ?", again
    ).rowcount:
        if failure is None:
            db.execute("DELETE FROM dead_letter WHERE sink = ? AND seq = ?", (sink, seq))
        return
    db.execute("INSERT OR IGNORE INTO sink VALUES (?, 0, 0, NULL)", (sink,))
    if failure is not None:
        db.execute(
            "UPDATE sink SET attempts = attempts + 1, at = ? WHERE name = ?",
            (rows.micros(at), sink),
        )
        db.execute(
            "INSERT OR IGNORE INTO dead_letter SELECT name, ?, ?, ? FROM sink "
            "WHERE name = ? AND attempts >= ?",
            (seq, rows.micros(at), failure, sink, ATTEMPTS),
        )
    db.execute(
        "UPDATE sink SET seq = max(seq, ?), attempts = 0, at = ? WHERE name = ? AND attempts >= ?",
        (seq, rows.micros(at), sink, 0 if failure is None else ATTEMPTS),
    )


class SqlRecords:
    """Implements what both ledgers have alike of `ports.Audit`, `SinkCursors` and `VectorFeed`."""

    _clock: Clock

    def _reading(self, namespace: str) -> AbstractContextManager[Database]:
        """One read transaction; a namespace that does not exist reads as empty."""
        raise NotImplementedError

    def _writing(self, namespace: str) -> AbstractContextManager[Any]:
        """The lock, then one write transaction."""
        raise NotImplementedError

    def _exists(self, namespace: str) -> bool:
        """Whether there is such a namespace."""
        raise NotImplementedError

    def blocks(
        self, namespace: str, after_seq: int, limit: int, since: datetime | None = None
    ) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""
        with self._reading(namespace) as db:
            return blocks(db, after_seq, limit, since)

    def recalls(self, namespace: str, limit: int) -> list[Block]:
        """The latest recall blocks, newest first."""
        with self._reading(namespace) as db:
            return recalls(db, limit)

    def prune_recalls(self, namespace: str, before: datetime, limit: int) -> int:
        """Delete the oldest recall blocks from before a moment, at most `limit`; how many."""
        if not self._exists(namespace):
            return 0
        with self._writing(namespace) as db:
            return sum(each.rowcount for each in commit.prune_recalls(db, before, limit))

    def sink_cursors(self, namespace: str) -> dict[str, Cursor]:
        """How far each sink has come, by its name."""
        with self._reading(namespace) as db:
            found = db.execute("SELECT name, seq, attempts, at FROM sink ORDER BY name").fetchall()
        return {name: Cursor(seq, attempts, rows.moment(at)) for name, seq, attempts, at in found}

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after the last give the commit up."""
        with self._writing(namespace) as db:
            sink_moved(db, sink, seq, failure, self._clock.now())

    def dead_letters(self, namespace: str) -> list[tuple[str, int, str]]:
        """What sinks never took, oldest first: sink, commit, reason; without one it goes again."""
        with self._reading(namespace) as db:
            return db.execute("SELECT sink, seq, failure FROM dead_letter ORDER BY seq").fetchall()

    def revive(self, namespace: str, seqs: Sequence[int] | None) -> int:
        """Mark dead letters to be sent again: those of some commits, or all; returns how many."""
        wanted = "" if seqs is None else f" AND seq IN ({', '.join(map(str, seqs))})"
        if not self._exists(namespace):
            return 0
        with self._writing(namespace) as db:
            marked = f"UPDATE dead_letter SET failure = '' WHERE failure <> ''{wanted}"  # noqa: S608
            return int(db.execute(marked).rowcount)

    def forgotten(self, namespace: str, ids: Iterable[str]) -> set[str]:
        """Which of these memories are deleted today."""
        asked, deleted = "SELECT 1 FROM memory WHERE id = ? AND status = ?", Status.DELETED.value
        with self._reading(namespace) as db:
            return {id_ for id_ in ids if db.execute(asked, (id_, deleted)).fetchone()}

    def vectors(
        self, namespace: str, space: Space, after: int
    ) -> Iterator[Sequence[tuple[int, bytes, int]]]:
        """A space's vectors above a number, in order; each block is read in its own moment."""
        while True:
            with self._reading(namespace) as db:
                block = vectors.above(db, space, after)
            if not block:
                return
            yield block
            after = block[-1][0]

    def absorbed(self, namespace: str, space: Space, base: Body | None, body: Body | None) -> None:
        """Name the body that counts from now on, unless another took the place of `base`."""
        with self._writing(namespace) as db:
            vectors.name_body(db, space, base, body)


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
