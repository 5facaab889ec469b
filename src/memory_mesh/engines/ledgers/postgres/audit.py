"""The record of what was written and recalled, and how far each sink has read it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from memory_mesh.engines.ledgers.postgres.transactions import Transactions
from memory_mesh.engines.ledgers.sql import audit
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.model import Block, Checkpoint, Cursor, Verification
from memory_mesh.ports import Clock
from memory_mesh.process import forks

_CHECKING_SECONDS = 3_600.0  # that one statement of `verify` may take


class PostgresAudit:
    """Implements `ports.Audit` and `ports.SinkCursors`."""

    _clock: Clock
    _at: Transactions

    def blocks(
        self, namespace: str, after_seq: int, limit: int, since: datetime | None = None
    ) -> list[Block]:
        """Chained blocks of the next commits, whole commits only, oldest first."""
        with self._reading(namespace) as db:
            return audit.blocks(db, after_seq, limit, since)

    def recalls(self, namespace: str, limit: int) -> list[Block]:
        """The latest recall blocks, newest first."""
        with self._reading(namespace) as db:
            return audit.recalls(db, limit)

    def verify(self, namespace: str, against: Checkpoint | None = None) -> Verification:
        """Walk the chain and every invariant, hold it against a checkpoint; never repair."""
        from memory_mesh.engines.ledgers.sql import verify

        with self._reading(namespace, _CHECKING_SECONDS) as db:
            return verify.verify(db, against, namespace)

    def sink_cursor(self, namespace: str, sink: str) -> Cursor:
        """How far a sink has come."""
        with self._reading(namespace) as db:
            return audit.sink_cursor(db, sink)

    def sink_moved(self, namespace: str, sink: str, seq: int, failure: str | None) -> None:
        """Move a sink's cursor; with a failure, count it, and after five give the commit up."""
        with self._at.writing(namespace) as db:
            audit.sink_moved(db, sink, seq, failure, self._clock.now())

    @contextmanager
    def _reading(self, namespace: str, answer_wait: float | None = None) -> Iterator[Database]:
        from memory_mesh.engines.ledgers.sqlite import schema

        with self._at.reading(namespace, answer_wait) as db:
            if db is not None:
                yield db
                return
        with forks.inside_sqlite(), schema.empty(namespace) as nothing:
            yield nothing
