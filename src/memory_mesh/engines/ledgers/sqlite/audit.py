"""The record of what was written and recalled, and how far each sink has read it."""

from datetime import datetime

from memory_mesh.engines.ledgers.sql import audit
from memory_mesh.engines.ledgers.sqlite import spool
from memory_mesh.engines.ledgers.sqlite.connections import Files
from memory_mesh.engines.ledgers.sqlite.faults import looked_at
from memory_mesh.engines.ledgers.sqlite.keeping import head_file
from memory_mesh.errors import StoreIsDamaged
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Block, Checkpoint, Cursor, Finding, Verification
from memory_mesh.ports import Clock


class SqliteAudit:
    """Implements `ports.Audit` and `ports.SinkCursors`."""

    _clock: Clock
    _files: Files

    def blocks(
        self, namespace: str, after_seq: int, limit: int, since: datetime | None = None
    ) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""
        with self._files.reading(namespace) as db:
            return audit.blocks(db, after_seq, limit, since)

    def recalls(self, namespace: str, limit: int) -> list[Block]:
        """The latest recall blocks, newest first."""
        with self._files.reading(namespace) as db:
            return audit.recalls(db, limit)

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""
        from memory_mesh.engines.ledgers.sql import verify as sql_verify

        left = spool.waiting(self._files.spool(namespace))
        try:
            with self._files.looking(namespace) as (db, flaw):
                found = sql_verify.verify(db, against, namespace)
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
            return audit.sink_cursor(db, sink)

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after five give the commit up."""
        with self._files.writing(namespace) as db:
            audit.sink_moved(db, sink, seq, failure, self._clock.now())
