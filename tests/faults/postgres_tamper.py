"""Rows that the owner of a database changes behind the ledger's back: what `verify` finds of it.

Each change is made by a superuser, looked at by `verify` as a process that uses the store, and
undone: all of it in one transaction. `UNCHECKED` lists what nothing is promised about.
"""

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from memory_mesh.ledgers.postgres.connection import PostgresConnection
from memory_mesh.ledgers.postgres.copies import verify
from memory_mesh.ledgers.postgres.engine import PostgresEngine, register
from memory_mesh.ledgers.postgres.places import SCHEMA
from memory_mesh.ledgers.postgres.pool import BoundedConnection
from memory_mesh.ledgers.postgres.setup import ROLE
from memory_mesh.model import Scope
from tests.contract.ledger_values import axis, change, put
from tests.faults import postgres_world as world
from tests.faults.report import Progress, Report, Ticker, silent
from tests.faults.sample import dealt

NAMESPACE = "default"
# What nothing is promised about: records of reads, which are no part of the chain; what vectors
# were made with, and whether they are there, since they are made anew; the time of the last
# write and its number, which only move forward; numbers that order rows. A row of another
# namespace is gone from its own.
UNCHECKED: dict[str, frozenset[str]] = {
    "recall": frozenset({"*"}),
    "space": frozenset({"*"}),
    "store": frozenset({
        "identity", "min_reader", "min_writer", "old_skills", "old_texts", "one", "recorded", "seq",
    }),
    "vector": frozenset({"a row", "ns", "number"}),
    "version": frozenset({"number"}),
    "observation": frozenset({"number"}),
}  # fmt: skip
_KINDS = ("update", "update", "update", "delete")
_COLUMNS = """
    SELECT table_name, column_name, data_type FROM information_schema.columns
    WHERE table_schema = %s AND is_generated = 'NEVER' AND table_name IN (
        SELECT relname FROM pg_class WHERE relkind = 'p') ORDER BY 1, 2"""


def build(url: str) -> None:
    """A namespace with memories, later versions, vectors, keys and recalls."""
    with closing(world.open_ledger(url)) as ledger:
        for number in range(6):
            vectors = (axis(number % 4),) if number % 2 else ()
            memory = put(
                ledger, f"mem_1_{number:06x}", f"fact number {number} of many", tags=("a",),
                key=f"key-{number}", vectors=vectors, scope=Scope(session="s"),
            )  # fmt: skip
            if number % 3 == 0:
                change(ledger, memory, text=f"fact number {number} was corrected")
        ledger.use(NAMESPACE, ["mem_1_000001"], world.recall(1))
        ledger.flush(NAMESPACE)


def tampered(
    url: str, owner: str, *, mutations: int, seed: int, progress: Progress = silent
) -> Report:
    """So many changes of any row of any table; those not found must be among `UNCHECKED`."""
    build(url)
    report = Report({"mutations": 0, "found": 0, "undetected": 0, "refused by the database": 0})
    dice, ticker, missed = random.Random(seed), Ticker(progress, mutations), Counter[str]()
    with closing(world.open_ledger(url)) as ledger, BoundedConnection.connect(owner) as raw:
        capability = ledger._at.capability(NAMESPACE)
        register(raw)
        if alarms := _found(raw, capability):
            report.broken("false alarms", alarms[0])
        raw.rollback()
        tables = groupby(sorted(_filled(raw)), key=itemgetter(0))
        columns = [list(found) for _, found in tables]
        every = dealt(columns, dice, [len(found) for found in columns])
        for number, found in enumerate(islice(every, mutations)):
            case = _Case(raw, capability, report, missed)
            case.change(dice, dice.choice(found))
            ticker.tick(number + 1, "mutations")
    report.figures["not found, as stated"] = dict(sorted(missed.items()))
    return report


