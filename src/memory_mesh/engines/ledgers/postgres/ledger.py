"""The PostgreSQL ledger: any number of namespaces in one database, any number of processes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from memory_mesh import log
from memory_mesh.engines.ledgers.postgres.audit import PostgresAudit
from memory_mesh.engines.ledgers.postgres.by_meaning import PostgresSnapshot
from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.setup import opening_key
from memory_mesh.engines.ledgers.postgres.transactions import Transactions
from memory_mesh.engines.ledgers.sql import commit as sql_commit, recording, rows, vectors
from memory_mesh.engines.ledgers.sql.exact_scan import Tails
from memory_mesh.engines.ledgers.sql.noted import Noted, NotedBuffer
from memory_mesh.engines.ledgers.sql.snapshot import SqlSnapshot
from memory_mesh.errors import StoreError, StoreIsBusy
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
from memory_mesh.process import waits
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.pack import Injection

_NAMES = 1_000  # that are read at a time


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
    ) -> None:
        self._clock, self._recall_days = clock, recall_days
        self._at = Transactions(url, opening_key(secret), lock_wait)
        self._waiting, self._tails = NotedBuffer(), Tails()

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
        self._flush(namespace, 0.0)

    def use(self, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        """Count one use of each memory and record it: soon, if somebody else writes now."""
        if not self._at.exists(namespace):
            return
        noted = Noted(entry, used=tuple(ids), at=self._clock.now())
        try:
            with self._recording(namespace, 0.0) as db:
                self._record(db, [noted])
        except StoreIsBusy:
            self._waiting.wait_again(namespace, [noted])

    def stats(self, namespace: str, session_days: int = 0) -> Stats:
        """The namespace in numbers; sessions expire after so many days, or never."""
        from memory_mesh.engines.ledgers.sql import stats

        with self._reading(namespace) as db:
            since = self._clock.now() - timedelta(days=session_days) if session_days else None
            return stats.stats(db, Sizes(), since)

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
        with self._at.writing(namespace) as db:
            vectors.name_body(db, space, base, body)

    def prune_recalls(self, namespace: str, before: datetime, limit: int) -> int:
        """Delete the oldest recall blocks from before a moment, at most `limit`; how many."""
        if not self._at.exists(namespace):
            return 0
        with self._at.writing(namespace) as db:
            return sql_commit.prune_recalls(db, before, limit)

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
        """Write what waits, and close every connection."""
        try:
            for namespace in list(self._waiting.namespaces()):
                self._flush(namespace, 1.0)
        finally:
            self._at.close()

    @contextmanager
    def _recording(self, namespace: str, wait: float | None = None) -> Iterator[Connection]:
        with (
            self._waiting.taken(namespace) as waiting,
            self._at.writing(namespace, wait) as db,
        ):
            yield db
            self._record(db, waiting.all())

    def _flush(self, namespace: str, wait: float) -> None:
        if not self._waiting.holds(namespace):
            return
        try:
            with self._recording(namespace, wait):
                pass
        except StoreIsBusy:
            return
        except StoreError:
            self._waiting.drained(namespace)

    def _record(self, db: Connection, noted: Sequence[Noted]) -> None:
        recording.record(db, noted, self._clock.now(), self._recall_days)
