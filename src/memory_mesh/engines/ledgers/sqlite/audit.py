"""The record of what was written and recalled, and how far each sink has read it."""

from datetime import datetime

from memory_mesh.engines.ledgers.sql import rows
from memory_mesh.engines.ledgers.sqlite import spool
from memory_mesh.engines.ledgers.sqlite.connections import Files
from memory_mesh.engines.ledgers.sqlite.faults import looked_at
from memory_mesh.engines.ledgers.sqlite.keeping import head_file
from memory_mesh.errors import StoreIsDamaged
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Block, Checkpoint, Cursor, Finding, Verification
from memory_mesh.ports import Clock

_GIVE_UP = 5  # failures after which a sink's commit goes to the dead letters


class SqliteAudit:
    """Implements `ports.Audit` and `ports.SinkCursors`."""

    _clock: Clock
    _files: Files

    def blocks(
        self, namespace: str, after_seq: int, limit: int, since: datetime | None = None
    ) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""
        with self._files.reading(namespace) as db:
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

    def recalls(self, namespace: str, limit: int) -> list[Block]:
        """The latest recall blocks, newest first."""
        with self._files.reading(namespace) as db:
            found = db.execute(
                "SELECT id, 'recall', agent, at, memories, wire, metadata FROM recall "
                "ORDER BY number DESC LIMIT ?",
                (limit,),
            )
            return [Block(rows.entry(row)) for row in found]

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""
        from memory_mesh.engines.ledgers.sql import verify as sqlite_verify

        left = spool.waiting(self._files.spool(namespace))
        try:
            with self._files.looking(namespace) as (db, flaw):
                found = sqlite_verify.verify(db, against, namespace)
        except StoreIsDamaged as error:  # nothing of it can be opened
            said = looked_at(str(error), namespace)
            return Verification(namespace, left, (Finding("opening", said),), None)
        wrong = flaw or head_file.unreadable(self._files.spool(namespace))
        if wrong is not None:
            findings = (Finding("head file", str(wrong)), *found.findings)
            found = replace(found, findings=findings)
        checked = {**found.checked, "head file": 1, **left}
        return replace(found, checked=checked)

    def sink_cursor(self, namespace: str, sink: str) -> Cursor:
        """How far a sink has come."""
        with self._files.reading(namespace) as db:
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
