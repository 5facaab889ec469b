"""The SQLite ledger: a file per namespace, one transaction per write, any number of processes."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import commit as sqlite_commit, rows, schema, vectors
from memory_mesh.engines.ledgers.sqlite.connections import Files
from memory_mesh.engines.ledgers.sqlite.exact_scan import Tails
from memory_mesh.engines.ledgers.sqlite.mounts import refuse_network_folder
from memory_mesh.engines.ledgers.sqlite.recall_buffer import RecallBuffer
from memory_mesh.engines.ledgers.sqlite.snapshot import SqliteSnapshot
from memory_mesh.errors import NotFound, StoreError
from memory_mesh.model import (
    Block,
    Body,
    Checkpoint,
    Commit,
    Cursor,
    Entry,
    Space,
    Standing,
    Stats,
    Verification,
    Wanted,
)
from memory_mesh.policy.ranking.usefulness import HARMFUL, HELPFUL, LEAST_USEFUL, MOST_USEFUL
from memory_mesh.ports import Clock, Snapshot
from memory_mesh.process import forks

_GIVE_UP = 5  # failures after which a sink's commit goes to the dead letters
_USED_COUNTERS = "uses = uses + 1, last_used = ?"


class SqliteLedger:
    """Implements `ports.Ledger` on one folder."""

    def __init__(self, folder: Path, clock: Clock, *, allow_network: bool = False) -> None:
        schema.check_sqlite()
        if not allow_network:
            refuse_network_folder(folder)
        self._clock = clock
        self._files = Files(folder / "namespaces")
        self._waiting = RecallBuffer()
        self._tails = Tails()
        forks.protect(self._waiting)
        forks.protect(self._tails)

    def commit(
        self, namespace: str, wanted: Wanted, decide: Callable[[Standing], Commit]
    ) -> Commit:
        """Take the lock, read the rivals, let `decide` decide, write all of it or nothing."""
        with self._waiting.taken(namespace) as waiting, self._files.writing(namespace) as db:
            head = rows.head(db)
            at = sqlite_commit.recorded_time(head, self._clock.now())
            commit = decide(sqlite_commit.rivals(db, wanted, at))
            if _changes(commit):
                from memory_mesh.engines.ledgers.sqlite import terms  # a search has no use for it

                terms.adopt(db, head)
                sqlite_commit.write(db, head, at, commit)
            sqlite_commit.record_recalls(db, waiting)
        return commit

    @contextmanager
    def read(self, namespace: str) -> Iterator[Snapshot]:
        """One read transaction; a namespace that does not exist reads as empty."""
        with self._reading(namespace) as db:
            yield SqliteSnapshot(db, self._tails)

    def note(self, namespace: str, entry: Entry) -> None:
        """Record a recall block soon: with the next commit, when 64 wait, or at close."""
        if self._waiting.add(namespace, entry):
            self._flush(namespace)

    def use(self, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        """Count one use of each memory and write the record of it before returning."""
        with self._waiting.taken(namespace) as waiting, self._files.writing(namespace) as db:
            stamp = rows.micros(self._clock.now())
            db.executemany(
                f"UPDATE memory SET {_USED_COUNTERS} WHERE id = ?",  # noqa: S608  # fixed text
                [(stamp, id_) for id_ in ids],
            )
            sqlite_commit.record_recalls(db, [*waiting, *([entry] if entry else [])])

    def vote(self, namespace: str, memory_id: str, *, helpful: bool) -> None:
        """Add one vote to a memory, in place; ranking may change, so the seq moves."""
        column, step = ("helpful", HELPFUL) if helpful else ("harmful", HARMFUL)
        with self._files.writing(namespace) as db:
            changed = db.execute(
                f"UPDATE memory SET {column} = {column} + 1, "  # noqa: S608  # two names
                "usefulness = min(?, max(?, usefulness * ?)) WHERE id = ?",
                (MOST_USEFUL, LEAST_USEFUL, step, memory_id),
            )
            if not changed.rowcount:
                raise NotFound
            db.execute("UPDATE store SET seq = seq + 1")

    def blocks(
        self, namespace: str, after_seq: int, limit: int, since: datetime | None = None
    ) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""
        with self._reading(namespace) as db:
            after = after_seq if since is None else max(after_seq, rows.seq_before(db, since))
            found = db.execute(
                f"SELECT {rows.BLOCK} FROM block WHERE seq > ? AND seq <= coalesce((SELECT seq "  # noqa: S608
                "FROM block WHERE seq > ? ORDER BY position LIMIT 1 OFFSET ?), ?) "
                "ORDER BY position",
                (after, after, limit - 1, 2**62),
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
        from memory_mesh.engines.ledgers.sqlite import verify as sqlite_verify

        with self._reading(namespace) as db:
            return sqlite_verify.verify(db, against)

    def stats(self, namespace: str) -> Stats:
        """The namespace in numbers."""
        from memory_mesh.engines.ledgers.sqlite import stats as sqlite_stats

        with self._reading(namespace) as db:
            return sqlite_stats.stats(db, self._files.size(namespace))

    def vectors(
        self, namespace: str, space: Space, after: int
    ) -> Iterator[Sequence[tuple[int, bytes]]]:
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
        with self._files.writing(namespace) as db:
            vectors.name_body(db, space, base, body)

    def sink_cursor(self, namespace: str, sink: str) -> Cursor:
        """How far a sink has come."""
        with self._reading(namespace) as db:
            row = db.execute("SELECT seq, attempts, at FROM sink WHERE name = ?", (sink,))
            seq, attempts, at = row.fetchone() or (0, 0, None)
            return Cursor(seq, attempts, rows.moment(at))

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after five give the commit up."""
        with self._files.writing(namespace) as db:
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
                "AND (attempts >= ? OR ? IS NULL)",
                (seq, rows.micros(self._clock.now()), sink, _GIVE_UP, failure),
            )

    def namespaces(self) -> Iterator[str]:
        """The names of all namespaces, sorted."""
        return self._files.names()

    def close(self) -> None:
        """Write what waits and release every file."""
        try:
            for namespace in self._waiting.namespaces():
                self._flush(namespace)
        finally:
            self._files.close()

    @contextmanager
    def _reading(self, namespace: str) -> Iterator[sqlite3.Connection]:
        with self._files.reading(namespace) as db:
            if db is not None:
                yield db
                return
        with forks.inside_sqlite(), schema.empty(namespace) as nothing:
            yield nothing

    def _flush(self, namespace: str) -> None:
        """Recall blocks are worth a write, never a failed read: a full disk drops them."""
        if not self._files.exists(namespace):  # never make a file to say it was empty
            self._waiting.drop(namespace)
            return
        try:
            with self._waiting.taken(namespace) as waiting, self._files.writing(namespace) as db:
                sqlite_commit.record_recalls(db, waiting)
        except StoreError:
            self._waiting.drop(namespace)


def _changes(commit: Commit) -> bool:
    """Whether a commit has anything to write."""
    parts = (commit.puts, commit.entries, commit.observations, commit.vectors)
    more = (commit.skills, commit.skill_vectors, commit.conflicts, commit.schemas, commit.terms)
    return any(parts) or any(more) or bool(commit.tombstones or commit.forgiven or commit.votes)
