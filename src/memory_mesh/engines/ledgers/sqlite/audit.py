"""The record of what was written and recalled, checked against the files beside it."""

from contextlib import AbstractContextManager

from memory_mesh.engines.ledgers.sql.audit import SqlRecords
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.engines.ledgers.sqlite import spool
from memory_mesh.engines.ledgers.sqlite.connections import Files
from memory_mesh.engines.ledgers.sqlite.faults import looked_at
from memory_mesh.engines.ledgers.sqlite.keeping import head_file
from memory_mesh.errors import StoreIsDamaged
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Checkpoint, Finding, Verification
from memory_mesh.ports import Clock


class SqliteAudit(SqlRecords):
    """Implements `ports.Audit` and `ports.SinkCursors`."""

    _clock: Clock
    _files: Files

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
        beside = self._files.spool(namespace)
        wrong, check = flaw or head_file.unreadable(beside), "head file"
        if wrong is None and found.head is not None and found.head.seq:
            wrong, check = head_file.absent(beside, namespace), "missing head file"
        if wrong is not None:
            found = replace(found, findings=(Finding(check, str(wrong)), *found.findings))
        checked = {**found.checked, "head file": 1, **left}
        return replace(found, checked=checked)

    def _reading(self, namespace: str) -> AbstractContextManager[Database]:
        return self._files.reading(namespace)

    def _writing(self, namespace: str) -> AbstractContextManager[Database]:
        return self._files.writing(namespace)

    def _exists(self, namespace: str) -> bool:
        return self._files.exists(namespace)
