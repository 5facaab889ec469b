"""Fills databases quickly: rows of a SQLite store as they are, and namespaces as copies of one."""

import sqlite3
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types import TypeInfo

from bench.measure import say
from bench.postgres_stores import SECRET
from memory_mesh.ledgers.postgres import engine, scoring
from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.ledgers.shared.engine import LIVE, REST
from memory_mesh.model import Commit, Wanted
from memory_mesh.platform.ids import SystemClock

Columns = dict[str, str]  # names and types
_VECTOR = "vector"


class Filling:
    """One database, filled by its owner; `login` is the URL of those that use it."""

    def __init__(self, owner: str, login: str) -> None:
        self.login = login
        self._db = psycopg.connect(owner, autocommit=True)
        engine.register(self._db)
        info = TypeInfo.fetch(self._db, _VECTOR)
        if info is not None:
            info.register(self._db)
        self._db.execute("SET search_path = memory_mesh, public")
        self._db.execute("SET synchronous_commit = off")
        self._tables = {name: self._columns(name) for name in self._names()}

    def close(self) -> None:
        """Gathers statistics, as the server does by itself after a while, and lets go."""
        self._db.execute("VACUUM (ANALYZE)")
        self._db.execute("CHECKPOINT")
        self._db.close()

    def take_in(self, file: Path, namespace: str = "default") -> None:
        """The rows of a SQLite store, with the same numbers, as a namespace."""
        ns = self._begin(namespace)
        source = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        there = {name for (name,) in source.execute("SELECT name FROM sqlite_schema")}
        for name, columns in self._tables.items():
            if name in there and name != "store":
                self._copy(source, name, columns, ns)
        stands = source.execute(
            "SELECT seq, recorded, position, head, analyzer FROM store"
        ).fetchone()
        self._db.execute(  # its identity is its own: the same file may be there twice
            "UPDATE store SET seq = %s, recorded = %s, position = %s, head = %s, analyzer = %s "
            "WHERE ns = %s",
            (*stands, ns),
        )
        self._copy_words(source, ns)
        self._db.execute("SELECT setval('numbers', (SELECT max(number) + 1 FROM vector))")
        source.close()

    def spread(self, source: str, first: int, last: int) -> None:
        """Namespaces that hold what the source does, called team-N."""
        of = self._number(source)
        for number in range(first, last):
            ns = self._begin(f"team-{number:05}")
            with self._db.transaction():
                for name, columns in self._tables.items():
                    if name != "store":
                        self._db.execute(
                            sql.SQL(
                                "INSERT INTO {0} ({1}, ns) SELECT {1}, %s FROM {0} WHERE ns = %s"
                            ).format(sql.Identifier(name), _listed(columns)),
                            (ns, of),
                        )
                self._db.execute(
                    "UPDATE store SET (seq, recorded, position, head, analyzer) = (SELECT seq, "
                    "recorded, position, head, analyzer FROM store WHERE ns = %s) WHERE ns = %s",
                    (of, ns),
                )
            if number % 100 == 0:
                say(f"  {number - first + 1:,} of {last - first:,} namespaces")

    def _begin(self, namespace: str) -> int:
        ledger = PostgresLedger(self.login, SystemClock(), secret=SECRET)
        ledger.commit(namespace, Wanted(), lambda _: Commit())
        ledger.close()
        return self._number(namespace)

    def _number(self, namespace: str) -> int:
        found = self._db.execute("SELECT ns FROM namespace WHERE name = %s", (namespace,))
        row = found.fetchone()
        if row is None:
            raise LookupError(namespace)
        return int(row[0])

    def _names(self) -> list[str]:
        found = self._db.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'memory_mesh'::regnamespace "
            "AND relkind = 'p' ORDER BY oid"
        )
        return [name for (name,) in found]

    def _columns(self, table: str) -> Columns:
        found = self._db.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = %s::regclass AND attnum > 0 AND attgenerated = '' "
            "AND attname <> 'ns' ORDER BY attnum",
            (f"memory_mesh.{table}",),
        )
        return {name: type_.removeprefix("public.") for name, type_ in found}

    def _copy(self, source: sqlite3.Connection, table: str, columns: Columns, ns: int) -> None:
        known = {row[1] for row in source.execute(f'PRAGMA table_info("{table}")')}
        shared = {name: type_ for name, type_ in columns.items() if name in known}
        listed = ", ".join(f'"{name}"' for name in shared)
        types = list(shared.values())
        with self._writing(table, [*shared], [*types, "bigint"]) as copy:
            for row in source.execute(f'SELECT {listed} FROM "{table}"'):
                copy.write_row([*map(_value, row, types), ns])

    def _copy_words(self, source: sqlite3.Connection, ns: int) -> None:
        """Postings and counts, made from the terms of each text."""
        live = {text for (text,) in source.execute("SELECT rowid FROM live")}
        counts: dict[tuple[str, str], int] = {}
        sizes = {LIVE: [0, 0], REST: [0, 0]}
        columns = ["shelf", "word", "holder", "places", "length"]
        types = ["text", "text", "bigint", "smallint[]", "integer", "bigint"]
        with self._writing("posting", columns, types) as copy:
            for number, terms in source.execute("SELECT number, terms FROM text ORDER BY number"):
                shelf, found = LIVE if number in live else REST, scoring.places(terms)
                length = sum(map(len, found.values()))
                sizes[shelf][0] += 1
                sizes[shelf][1] += length
                for word, places in found.items():
                    copy.write_row([shelf, word, number, places, length, ns])
                    counts[shelf, word] = counts.get((shelf, word), 0) + 1
        types = ["text", "text", "bigint", "bigint"]
        with self._writing("word_count", ["shelf", "word", "holders"], types) as copy:
            for (shelf, word), holders in counts.items():
                copy.write_row([shelf, word, holders, ns])
        for shelf, size in sizes.items():
            if size[0]:
                self._db.execute(
                    "INSERT INTO shelf_size VALUES (%s, %s, %s, %s)", (shelf, *size, ns)
                )

    def _writing(self, table: str, columns: list[str], types: list[str]) -> Any:  # noqa: ANN401
        statement = sql.SQL("COPY {} ({}, ns) FROM STDIN (FORMAT binary)").format(
            sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        return _Typed(self._db, statement, types)


class _Typed:
    """A COPY whose columns have known types."""

    def __init__(self, db: psycopg.Connection, statement: sql.Composed, types: list[str]) -> None:
        self._copying = db.cursor().copy(statement)
        self._types = types

    def __enter__(self) -> Any:  # noqa: ANN401  # psycopg's own class
        copy = self._copying.__enter__()
        copy.set_types(self._types)
        return copy

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401, PYI036  # handed on
        self._copying.__exit__(*error)


def _listed(columns: Columns) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _value(value: object, type_: str) -> object:
    if value is None:
        return None
    if type_ == _VECTOR:
        return engine.Vector(value)
    return float(str(value)) if type_ == "double precision" else value
