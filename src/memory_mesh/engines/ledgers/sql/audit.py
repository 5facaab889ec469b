"""The record of what was written and recalled, and how far sinks and indexes have read it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from memory_mesh.engines.ledgers.sql import commit, rows, vectors
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.model import Block, Body, Cursor, Space
from memory_mesh.ports import Clock
from memory_mesh.typed import Any

_GIVE_UP = 5  # failures after which a sink's commit goes to the dead letters


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
        f"SELECT {rows.BLOCK} FROM block WHERE position >= ?1 AND seq <= coalesce("  # noqa: S608
        "(SELECT seq FROM block WHERE position >= ?1 ORDER BY position LIMIT 1 OFFSET ?2), "
        "?3) ORDER BY position",
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


def sink_cursor(db: Database, sink: str) -> Cursor:
    """How far a sink has come."""
    row = db.execute("SELECT seq, attempts, at FROM sink WHERE name = ?", (sink,))
    seq, attempts, at = row.fetchone() or (0, 0, None)
    return Cursor(seq, attempts, rows.moment(at))


def sink_moved(db: Database, sink: str, seq: int, failure: str | None, at: datetime) -> None:
    """Move a sink's cursor; with a failure, count it, and after five give the commit up."""
    db.execute("INSERT OR IGNORE INTO sink VALUES (?, 0, 0, NULL)", (sink,))
    if failure is not None:
        db.execute("UPDATE sink SET attempts = attempts + 1 WHERE name = ?", (sink,))
        db.execute(
            "INSERT OR IGNORE INTO dead_letter SELECT name, ?, ?, ? FROM sink "
            "WHERE name = ? AND attempts >= ?",
            (seq, rows.micros(at), failure, sink, _GIVE_UP),
        )
    db.execute(
        "UPDATE sink SET seq = max(seq, ?), attempts = 0, at = ? WHERE name = ? AND attempts >= ?",
        (seq, rows.micros(at), sink, 0 if failure is None else _GIVE_UP),
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
            return commit.prune_recalls(db, before, limit)

    def sink_cursor(self, namespace: str, sink: str) -> Cursor:
        """How far a sink has come."""
        with self._reading(namespace) as db:
            return sink_cursor(db, sink)

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after five give the commit up."""
        with self._writing(namespace) as db:
            sink_moved(db, sink, seq, failure, self._clock.now())

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
