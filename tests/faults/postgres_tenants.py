"""A database with rows of every table in one namespace of the attacker and in several others.

Every text of the others holds `MARK`, and every number that is written by hand `DIGITS`. No
statement of an attacker holds either, so an answer or a message that does has told something.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg
from psycopg import sql

from memory_mesh.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.ledgers.postgres.places import SCHEMA
from memory_mesh.ledgers.postgres.setup import opening_key
from memory_mesh.ledgers.postgres.transactions import Transactions
from memory_mesh.model import Commit, Memory, Standing, Wanted
from memory_mesh.testing import FrozenClock
from tests.contract.ledger_values import made, recall_entry, stored
from tests.postgres import APP, SECRET, Server

OWN = "ann"
OTHERS = ("bob", "cat", "dan", "zebra")  # so many that one shares the partition of `OWN`
MARK, DIGITS = "zebra", 771177
PARTITIONS = 2
_EACH = 3  # rows by hand of each table in each namespace
_REAL = 6  # memories that the ledger itself writes
_TABLES = """
    SELECT c.relname, c.relkind = 'p' OR NOT c.relispartition
        AND c.relname <> ALL ('{namespace,due}') AND 'ns' = ANY (array_agg(a.attname)),
        array_agg(a.attname ORDER BY a.attnum),
        array_agg(format_type(a.atttypid, NULL) ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'memory_mesh'::regnamespace AND c.relkind IN ('p', 'r')
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY c.oid ORDER BY c.relname"""


@dataclass(frozen=True)
class Table:
    """A table or partition, and the columns that can be written."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    whole: bool  # no partition, and one of those with `ns`


@dataclass
class World:
    """The database, and what an attacker may know of it."""

    server: Server
    database: str
    admin: psycopg.Connection[Any]
    tables: tuple[Table, ...]
    numbers: dict[str, int]  # of the namespaces
    capability: bytes  # of the attacker's namespace
    tags: list[tuple[int, str]] = field(default_factory=list)  # seen in earlier transactions

    @property
    def url(self) -> str:
        """Where processes connect to."""
        return self.server.url(self.database, APP)

    @property
    def own(self) -> int:
        """The number of the attacker's namespace."""
        return self.numbers[OWN]

    @property
    def foreign(self) -> list[int]:
        """The numbers of all others."""
        return [self.numbers[name] for name in OTHERS]

    def whole(self) -> list[Table]:
        """The tables that a namespace has rows in."""
        return [table for table in self.tables if table.whole]

    def digests(self) -> dict[str, str]:
        """What stands in each table for the other namespaces, and in those without `ns`."""
        parts = [
            f"SELECT '{table.name}', md5(coalesce(string_agg(x::text, ' ' ORDER BY x::text), ''))"
            f" FROM {SCHEMA}.{table.name} x" + (f" WHERE ns <> {self.own}" if table.whole else "")
            for table in self.tables
            if table.whole or "ns" not in table.columns or table.name == "namespace"
        ]
        return dict(self.admin.execute(" UNION ALL ".join(parts)).fetchall())

    def close(self) -> None:
        """Removes the database."""
        self.admin.close()
        self.server.drop(self.database)


def made_world(server: Server, *, place: bool = False) -> World:
    """A new database with rows of every kind; or a place of a fleet, whose tables are whole."""
    database = server.database(0 if place else PARTITIONS)
    ledger = PostgresLedger(server.url(database, APP), FrozenClock(), secret=SECRET)
    for name in (OWN, *OTHERS):
        _write(ledger, name)
    ledger.close()
    admin = psycopg.connect(server.url(database), autocommit=True)
    admin.execute(f"SET search_path = {SCHEMA}, public")
    tables = tuple(
        Table(name, tuple(columns), tuple(types), whole)
        for name, whole, columns, types in admin.execute(_TABLES)
    )
    numbers: dict[str, int] = dict(admin.execute("SELECT name, ns FROM namespace").fetchall())
    key = Transactions("", opening_key(SECRET), 1.0)
    world = World(server, database, admin, tables, numbers, key.capability(OWN))
    for name in (OWN, *OTHERS):
        _fill(world, name)
    admin.execute("ANALYZE")
    return world


def _write(ledger: PostgresLedger, namespace: str) -> None:
    word = "apple" if namespace == OWN else MARK
    for number in range(_REAL):
        text = f"{word} number {number} of {namespace}"
        memory = made(f"mem_{word}_{number:06x}", text)
        ledger.commit(namespace, Wanted(), partial(_decided, memory))
    ledger.note(namespace, recall_entry(f"yamo_recall_{word}", FrozenClock()))
    ledger.use(namespace, [f"mem_{word}_000000"], None)
    ledger.flush(namespace)


def _decided(memory: Memory, standing: Standing) -> Commit:
    return stored(standing, memory, memory.text)


def _fill(world: World, name: str) -> None:
    """Rows of every table, also of those that the few writes above do not reach."""
    for table in sorted(world.whole(), key=lambda table: table.name == "injected"):  # it refers
        for place in range(_EACH):
            values = [_value(kind, name, place) for kind in table.types]
            values[table.columns.index("ns")] = world.numbers[name]
            statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING").format(
                sql.Identifier(table.name),
                sql.SQL(", ").join(map(sql.Identifier, table.columns)),
                sql.SQL(", ").join(sql.Placeholder() * len(values)),
            )
            world.admin.execute(statement, _consistent(table, values))


def _consistent(table: Table, values: Sequence[object]) -> list[object]:
    """No version ends before it begins."""
    return [
        None if column == "recorded_until" else value
        for column, value in zip(table.columns, values, strict=True)
    ]


def _value(kind: str, name: str, place: int) -> object:
    word = "apple" if name == OWN else MARK
    number = (100_000 if name == OWN else DIGITS * 1_000) + place
    return {
        "text": f"{word} {place}",
        "bytea": f"{word} {place}".encode(),
        "bigint": number,
        "integer": place,
        "smallint": 1,
        "double precision": 0.5,
        "smallint[]": [1],
        "vector": "[1,0,0,0]",
        "timestamp with time zone": "2026-11-19T00:00:00Z",
    }[kind.removeprefix("public.")]


def lawful_tag(raw: psycopg.Connection[Any], namespace: str, key: Transactions) -> tuple[int, str]:
    """Enters a namespace as its own process does, and tells what `enter` has set."""
    raw.execute("BEGIN")
    raw.execute("SELECT memory_mesh.enter(%s, %s)", (namespace, key.capability(namespace)))
    asked = "SELECT current_setting('memory_mesh.ns'), current_setting('memory_mesh.tag')"
    found = raw.execute(asked).fetchone()
    raw.execute("ROLLBACK")
    assert found is not None
    return int(found[0]), str(found[1])


def until_gone(admin: psycopg.Connection[Any], pid: int) -> None:
    """Ends a connection from the server's side, and waits until it is gone."""
    admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
    asked = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    while admin.execute(asked, (pid,)).fetchone() != (0,):
        time.sleep(0.001)
