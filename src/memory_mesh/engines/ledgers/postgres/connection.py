"""A connection that takes the shared statements, and raises faults in our words."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from memory_mesh.engines.ledgers.postgres import dialect
from memory_mesh.engines.ledgers.sql.engine import Engine


class Found:
    """The rows that a statement found, or how many it changed."""

    def __init__(
        self,
        cursor: psycopg.Cursor[Any],
        *,
        tells_number: bool,
        pipeline: psycopg.Pipeline | None = None,
    ) -> None:
        self._cursor, self._tells, self._pipeline = cursor, tells_number, pipeline

    def fetchone(self) -> Any:  # noqa: ANN401  # a row of any columns
        """The next row, or None."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        return self._cursor.fetchall()

    def fetchmany(self, size: int = 1) -> list[Any]:
        """So many of the rows that are left."""
        return self._cursor.fetchmany(size)

    def __iter__(self) -> Iterator[Any]:
        """Each row."""
        return iter(self._cursor)

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""
        if self._pipeline is not None:
            self._pipeline.sync()
        return self._cursor.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The number of the row it wrote."""
        row = self._cursor.fetchone() if self._tells else None
        return None if row is None else int(row[0])


class Connection:
    """What `sql` asks of a database, of one PostgreSQL transaction inside one namespace.

    With a pipeline statements are sent without waiting, until rows or a count are asked for.
    """

    def __init__(
        self,
        raw: psycopg.Connection[Any],
        engine: Engine,
        pipeline: psycopg.Pipeline | None = None,
    ) -> None:
        self.raw, self.engine, self._pipeline = raw, engine, pipeline
        self._lenient = False

    def execute(self, statement: str, values: dialect.Values = ()) -> Found:
        """Runs one of the shared statements."""
        found, bound = dialect.turned(statement, values)
        return Found(
            self._run(found.sql, bound), tells_number=found.tells_number, pipeline=self._pipeline
        )

    def executemany(self, statement: str, rows: Iterable[dialect.Values]) -> None:
        """Runs a statement for each of the rows."""
        groups: dict[str, list[dict[str, object]]] = {}
        for values in rows:
            found, bound = dialect.turned(statement, values)
            groups.setdefault(found.sql, []).append(bound)
        for sql, bounds in groups.items():
            if len(bounds) == 1:
                self.raw.execute(sql, bounds[0], prepare=True, binary=True)
            else:
                self.raw.cursor().executemany(sql, bounds)

    def own(self, statement: str, values: dialect.Values = ()) -> psycopg.Cursor[Any]:
        """Runs a statement that is written for PostgreSQL."""
        return self._run(statement, values)

    def own_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Runs a statement that is written for PostgreSQL for each of the rows."""
        with self.raw.cursor() as cursor:
            cursor.executemany(statement, rows)

    @contextmanager
    def lenient(self) -> Iterator[None]:
        """Inside, a statement that meets a value which it cannot read ends alone, as ValueError."""
        self._lenient = True
        try:
            yield
        finally:
            self._lenient = False

    def _run(self, statement: str, values: dialect.Values) -> psycopg.Cursor[Any]:
        if not self._lenient:
            return self.raw.execute(statement, values, prepare=True, binary=True)
        try:
            with self.raw.transaction():
                found = self.raw.execute(statement, values, binary=True)
                if self._pipeline is not None:
                    self._pipeline.sync()
                return found
        except (psycopg.DataError, psycopg.InternalError) as error:
            if self.raw.closed:
                raise
            raise ValueError(str(error)) from error
