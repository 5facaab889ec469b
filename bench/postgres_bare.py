# ruff: noqa: ANN401  # what psycopg takes
"""The statements that a ledger sends: recorded, and sent again by a bare connection."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from memory_mesh.ledgers.postgres import transactions
from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.model import Commit, Standing, Wanted

_SETTING_UP = (
    "SELECT pg_catalog.set_config('plan_cache_mode'",
    "SELECT oid",
)  # of a new connection


@dataclass(frozen=True, slots=True)
class Sent:
    """One statement with its values, or the values of many rows."""

    statement: Any
    values: Any
    options: dict[str, Any]
    many: bool = False


@dataclass(slots=True)
class Record:
    """What was sent since the last look, and the seconds that it took."""

    sent: list[Sent] = field(default_factory=list)
    seconds: float = 0.0

    def taken(self) -> list[Sent]:
        """What was sent; the record begins anew."""
        found, self.sent = self.sent, []
        return [each for each in found if not str(each.statement).startswith(_SETTING_UP)]


@contextmanager
def recording() -> Iterator[Record]:
    """Records what every connection sends meanwhile."""
    record = Record()
    execute, executemany = psycopg.Connection.execute, psycopg.Cursor.executemany

    def execute_recorded(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        record.sent.append(Sent(query, params, options))
        began = time.perf_counter()
        try:
            return execute(self, query, params, **options)
        finally:
            record.seconds += time.perf_counter() - began

    def many_recorded(self: Any, query: Any, params_seq: Any, **options: Any) -> None:
        rows = list(params_seq)
        record.sent.append(Sent(query, rows, options, many=True))
        began = time.perf_counter()
        try:
            executemany(self, query, rows, **options)
        finally:
            record.seconds += time.perf_counter() - began

    psycopg.Connection.execute = execute_recorded  # type: ignore[method-assign]
    psycopg.Cursor.executemany = many_recorded  # type: ignore[method-assign]
    try:
        yield record
    finally:
        psycopg.Connection.execute = execute  # type: ignore[method-assign]
        psycopg.Cursor.executemany = executemany  # type: ignore[method-assign]


@contextmanager
def bare(url: str) -> Iterator[Callable[[Sequence[Sent]], None]]:
    """A connection as the ledger's are, and what sends recorded statements through it."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=0) as raw:
        transactions._configured(raw)  # noqa: SLF001  # as the pool does

        def send(statements: Sequence[Sent]) -> None:
            for each in statements:
                if each.many:
                    raw.cursor().executemany(each.statement, each.values, **each.options)
                    continue
                cursor = raw.execute(each.statement, each.values, **each.options)
                if cursor.description is not None:
                    cursor.fetchall()

        yield send


class Watched(PostgresLedger):
    """A ledger that knows how long its last commit took, without what the caller decides."""

    record: Record
    seconds = 0.0

    def commit(
        self, namespace: str, wanted: Wanted, decide: Callable[[Standing], Commit]
    ) -> Commit:
        """The same; statements that are sent while the caller decides count."""
        deciding = 0.0

        def decided(standing: Standing) -> Commit:
            nonlocal deciding
            began, sending = time.perf_counter(), self.record.seconds
            found = decide(standing)
            deciding += time.perf_counter() - began - (self.record.seconds - sending)
            return found

        began = time.perf_counter()
        self.record.taken()
        found = super().commit(namespace, wanted, decided)
        self.seconds = time.perf_counter() - began - deciding
        return found
