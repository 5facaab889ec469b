"""Transactions inside one namespace: entered with a capability, faults raised in our words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolTimeout

from memory_mesh.engines.ledgers.postgres import pgvector
from memory_mesh.engines.ledgers.postgres.connection import Connection
from memory_mesh.engines.ledgers.postgres.engine import PostgresEngine
from memory_mesh.engines.ledgers.postgres.setup import ROLE, SCHEMA
from memory_mesh.errors import (
    NotAllowed,
    StoreError,
    StoreIsBusy,
    StoreIsDamaged,
    StoreIsFull,
    StoreIsReadOnly,
)
from memory_mesh.policy.writing import audit
from memory_mesh.process.digests import keyed_digest

_SETUP = f"SET LOCAL ROLE {ROLE}; SET LOCAL search_path = {SCHEMA}, public"
_PLANNING = (  # plans are made once, for namespaces of every size: rows are looked up by index
    "SET plan_cache_mode = force_generic_plan; SET jit = off; SET enable_seqscan = off; "
    "SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off"
)
_ENGINE = PostgresEngine()
_MOST = 8  # connections of one process


class Transactions:
    """A pool of connections; each transaction is inside one namespace."""

    def __init__(self, url: str, key: bytes, lock_wait: float) -> None:
        self._key, self._lock_wait = key, lock_wait
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=_MOST,
            open=False,
            configure=_configured,
            kwargs={"autocommit": True, "prepare_threshold": 0},
        )

    def capability(self, namespace: str) -> bytes:
        """What shows that this process may enter a namespace."""
        return keyed_digest(self._key, f"namespace {namespace}".encode())

    @contextmanager
    def reading(self, namespace: str) -> Iterator[Connection | None]:
        """One moment of a namespace; None where there is no such namespace."""
        with self._begun("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as raw:
            yield Connection(raw, _ENGINE) if self._enter(raw, namespace) else None

    @contextmanager
    def writing(self, namespace: str, wait: float | None = None) -> Iterator[Connection]:
        """The namespace, which nobody else writes to meanwhile; made if there is none."""
        seconds = self._lock_wait if wait is None else wait
        with self._begun("BEGIN") as raw:
            raw.execute(f"SET LOCAL lock_timeout = {max(1, round(seconds * 1000))}")
            if not self._enter(raw, namespace):
                raw.execute(
                    "SELECT begin_namespace(%s, %s, %s)",
                    (namespace, self.capability(namespace), audit.genesis(namespace)),
                )
            raw.execute("SELECT 1 FROM store FOR UPDATE")
            with raw.pipeline() as pipeline:
                yield Connection(raw, _ENGINE, pipeline)

    def names(self, after: str, most: int) -> list[str]:
        """Names of namespaces after one, sorted."""
        with self._begun("BEGIN READ ONLY") as raw:
            return [name for (name,) in raw.execute("SELECT names_after(%s, %s)", (after, most))]

    def exists(self, namespace: str) -> bool:
        """Whether there is such a namespace."""
        with self.reading(namespace) as db:
            return db is not None

    def close(self) -> None:
        """Closes every connection."""
        self._pool.close()

    def _enter(self, raw: psycopg.Connection[Any], namespace: str) -> bool:
        found = raw.execute(
            "SELECT enter(%s, %s)", (namespace, self.capability(namespace)), prepare=True
        )
        return found.fetchone() != (None,)

    @contextmanager
    def _begun(self, begin: str) -> Iterator[psycopg.Connection[Any]]:
        with translated():
            self._pool.open()
            with self._pool.connection() as raw:
                raw.execute(f"{begin}; {_SETUP}", prepare=False)
                try:
                    yield raw
                    raw.execute("COMMIT")
                finally:
                    if (
                        not raw.closed
                        and raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
                    ):
                        raw.execute("ROLLBACK")


def _configured(raw: psycopg.Connection[Any]) -> None:
    raw.adapters.register_dumper(int, Int8Dumper)
    pgvector.register(raw)
    raw.execute(_PLANNING, prepare=False)


@contextmanager
def translated() -> Iterator[None]:
    """Raises faults of the database and the way to it as StoreError."""
    try:
        yield
    except (errors.LockNotAvailable, errors.DeadlockDetected, PoolTimeout) as error:
        raise StoreIsBusy(str(error)) from error
    except errors.DiskFull as error:
        raise StoreIsFull(str(error)) from error
    except errors.ReadOnlySqlTransaction as error:
        raise StoreIsReadOnly(str(error)) from error
    except (errors.DataCorrupted, errors.IndexCorrupted) as error:
        raise StoreIsDamaged(str(error)) from error
    except errors.InsufficientPrivilege as error:
        raise NotAllowed(str(error)) from error
    except psycopg.Error as error:
        raise StoreError(str(error)) from error
