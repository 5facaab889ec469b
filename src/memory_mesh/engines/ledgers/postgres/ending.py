"""How a transaction ends: what is known of it when the connection breaks, and what to do then.

Before COMMIT was sent, nothing of a write is stored. Once it was sent, only the server's answer
tells. A server that is stopped may say goodbye after it has stored the write. So a connection that
breaks there leaves a write that is stored whole or not at all, and nobody here tries it again.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg.pq import TransactionStatus

from memory_mesh.engines.ledgers.postgres.pool import BoundedConnection
from memory_mesh.errors import MayBeStored, NotAfterFork, StoreError, StoreIsAway, StoreIsBusy

_ENDED = (
    "the connection to PostgreSQL ended before the call was complete ({}). Nothing was stored; "
    "retry. The next call connects anew"
)
_UNKNOWN = (
    "the connection to PostgreSQL ended while a write was committed ({}): it is stored whole or "
    "not at all. Look before you write it again, or write with a key: then it is stored once"
)
_UNDONE = "PostgreSQL undid the write, because a statement of it failed. Nothing was stored"
_SLOW = (
    "a statement took longer than it may ({}). Nothing was stored. Retry when the server has less "
    "to do"
)


def commit(raw: BoundedConnection) -> None:
    """Commits; raises MayBeStored where nobody can tell whether it did."""
    if raw.closed:
        raise StoreIsAway(_ENDED.format("it is closed"))
    try:
        done = raw.execute("COMMIT", prepare=False)
    except psycopg.Error as error:
        if not raw.closed:  # the server refused it, and goes on
            raise
        raise MayBeStored(_UNKNOWN.format(error)) from error
    if done.statusmessage != "COMMIT":
        raise StoreError(_UNDONE)


def leave(raw: BoundedConnection) -> None:
    """Ends a read, which has what it wanted; a connection that cannot be told so is not used again.

    By COMMIT, because psycopg forgets the statements that it prepared at a ROLLBACK.
    """
    with suppress(psycopg.Error, NotAfterFork):
        raw.execute("COMMIT", prepare=False)


def undo(raw: BoundedConnection) -> None:
    """Ends what was not committed; a connection that cannot be told so is not used again."""
    with suppress(psycopg.Error, NotAfterFork):
        if not raw.closed and raw.info.transaction_status != TransactionStatus.IDLE:
            raw.execute("ROLLBACK", prepare=False)


@contextmanager
def told(raw: BoundedConnection) -> Iterator[None]:
    """Says of a connection that broke inside that nothing was stored."""
    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        raise StoreIsBusy(_SLOW.format(error)) from error
    except psycopg.Error as error:
        if not raw.closed:
            raise
        raise StoreIsAway(_ENDED.format(error)) from error
