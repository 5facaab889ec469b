"""The record of what was written and recalled, read and checked in the database."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.transactions import Transactions
from memory_mesh.engines.ledgers.sql.audit import SqlRecords
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.model import Checkpoint, Verification
from memory_mesh.ports import Clock
from memory_mesh.process import forks

_CHECKING_SECONDS = 3_600.0  # that one statement of `verify` may take


class PostgresAudit(SqlRecords):
    """Implements `ports.Audit` and `ports.SinkCursors`."""

    _clock: Clock
    _at: Transactions

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""
        from memory_mesh.engines.ledgers.sql import verify

        with self._reading(namespace, _CHECKING_SECONDS) as db:
            return verify.verify(db, against, namespace)

    @contextmanager
    def _reading(self, namespace: str, answer_wait: float | None = None) -> Iterator[Database]:
        from memory_mesh.engines.ledgers.sqlite import schema

        with self._at.reading(namespace, answer_wait) as db:
            if db is not None:
                yield db
                return
        with forks.inside_sqlite(), schema.empty(namespace) as nothing:
            yield nothing

    def _writing(self, namespace: str) -> AbstractContextManager[Connection]:
        return self._at.writing(namespace)

    def _exists(self, namespace: str) -> bool:
        return self._at.exists(namespace)
