"""The PostgreSQL ledger: any number of namespaces in one database, any number of processes."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta

from memory_mesh import log
from memory_mesh.engines.ledgers.postgres.audit import PostgresAudit
from memory_mesh.engines.ledgers.postgres.by_meaning import PostgresSnapshot
from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.pool import ANSWER_SECONDS
from memory_mesh.engines.ledgers.postgres.setup import opening_key
from memory_mesh.engines.ledgers.postgres.transactions import Transactions
from memory_mesh.engines.ledgers.sql import recording, rows
from memory_mesh.engines.ledgers.sql.exact_scan import Tails
from memory_mesh.engines.ledgers.sql.noted import Noted, NotedBuffer, tell_lost
from memory_mesh.engines.ledgers.sql.snapshot import SqlSnapshot
from memory_mesh.errors import MayBeStored, StoreError, StoreIsAway, StoreIsBusy, StoreIsReadOnly
from memory_mesh.model import (
    Body,
    Commit,
    Entry,
    Sizes,
    Space,
    Standing,
    Stats,
    Wanted,
)
from memory_mesh.ports import Clock, Snapshot
from memory_mesh.process import forks, waits
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.pack import Injection

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
        lock_wait: float = waits.USUAL_SECONDS,
        answer_wait: float = ANSWER_SECONDS,
    ) -> None:
        self._clock, self._recall_days = clock, recall_days
        self._at = Transactions(url, opening_key(secret), lock_wait, answer_wait)
        self._waiting, self._tails = NotedBuffer(), Tails()
        self._leaving = weakref.finalize(self, _leave, self._at, self._waiting, clock, recall_days)
        forks.protect(self._waiting)
        forks.protect(self._tails)

    def commit(
        self, namespace: str, wanted: Wanted, decide: Callable[[Standing], Commit]
    ) -> Commit:
        """Take the lock, read what stands, let `decide` decide, write all of it or nothing."""
        start = log.started()
        with self._recording(namespace) as db:
            commit = recording.decided(db, rows.head(db), wanted, decide, self._clock.now())
        recording.tell(commit, start)
        return commit

    @contextmanager
    def read(self, namespace: str) -> Iterator[Snapshot]:
        """One read transaction; a namespace that does not exist reads as empty."""
        with self._reading(namespace) as db:
            if isinstance(db, Connection):
                yield PostgresSnapshot(db, self._tails, namespace)
            else:
                yield SqlSnapshot(db, self._tails, namespace)

    def note(
        self, namespace: str, entry: Entry | None, injection: "Injection | None" = None
    ) -> None:
        """Record a recall soon: with the next commit, when 64 wait, or at close."""
        if self._waiting.add(namespace, Noted(entry, injection)):
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
            tell_lost(len(self._waiting.drained(namespace)), _refused(error))

    def use(self, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        """Count one use of each memory and record it: soon, if somebody else writes now."""
        if not self._at.exists(namespace):
            return
        noted = Noted(entry, used=tuple(ids), at=self._clock.now())
        try:
            with self._recording(namespace, 0.0) as db:
                self._record(db, [noted])
        except (StoreIsBusy, StoreIsAway):
            self._waiting.wait_again(namespace, [noted])
        except StoreIsReadOnly as error:
            tell_lost(1, _refused(error))
        except MayBeStored:  # it is counted once or not at all, and what was read was read
            log.debug("a use may not be counted", ids=",".join(ids))

    def stats(self, namespace: str, session_days: int = 0) -> Stats:
        """The namespace in numbers; sessions expire after so many days, or never."""
        from memory_mesh.engines.ledgers.sql import stats

        with self._reading(namespace) as db:
            since = self._clock.now() - timedelta(days=session_days) if session_days else None
            return stats.stats(db, Sizes(), since)

    def index_some(self, namespace: str, space: Space) -> Body | None:
        """Take the next vectors into the index of a space, for a moment: the index then."""
        with self._at.writing(namespace) as db:
            found = db.own("SELECT * FROM index_vectors(%s, %s)", (space.name, _INDEXING))
            row = found.fetchone()
        return None if row is None else Body(*row)

    def namespaces(self, after: str = "", limit: int | None = None) -> Iterator[str]:
        """The names of namespaces, sorted: those after one, at most so many."""
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
    def _recording(self, namespace: str, wait: float | None = None) -> Iterator[Connection]:
        with (
            self._waiting.taken(namespace) as waiting,
            self._at.writing(namespace, wait) as db,
        ):
            yield db
            self._record(db, waiting.all())

    def _record(self, db: Connection, noted: Sequence[Noted]) -> None:
        recording.record(db, noted, self._clock.now(), self._recall_days)


def _leave(at: Transactions, waiting: NotedBuffer, clock: Clock, recall_days: int) -> None:
    """Writes what still waits: at close, or when the process ends without it.

    What cannot be written is dropped; once the server is away, all that is left.
    """
    lost, why = 0, _AWAY
    try:
        with waits.at_most(_CLOSING):  # for all locks together
            for namespace in waiting.namespaces():
                noted = waiting.drained(namespace)
                lost += len(noted)
                with suppress(StoreIsBusy):
                    if at.exists(namespace, _CLOSING):
                        with at.writing(namespace, _CLOSING, _CLOSING) as db:
                            recording.record(db, noted, clock.now(), recall_days)
                    lost -= len(noted)
    except StoreError as error:
        lost += sum(len(waiting.drained(namespace)) for namespace in waiting.namespaces())
        why = _refused(error) if isinstance(error, StoreIsReadOnly) else _AWAY
    finally:
        at.close()
    if lost:
        tell_lost(lost, why)


def _refused(error: StoreError) -> str:
    return f"they were refused: {error}."