@dataclass(frozen=True)
class _Case:
    raw: BoundedConnection
    capability: bytes
    report: Report
    missed: Counter[str]

    def change(self, dice: random.Random, column: tuple[str, str, str]) -> None:
        """One change, one look, and everything as it was."""
        deletes = dice.choice(_KINDS) == "delete"
        self.report.count("mutations")
        try:
            what = (
                _delete(self.raw, dice, column[0]) if deletes else _update(self.raw, dice, *column)
            )
        except psycopg.Error:  # a constraint stands in the way
            self.report.count("refused by the database")
            self.raw.rollback()
            return
        found = _found(self.raw, self.capability)
        self.raw.rollback()
        place = "a row" if deletes else column[1]
        if found:
            self.report.count("found")
        elif UNCHECKED.get(column[0], frozenset()) & {place, "*"}:
            self.missed[f"{column[0]}: {place}"] += 1
        else:
            self.report.broken("undetected", what)


def _found(raw: BoundedConnection, capability: bytes) -> list[str]:
    """What `verify` finds as a process that uses the store, in the present transaction."""
    raw.execute(f"SET LOCAL ROLE {ROLE}; SET LOCAL search_path = {SCHEMA}, public", prepare=False)
    raw.execute("SELECT enter(%s, %s)", (NAMESPACE, capability))
    db = PostgresConnection(raw, PostgresEngine())
    return [str(each) for each in verify(db, None, NAMESPACE).findings]


def _filled(raw: BoundedConnection) -> list[tuple[str, str, str]]:
    """The columns of tables that have rows."""
    found = raw.execute(_COLUMNS, (SCHEMA,)).fetchall()
    filled = {
        table
        for table in {table for table, _, _ in found}
        if raw.execute(_sql("SELECT 1 FROM {} LIMIT 1", table)).fetchone()
    }
    raw.rollback()
    return [row for row in found if row[0] in filled]


def _delete(raw: BoundedConnection, dice: random.Random, table: str) -> str:
    part, place = _row(raw, dice, table)
    raw.execute(_sql("DELETE FROM {} WHERE ctid = %s AND tableoid = %s", table), (place, part))
    return f"a row of {table} is gone"


def _update(raw: BoundedConnection, dice: random.Random, table: str, column: str, kind: str) -> str:
    part, place = _row(raw, dice, table)
    read = sql.SQL("SELECT {} FROM {}.{} WHERE ctid = %s AND tableoid = %s")
    names = (sql.Identifier(column), sql.Identifier(SCHEMA), sql.Identifier(table))
    row = raw.execute(read.format(*names), (place, part)).fetchone()
    assert row is not None
    new = dice.choice([value for value in _others(row[0], kind, dice) if value != row[0]])
    change_ = sql.SQL("UPDATE {}.{} SET {} = %s WHERE ctid = %s AND tableoid = %s")
    raw.execute(change_.format(names[1], names[2], names[0]), (new, place, part))
    return f"{column} of {table} from {row[0]!r} to {new!r}"


def _row(raw: BoundedConnection, dice: random.Random, table: str) -> tuple[Any, Any]:
    found = raw.execute(_sql("SELECT tableoid, ctid FROM {} ORDER BY 1, 2", table)).fetchall()
    part, place = dice.choice(found)
    return part, place


def _others(old: Any, kind: str, dice: random.Random) -> Sequence[object]:
    """What somebody might put in place of a value."""
    match kind:
        case "bigint" | "integer" | "smallint":
            return [0, 7, None] if old is None else [old + 1, old - 1, old + 1000, 0, None]
        case "double precision":
            return [0.25, None] if old is None else [old + 0.5, old / 2 - 1, None]
        case "bytea":
            if not old:
                return [b"x", None]
            at = dice.randrange(len(old))
            flipped = old[:at] + bytes([old[at] ^ (1 << dice.randrange(8))]) + old[at + 1 :]
            return [flipped, old[:-1], old + b"\0", b"", None]
        case "ARRAY":
            return [[*old, 99], old[1:], [*old[:-1], 98]]
        case "text":
            text = old or ""
            at = dice.randrange(max(1, len(text)))
            return [text[:at] + "Ω" + text[at + 1 :], text + " ", "", "[]", "{}", "no json", None]
        case _:
            return ["[1,2,3,4]", "[0,0,0,1]", None]


def _sql(statement: LiteralString, table: str) -> sql.Composed:
    return sql.SQL(statement).format(sql.Identifier(SCHEMA, table))
