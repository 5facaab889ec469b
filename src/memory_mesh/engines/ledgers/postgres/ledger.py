"""The PostgreSQL ledger: any number of namespaces in one database, any number of processes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from memory_mesh.engines.ledgers.postgres.by_meaning import PostgresSnapshot
from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.transactions import Transactions
from memory_mesh.engines.ledgers.sql import commit as sql_commit, rows, vectors
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.engines.ledgers.sql.exact_scan import Tails
from memory_mesh.engines.ledgers.sql.noted import Noted, NotedBuffer, uses
from memory_mesh.engines.ledgers.sql.snapshot import SqlSnapshot
from memory_mesh.errors import StoreError, StoreIsBusy
from memory_mesh.model import (
    Block,
    Body,
    Checkpoint,
    Commit,
    Cursor,
    Entry,
    Sizes,
    Space,
    Standing,
    Stats,
    Verification,
    Wanted,
)
from memory_mesh.policy.text.analyze import ANALYZER
from memory_mesh.ports import Clock, Snapshot
from memory_mesh.process import waits
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.pack import Injection

PRUNED_AT_ONCE = 128
_GIVE_UP = 5
_NAMES = 1_000


class PostgresLedger:
    """Implements `ports.Ledger` on one database."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        key: bytes,
        recall_days: int = 0,
        lock_wait: float = waits.USUAL_SECONDS,
    ) -> None:
        self._clock, self._recall_days = clock, recall_days
        self._at = Transactions(url, key, lock_wait)
        self._waiting, self._tails = NotedBuffer(), Tails()

    def commit(
        self, namespace: str, wanted: Wanted, decide: Callable[[Standing], Commit]
    ) -> Commit:
        """Take the lock, read what stands, let `decide` decide, write all of it or nothing."""
        with self._recording(namespace) as db:
            head = rows.head(db)
            at = sql_commit.recorded_time(head, self._clock.now())
            commit = decide(sql_commit.standing(db, wanted, at))
            if commit != Commit(receipts=commit.receipts, after=commit.after):
                if head.analyzer != ANALYZER:
                    from memory_mesh.engines.ledgers.sql import terms

                    terms.adopt(db, head)
                commit = sql_commit.write(db, head, at, commit)
        return commit

    @contextmanager
    def read(self, namespace: str) -> Iterator[Snapshot]:
        """One read transaction; a namespace that does not exist reads as empty."""
        with self._reading(namespace) as db:
            if isinstance(db, Connection):
                yield PostgresSnapshot(db, self._tails, namespace)
            else:
                yield SqlSnapshot(db, self._tails, namespace)

    @contextmanager
    def _reading(self, namespace: str) -> Iterator[Database]:
        from memory_mesh.engines.ledgers.sqlite import schema

        with self._at.reading(namespace) as db:
            if db is not None:
                yield db
                return
        with schema.empty(namespace) as nothing:
            yield nothing

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

    def blocks(
        self, namespace: str, after_seq: int, limit: int, since: datetime | None = None
    ) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""
        with self._reading(namespace) as db:
            after = after_seq if since is None else max(after_seq, rows.seq_before(db, since))
            first = db.execute(
                "SELECT position FROM block WHERE seq > ? ORDER BY seq LIMIT 1", (after,)
            ).fetchone()
            if first is None:
                return []
            found = db.execute(
                f"SELECT {rows.BLOCK} FROM block WHERE position >= ?1 AND seq <= coalesce("
                "(SELECT seq FROM block WHERE position >= ?1 ORDER BY position LIMIT 1 OFFSET ?2), "
                "?3) ORDER BY position",
                (first[0], limit - 1, 2**62),
            )
            return [rows.block(row) for row in found]

    def recalls(self, namespace: str, limit: int) -> list[Block]:
        """The latest recall blocks, newest first."""
        with self._reading(namespace) as db:
            found = db.execute(
                "SELECT id, 'recall', agent, at, memories, wire, metadata FROM recall "
                "ORDER BY number DESC LIMIT ?",
                (limit,),
            )
            return [Block(rows.entry(row)) for row in found]

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""
        from memory_mesh.engines.ledgers.sql import verify

        with self._reading(namespace) as db:
            return verify.verify(db, against, namespace)

    def sink_cursor(self, namespace: str, sink: str) -> Cursor:
        """How far a sink has come."""
        with self._reading(namespace) as db:
            row = db.execute("SELECT seq, attempts, at FROM sink WHERE name = ?", (sink,))
            seq, attempts, at = row.fetchone() or (0, 0, None)
            return Cursor(seq, attempts, rows.moment(at))

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after five give the commit up."""
        with self._at.writing(namespace) as db:
            db.execute("INSERT OR IGNORE INTO sink VALUES (?, 0, 0, NULL)", (sink,))
            if failure is not None:
                db.execute("UPDATE sink SET attempts = attempts + 1 WHERE name = ?", (sink,))
                db.execute(
                    "INSERT OR IGNORE INTO dead_letter SELECT name, ?, ?, ? FROM sink "
                    "WHERE name = ? AND attempts >= ?",
                    (seq, rows.micros(self._clock.now()), failure, sink, _GIVE_UP),
                )
            db.execute(
                "UPDATE sink SET seq = max(seq, ?), attempts = 0, at = ? WHERE name = ? "
                "AND attempts >= ?",
                (seq, rows.micros(self._clock.now()), sink, 0 if failure is None else _GIVE_UP),
            )

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
        """Counts uses, writes recall blocks and injections, and deletes a few that are too old."""
        if not noted:
            return
        entries = [one.entry for one in noted if one.entry is not None]
        injections = [one.injection for one in noted if one.injection is not None]
        sql_commit.USED.run(db, [(rows.micros(at), id_) for at, id_ in uses(noted)])
        sql_commit.record_recalls(db, entries)
        if injections:
            from memory_mesh.engines.ledgers.sql import injections as sql_injections

            sql_injections.record(db, injections)
        if (entries or injections) and self._recall_days:
            before = self._clock.now() - timedelta(days=self._recall_days)
            sql_commit.prune_recalls(db, before, PRUNED_AT_ONCE)
