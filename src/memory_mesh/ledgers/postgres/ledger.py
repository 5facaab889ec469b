"""The PostgreSQL ledger: any number of namespaces in one database, any number of processes."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial

from memory_mesh.base.typed import replace
from memory_mesh.ledgers.postgres.connection import PostgresConnection
from memory_mesh.ledgers.postgres.copies import verify
from memory_mesh.ledgers.postgres.engine import Vector
from memory_mesh.ledgers.postgres.pool import ANSWER_SECONDS
from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.ledgers.postgres.transactions import Keys, Transactions, Wake
from memory_mesh.ledgers.shared import (
    commit as sql_commit,
    history,
    narrowing,
    rows,
    snapshot,
    visibility,
)
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.ledgers.shared.exact_scan import Tails
from memory_mesh.ledgers.shared.vectors import SpaceReading
from memory_mesh.ledgers.sqlite import open_file
from memory_mesh.model import (
    Body,
    Checkpoint,
    Commit,
    Entry,
    Head,
    Lens,
    MayBeStored,
    Near,
    Question,
    Reach,
    SearchLook,
    Sizes,
    Space,
    Standing,
    Stats,
    StoreError,
    StoreIsAway,
    StoreIsBusy,
    StoreIsReadOnly,
    Verification,
    Wanted,
)
from memory_mesh.model.pack import Injection
from memory_mesh.model.ports import Clock, Snapshot
from memory_mesh.platform import forks, locks, telemetry
from memory_mesh.rules import audit
from memory_mesh.rules.arguments import PREFIX, user_namespace

_COMPARED = (
    "SELECT x.text, -(x.data <#> %(asked)s) AS cosine, {indexed} FROM {source} "
    "WHERE x.space = %(space)s{above}"
)
_ALL = _COMPARED.format(indexed="FALSE", source="vector x", above="")
_TAIL = _COMPARED.format(indexed="FALSE", source="vector x", above=" AND x.number > %(highest)s")
_INDEXED = _COMPARED.format(
    indexed="TRUE",
    source="near(%(space)s, %(asked)s, %(count)s) n (number) JOIN vector x ON x.number = n.number",
    above="",
)
_BEST = " ORDER BY cosine DESC, text DESC LIMIT %(count)s"
_MOST = 2**31 - 1

# The record of what was written and recalled, read and checked in the database.


_CHECKING_SECONDS = 3_600.0  # that one statement of `verify` may take


class PostgresAudit(history.SqlRecords):
    """Implements `ports.Audit` and `ports.SinkCursors`."""

    _clock: Clock
    _at: Transactions

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""
        with self._reading(namespace, _CHECKING_SECONDS) as db:
            return verify(db, against, namespace)

    @contextmanager
    def _reading(self, namespace: str, answer_wait: float | None = None) -> Iterator[Database]:
        with self._at.reading(namespace, answer_wait) as db:
            if db is not None:
                yield db
                return
        with forks.inside_sqlite(), open_file.empty(namespace) as nothing:
            yield nothing

    def _writing(self, namespace: str) -> AbstractContextManager[PostgresConnection]:
        return self._at.writing(namespace)

    def _exists(self, namespace: str) -> bool:
        return self._at.exists(namespace)


_UNSWEPT = """
    SELECT clock_timestamp()::text, (SELECT count(*) FROM pg_stat_progress_vacuum),
        count(*) FILTER (WHERE (greatest(s.last_vacuum, s.last_autovacuum) > %s::timestamptz
            AND s.n_dead_tup = 0) IS NOT TRUE)
    FROM pg_stat_all_tables s, (SELECT ns, tableoid::regclass::text AS own FROM store) of
    WHERE s.schemaname = current_schema() AND (s.relname LIKE format('near\\_%%s\\_%%%%', of.ns)
        OR CASE WHEN of.own ~ '[0-9]$'
            THEN s.relname LIKE '%%\\_' || substring(of.own FROM '[0-9]+$')
            ELSE s.relname NOT LIKE 'near\\_%%' END)"""
_NAMES = 1_000  # that are read at a time
_CLOSING = 0.5  # seconds that `close` waits for a lock, and for each answer; connecting takes two
_INDEXING = 200  # milliseconds that others wait while vectors are taken into an index
_AWAY = "the database could not be written to when the store was closed."


class PostgresLedger(PostgresAudit):
    """Implements `ports.Ledger` on one database."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        secret: bytes,
        recall_days: int = 0,
        lock_wait: float = locks.USUAL_SECONDS,
        answer_wait: float = ANSWER_SECONDS,
        keys: Keys = tuple,
        wake: Wake | None = None,
    ) -> None:
        self._clock, self._recall_days = clock, recall_days
        self._at = Transactions(url, opening_key(secret), lock_wait, answer_wait, keys, wake=wake)
        self._waiting, self._tails = history.NotedBuffer(), Tails()
        self._spaces: set[Space] = set()  # that this process wrote vectors to
        self._leaving = weakref.finalize(self, _leave, self._at, self._waiting, clock, recall_days)
        forks.protect(self._waiting)
        forks.protect(self._tails)

    def commit(
        self, namespace: str, wanted: Wanted, decide: Callable[[Standing], Commit]
    ) -> Commit:
        """Take the lock, read what stands, let `decide` decide, write all of it or nothing."""
        start = telemetry.started()
        with self._waiting.taken(namespace) as waiting, self._at.writing(namespace) as db:
            now = self._clock.now()
            db.expect(
                partial(rows.head, db),
                partial(sql_commit.standing, db, wanted, now),
                partial(sql_commit.look, db, {scope for _, scope in wanted.twins}, self._spaces),
                partial(history.looks, db, waiting.all()),
            )
            commit = sql_commit.decided(db, rows.head(db), wanted, decide, now)
            self._record(db, waiting.all())
        self._spaces |= sql_commit.spaces_of(commit)
        sql_commit.tell(commit, start)
        return commit

    @contextmanager
    def read(self, namespace: str) -> Iterator[Snapshot]:
        """One read transaction; a namespace that does not exist reads as empty."""
        with self._at.at_once(namespace) as db:
            yield PostgresSnapshot(db, self._tails, namespace)

    def note(
        self, namespace: str, entry: Entry | None, injection: "Injection | None" = None
    ) -> None:
        """Record a recall soon: with the next commit, when 64 wait, or at close."""
        if self._waiting.add(namespace, history.Noted(entry, injection)):
            self.flush(namespace)

    def flush(self, namespace: str) -> None:
        """Write what waits, unless somebody else writes now."""
        if not self._waiting.holds(namespace):
            return
        try:
            if not self._at.exists(namespace):  # never make one to say that it was empty
                self._waiting.drained(namespace)
                return
            with self._recording(namespace, 0.0):
                pass
        except (StoreIsBusy, StoreIsAway, MayBeStored):
            return
        except StoreError as error:  # what the database does not take keeps nothing else waiting
            history.tell_lost(len(self._waiting.drained(namespace)), _refused(error))

    def use(self, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        """Count one use of each memory and record it, with the next write or when 64 wait."""
        telemetry.debug("use", ids=",".join(ids))
        if self._waiting.add(
            namespace, history.Noted(entry, used=tuple(ids), at=self._clock.now())
        ):
            self.flush(namespace)

    def stats(self, namespace: str, session_days: int = 0, *, counted: bool = True) -> Stats:
        """The namespace in numbers; sessions expire after so many days, or never."""
        with self._reading(namespace) as db:
            if not counted:
                return snapshot.uncounted(db, Sizes())
            return snapshot.stats(db, Sizes(), self._clock.now(), session_days)

    def index_some(self, namespace: str, space: Space) -> Body | None:
        """Take the next vectors into the index of a space, for a moment: the index then."""
        with self._at.writing(namespace) as db:
            found = db.own("SELECT * FROM index_vectors(%s, %s)", (space.name, _INDEXING))
            row = found.fetchone()
        return None if row is None else Body(*row)

    def unswept(self, namespace: str, since: str | None) -> tuple[str | None, int]:
        """Since when to wait for a vacuum, and how many tables still wait for one.

        A vacuum that ran before that moment, or left dead rows for a reader, does not count.
        """
        with self._at.reading(namespace) as db:
            if db is None:
                return since, 0
            ((now, running, waiting),) = db.own(_UNSWEPT, (since,)).fetchall()
        return since or (None if running else now), waiting

    def namespaces(self, after: str = "", limit: int | None = None) -> Iterator[str]:
        """The names of namespaces, sorted: those after one as people see it, at most so many."""
        if after.startswith(PREFIX) and after != PREFIX:
            after = user_namespace(after.removeprefix(PREFIX))
        left = limit
        while left is None or left > 0:
            found = self._at.names(after, _NAMES if left is None else min(left, _NAMES))
            if not found:
                return
            yield from found
            after, left = found[-1], None if left is None else left - len(found)

    def close(self) -> None:
        """Write what waits, or drop it if that takes a moment, and close every connection."""
        self._leaving()

    @contextmanager
    def _recording(self, namespace: str, wait: float | None = None) -> Iterator[PostgresConnection]:
        with (
            self._waiting.taken(namespace) as waiting,
            self._at.writing(namespace, wait) as db,
        ):
            yield db
            self._record(db, waiting.all())

    def _record(self, db: PostgresConnection, noted: Sequence[history.Noted]) -> None:
        history.record(db, noted, self._clock.now(), self._recall_days)


def _leave(at: Transactions, waiting: history.NotedBuffer, clock: Clock, recall_days: int) -> None:
    """Writes what still waits: at close, or when the process ends without it.

    What cannot be written is dropped; once the server is away, all that is left.
    """
    lost, why = 0, _AWAY
    try:
        with locks.at_most(_CLOSING):  # for all locks together
            for namespace in waiting.namespaces():
                noted = waiting.drained(namespace)
                lost += len(noted)
                with suppress(StoreIsBusy):
                    if at.exists(namespace, _CLOSING):
                        with at.writing(namespace, _CLOSING, _CLOSING) as db:
                            history.record(db, noted, clock.now(), recall_days)
                    lost -= len(noted)
    except StoreError as error:
        lost += sum(len(waiting.drained(namespace)) for namespace in waiting.namespaces())
        why = _refused(error) if isinstance(error, StoreIsReadOnly) else _AWAY
    finally:
        at.close()
    if lost:
        history.tell_lost(lost, why)


def _refused(error: StoreError) -> str:
    return f"they were refused: {error}."


# Finds versions by their vectors, which pgvector compares where they are stored.
#
# Below some size all vectors of a namespace are compared; above it `upkeep` keeps an index of
# them in
# the same database (migrations/0004), and only vectors that are not in it yet are compared.


class PostgresSnapshot(snapshot.SqlSnapshot):
    """Implements `ports.Snapshot`: a namespace at one moment."""

    _db: PostgresConnection

    def head(self) -> Head:
        """The namespace's counter and the end of its chain; where there is none, its beginning."""
        if self._head is None:
            row = self._db.execute(rows.HEAD_READ).fetchone()
            self._head = rows.head_of(row or (self._file, 0, 0, audit.genesis(self._file), 0))
        return self._head

    def standing(self, wanted: Wanted) -> Standing:
        """What bears on a write as it is now, for work worth doing before the transaction."""
        now = rows.since_epoch(0)
        self.expect(self.head, partial(sql_commit.standing, self._db, wanted, now))
        return super().standing(wanted)

    def expect(self, *calls: Callable[[], object]) -> None:
        """Asks ahead for what the calls will ask for, in as few round trips as can be."""
        self._db.expect(*calls)

    def reach(self, space: Space, lens: Lens) -> Reach | None:
        """How much of a space the lens may see; the number of texts stands for that of vectors."""
        self.expect(lambda: self._stored(space), lambda: visibility.seen_by(self._db, lens))
        found, known = super().reach(space, lens), self._stored(space)
        if found is None or known is None:
            return None
        return replace(found, vectors=known.reached + known.waiting, inside=True)

    def nearest_seen(
        self,
        question: Question,
        lens: Lens,
        reach: Reach,
        most: int | None,  # noqa: ARG002  # no cap is needed: the server scans
    ) -> list[Near]:
        """The best among all vectors that the lens sees, exactly."""
        few, first = self._narrowed(lens), list[object]()
        if few is not None:
            source, condition, first, values = narrowing.sight(lens, few)
        else:
            source, condition, values = visibility.within(lens, reach.audiences)
        return self._best(question, source, condition, (first, values))

    def nearest_above(
        self,
        question: Question,
        lens: Lens,
        floor: int,  # noqa: ARG002  # the index is asked here, and what is above it is known
        count: int,
    ) -> SearchLook:
        """Those that the lens sees of the best `count` vectors, by the index where there is one."""
        known = self._stored(question.space)
        if known is None:
            return SearchLook((), 0)
        found, whole = self._candidates(question, known, min(count, _MOST))
        seen = self._visible([(cosine, text) for text, cosine, _ in found], lens)
        return SearchLook(seen, len(found) if whole else count)

    def _candidates(
        self, question: Question, known: SpaceReading, count: int
    ) -> tuple[list[tuple[int, float, bool]], bool]:
        """The best vectors by text and cosine; and whether there are no more, if they are fewer."""
        asked = {"asked": Vector(question.vector), "space": known.number, "count": count}
        if known.body is None:
            return self._db.own(f"{_ALL}{_BEST}", asked).fetchall(), True
        asked["highest"] = known.body.highest
        found = self._db.own(f"{_INDEXED} UNION ALL {_TAIL}{_BEST}", asked).fetchall()
        indexed = sum(from_index for _, _, from_index in found)
        return found, len(found) == count or indexed >= min(count, known.body.rows)

    def cosines(self, question: Question, versions: Sequence[int]) -> list[Near]:
        """How near versions found otherwise are: of each its best part."""
        condition = "v.number IN (SELECT value FROM json_each(?))"
        values: list[object] = [rows.dumped(list(versions))]
        if not versions:
            return []
        return self._best(question, "version v", condition, ([], values), len(versions))

    def _best(
        self,
        question: Question,
        source: str,
        condition: str,
        values: tuple[Sequence[object], Sequence[object]],
        limit: int | None = None,
    ) -> list[Near]:
        first, rest = values
        found = self._db.execute(
            f"SELECT v.number, max(-(x.data <#> ?)) AS cosine FROM {source} "  # noqa: S608
            "JOIN vector x ON x.text = v.text AND x.space = "
            f"(SELECT number FROM space WHERE name = ?) WHERE {condition} "
            "GROUP BY v.number ORDER BY cosine DESC, v.number DESC LIMIT ?",
            [Vector(question.vector), *first, question.space.name, *rest, limit or question.limit],
        )
        return [Near(version, cosine) for version, cosine in found]
