"""Transactions inside one namespace: entered with a capability, faults raised in our words."""

import os
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
from memory_mesh.engines.ledgers.postgres.logins import bypassing, refusal
from memory_mesh.engines.ledgers.postgres.route import Route
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

_SETUP = (  # temporary tables come last, so that none takes the place of one of ours
    f"SET LOCAL ROLE {ROLE}; SET LOCAL search_path = {SCHEMA}, public, pg_temp; "
    "SET LOCAL plan_cache_mode = force_generic_plan"
)
_ALL = b"all namespaces"
_ENGINE = PostgresEngine()
_MOST = 8  # connections of one process


class Transactions:
    """A pool of connections; each transaction is inside one namespace.

    A process that was forked makes a pool of its own: two that used one connection would be inside
    each other's namespaces.
    """

    def __init__(self, url: str, key: bytes, lock_wait: float) -> None:
        self._key, self._lock_wait = key, lock_wait
        self._route = Route.of(url)
        self._pools = {os.getpid(): self._new_pool()}  # that of a parent is kept and not touched
        self._plain_login = False  # known not to pass by row-level security

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
            yield Connection(raw, _ENGINE)

    def names(self, after: str, most: int) -> list[str]:
        """Names of namespaces after one, sorted."""
        values = (keyed_digest(self._key, _ALL), after, most)
        with self._begun("BEGIN READ ONLY") as raw:
            return [name for (name,) in raw.execute("SELECT names_after(%s, %s, %s)", values)]

    def exists(self, namespace: str) -> bool:
        """Whether there is such a namespace."""
        with self.reading(namespace) as db:
            return db is not None

    def close(self) -> None:
        """Closes every connection of this process."""
        pool = self._pools.get(os.getpid())
        if pool is not None:
            pool.close()

    def _enter(self, raw: psycopg.Connection[Any], namespace: str) -> bool:
        found = raw.execute(
            "SELECT enter(%s, %s)", (namespace, self.capability(namespace)), prepare=True
        )
        return found.fetchone() != (None,)

    @contextmanager
    def _begun(self, begin: str) -> Iterator[psycopg.Connection[Any]]:
        with translated(), self._connection() as raw:
            raw.execute(f"{begin}; {_SETUP}", prepare=False)
            try:
                yield raw
                raw.execute("COMMIT")
            except errors.InvalidSqlStatementName:
                raw.close()  # somebody took away what was prepared here
                raise
            finally:
                if (
                    not raw.closed
                    and raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
                ):
                    raw.execute("ROLLBACK")

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        pool = self._pools.get(os.getpid())
        if pool is None:
            pool = self._pools.setdefault(os.getpid(), self._new_pool())
        pool.open()
        with pool.connection() as raw:
            if not self._plain_login:
                self._refuse_bypassing(raw)
            yield raw

    def _refuse_bypassing(self, raw: psycopg.Connection[Any]) -> None:
        if roles := bypassing(raw):
            raise NotAllowed(refusal(raw.info.user, roles))
        self._plain_login = True

    def _new_pool(self) -> "ConnectionPool[psycopg.Connection[Any]]":
        return ConnectionPool(
            self._route.url,
            min_size=0,
            max_size=_MOST,
            open=False,
            configure=_configured if self._route.pooled else _configured_to_prepare,
            kwargs={"autocommit": True, "prepare_threshold": None},
        )


def _configured(raw: psycopg.Connection[Any]) -> None:
    """Changes nothing in the server, where the connection may be that of the next user too."""
    raw.adapters.register_dumper(int, Int8Dumper)
    pgvector.register(raw)


def _configured_to_prepare(raw: psycopg.Connection[Any]) -> None:
    """Prepares statements, unless a pooler stands between: it gives a process number of its own."""
    _configured(raw)
    if raw.execute("SELECT pg_backend_pid()").fetchone() == (raw.info.backend_pid,):
        raw.prepare_threshold = 0


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
