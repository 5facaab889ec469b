"""A namespace's rows for an archive, and the rows of a finished file as a namespace.

Both ledgers have the same tables and columns, so that rows are copied as they are, checksums and
all. Only words are written anew: each ledger keeps them in its own way.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import psycopg

from memory_mesh.formats.archive import Value
from memory_mesh.ledgers.postgres import scoring
from memory_mesh.ledgers.postgres.connection import PostgresConnection
from memory_mesh.ledgers.postgres.engine import Vector
from memory_mesh.ledgers.postgres.places import places_by_server
from memory_mesh.ledgers.postgres.pool import BoundedConnection
from memory_mesh.ledgers.postgres.transactions import Transactions
from memory_mesh.ledgers.shared import named_values, rows, verify as sql_verify
from memory_mesh.ledgers.shared.engine import LIVE, REST, Database
from memory_mesh.ledgers.sqlite import archive_rows, open_file, schema
from memory_mesh.ledgers.sqlite.connections import KEYS
from memory_mesh.model import Checkpoint, Finding, Verification
from memory_mesh.rules import audit

NAME, INDEX = "words", "index of vectors"
_OF_SHELF = {
    LIVE: "IN",
    REST: "NOT IN",
}
_MISCOUNTED = """
    SELECT coalesce(c.shelf, p.shelf), coalesce(c.word, p.word) FROM
        (SELECT shelf, word, count(*) AS held FROM posting GROUP BY shelf, word) p
        FULL JOIN word_count c ON c.shelf = p.shelf AND c.word = p.word
    WHERE coalesce(c.holders, 0) <> coalesce(p.held, 0)"""


_INVARIANTS = {  # a version that is gone leaves its text behind
    "every text is that of a version": """
        SELECT m.id FROM text t JOIN memory m ON m.number = t.memory
        WHERE NOT EXISTS (SELECT 1 FROM version v WHERE v.text = t.number)"""
}

_PAGE = 1_000  # rows that are read or written at a time
_DERIVED = ("audience", "metadata_mark")  # tables that an archive does not carry
_OWN_OF_STORE = ("one", "min_reader", "min_writer")  # each ledger has versions of its own
_OLD_TERMS = "analyzer of the keyword terms"  # upkeep writes them anew: no damage
_IN_USE = "SELECT text FROM version WHERE recorded_until IS NULL AND status = 'active'"


_LAST_USED = """
    SELECT greatest((SELECT recorded FROM store), (SELECT max(at) FROM recall),
        (SELECT max(at) FROM injection), (SELECT max(last_used) FROM memory))"""
MICROS = 1_000_000  # of a second


class PostgresDump:
    """What an archive is made of, as of one moment of a namespace."""

    def __init__(self, db: PostgresConnection) -> None:
        self._db = db

    def flaws(self) -> list[str]:
        """What is damaged, in words."""
        return flaws(self._db)

    def mark(self) -> archive_rows.DumpPoint:
        """Where the namespace stands."""
        return mark(self._db)

    def layouts(self, *, with_vectors: bool) -> list[archive_rows.TableLayout]:
        """The tables that an archive carries: those of a file of today's schema."""
        with open_file.empty("default") as file:
            return archive_rows.layouts(file, with_vectors=with_vectors)

    def rows(self, table: archive_rows.TableLayout) -> Iterator[Sequence[Value]]:
        """Every row of a table, in the order of its key."""
        names = ", ".join(f'"{name}"' for name in table.columns)
        if table.name == "store":
            yield self._store(table.columns)
            return
        with self._db.raw.cursor(name="dumped") as found:
            found.itersize = _PAGE
            found.execute(
                f'SELECT {names} FROM "{table.name}" ORDER BY {table.order}',  # noqa: S608  # own names
                binary=True,
            )
            for row in found:
                if table.name == "state" and row[0] == KEYS:  # the manifest says it
                    continue
                yield _unpacked(table, row) if table.name == "block" else row

    def _store(self, columns: Sequence[str]) -> list[Value]:
        """Where the namespace stands, for the versions that may read a file of it."""
        with open_file.empty("default") as file:
            own = file.execute(f"SELECT {', '.join(_OWN_OF_STORE)} FROM store").fetchone()  # noqa: S608
        (row,) = self._db.own(f"SELECT {', '.join(columns)} FROM store").fetchall()  # noqa: S608
        return list(
            (
                dict(zip(columns, row, strict=True)) | dict(zip(_OWN_OF_STORE, own, strict=True))
            ).values()
        )


def flaws(db: PostgresConnection, against: Checkpoint | None = None) -> list[str]:
    """What is damaged in a namespace, in words; keyword terms of an earlier version are not."""
    found: Verification = verify(db, against)
    return [f"{one.check}: {one.detail}" for one in found.findings if one.check != _OLD_TERMS]


def mark(db: PostgresConnection) -> archive_rows.DumpPoint:
    """Where the namespace stands; its rows are those of a file of today's schema."""
    namespace, identity, seq, position, hashed = db.execute(
        "SELECT namespace, identity, seq, position, head FROM store"
    ).fetchone()
    known = named_values.by_name(db, [archive_rows.COPIED_FROM, KEYS])
    earlier, keys = (json.loads(known.get(name, "[]")) for name in (archive_rows.COPIED_FROM, KEYS))
    memories, tombstones = (
        db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  # own names
        for table in ("memory", "tombstone")
    )
    return archive_rows.DumpPoint(
        schema.NEWEST,
        namespace,
        (identity, *earlier),
        tuple(keys),
        seq,
        position,
        hashed,
        memories,
        tombstones,
    )


def erased(db: PostgresConnection) -> tuple[list[str], list[bytes]]:
    """What was erased from the namespace, as its blocks say, and what keeps those words out."""
    said, out = (
        db.execute(asked).fetchall()
        for asked in (
            "SELECT memories FROM block WHERE operation = 'erase'",
            "SELECT digest FROM tombstone WHERE why = 'erased'",
        )
    )
    ids = {id_ for (memories,) in said for id_ in json.loads(memories)}
    return sorted(ids), [bytes(digest) for (digest,) in out]


def is_empty(db: PostgresConnection) -> bool:
    """Whether nothing was ever written to the namespace."""
    return rows.head(db).seq == 0


def erase(db: PostgresConnection) -> int:
    """Deletes the namespace, and notes its identity; how many memories it had."""
    (memories,) = db.own("SELECT erase_namespace()").fetchall()[0]
    return int(memories)


def used(db: PostgresConnection) -> datetime:
    """When the namespace was last written, or read with a record of it."""
    (moment,) = db.own(_LAST_USED).fetchall()[0]
    return datetime.fromtimestamp(moment / MICROS, UTC)


def note_object(db: PostgresConnection, name: str) -> None:
    """Notes an object before it is written, so that it is removed if nobody comes to need it."""
    db.own("SELECT note_object(%s)", (name,)).fetchall()


def look_again(db: PostgresConnection, moment: datetime) -> None:
    """Says that the namespace is used, and when it may be idle."""
    db.own("SELECT is_used_until(%s)", (moment,)).fetchall()


def begin_waking(
    database: Transactions, raw: BoundedConnection, namespace: str, keep_days: int
) -> dict[str, Any] | None:
    """Takes a cold namespace to bring it back: where its archive is; None where it is not cold."""
    values = (namespace, database.capability(namespace), audit.genesis(namespace), keep_days)
    (told,) = raw.execute("SELECT begin_waking(%s, %s, %s, %s)", values).fetchone() or (None,)
    found: dict[str, Any] | None = told
    return found


def freeze(db: PostgresConnection, archived: Mapping[str, str | int]) -> None:
    """Deletes the rows of the namespace, and says where the archive of them is."""
    db.own("SELECT freeze_namespace(%s)", (json.dumps(archived),)).fetchall()


def erase_cold(database: Transactions, namespace: str) -> int | None:
    """Deletes a namespace that is cold: how many memories it had; None where it is not."""
    values = (namespace, database.capability(namespace))
    found: int | None = database.ask(namespace, "erase_cold", *values)[0][0]
    return found


def name_storage(url: str, address: str) -> None:
    """Says where archives of cold namespaces lie; only the owner of the database may."""
    with psycopg.connect(url) as db:
        servers = places_by_server(db, url)
    for server, places in servers:
        with psycopg.connect(server or url) as db:
            for place in places:
                db.execute(
                    f"INSERT INTO {place}.cold_storage VALUES (1, %s) "  # noqa: S608  # own names
                    "ON CONFLICT (one) DO UPDATE SET address = excluded.address",
                    (address,),
                )


def take_in(db: PostgresConnection, file: sqlite3.Connection) -> None:
    """Copies every row of a finished file of the same namespace into an empty one."""
    tables = [table.name for table in archive_rows.layouts(file, with_vectors=True)]
    for table in sorted(
        {*tables, *_DERIVED} - {"store"}, key=lambda table: (table == "injected", table)
    ):
        _copy(db, file, table)
    columns = [name for name in _columns(file, "store") if name not in _OWN_OF_STORE]
    sets = ", ".join(f"{name} = ?" for name in columns)
    (row,) = file.execute(f"SELECT {', '.join(columns)} FROM store").fetchall()  # noqa: S608
    db.execute(f"UPDATE store SET {sets}", row)  # noqa: S608  # own names
    for shelf, inside in ((LIVE, "IN"), (REST, "NOT IN")):
        texts = file.execute(
            f"SELECT number, terms FROM text WHERE number {inside} ({_IN_USE})"  # noqa: S608
        )
        while page := texts.fetchmany(_PAGE):
            scoring.put(db, shelf, page)
    db.own("SELECT numbers_after(%s)", (_highest(file, tables),))


def _copy(db: PostgresConnection, file: sqlite3.Connection, table: str) -> None:
    columns = _columns(file, table)
    names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join(["%s"] * len(columns))
    found = file.execute(f'SELECT {names} FROM "{table}"')  # noqa: S608  # own names
    at = columns.index("data") if table == "vector" else None
    while page := list(islice(found, _PAGE)):
        if at is not None:
            page = [(*row[:at], Vector(row[at]), *row[at + 1 :]) for row in page]
        db.own_many(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', page)  # noqa: S608


def _columns(file: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in file.execute(f'PRAGMA table_info("{table}")')]


def _highest(file: sqlite3.Connection, tables: Sequence[str]) -> int:
    """The highest number of any row, so that the database counts on from there."""
    numbered = [name for name in tables if "number" in _columns(file, name)]
    found = (
        file.execute(f'SELECT max(number) FROM "{name}"').fetchone()[0]  # noqa: S608  # own names
        for name in [*numbered, "audience"]
    )
    return max((number for number in found if number is not None), default=0)


def _unpacked(table: archive_rows.TableLayout, row: Sequence[Value]) -> list[Value]:
    named = dict(zip(table.columns, row, strict=True))
    for name in ("wire", "metadata"):
        named[name] = rows.unpacked(named[name], named["memories"], named["at"])  # type: ignore[arg-type]
    return list(named.values())


# What `verify` reads of a namespace in PostgreSQL besides its rows: words and indexes.


def verify(db: Database, against: Checkpoint | None = None, namespace: str = "") -> Verification:
    """Everything that can be checked of a namespace in PostgreSQL, its words and indexes too."""
    checks = {NAME: check, INDEX: check_index}
    return sql_verify.verify(db, checks, _INVARIANTS, against, namespace)


def check(db: PostgresConnection, checked: Counter[str]) -> Iterator[Finding]:
    """Every text has the postings of its terms, on the shelf where it belongs, and no other."""
    for shelf, inside in _OF_SHELF.items():
        stored = db.own(
            f"SELECT number, terms FROM text WHERE number {inside} (SELECT text FROM version "  # noqa: S608
            "WHERE recorded_until IS NULL AND status = 'active')"
        )
        expected = {number: scoring.places(terms) for number, terms in stored}
        checked["texts found by their terms"] += len(expected)
        lengths = {number: sum(map(len, words.values())) for number, words in expected.items()}
        found: dict[int, dict[str, list[int]]] = {}
        wrong: set[int] = set()
        for number, word, at, length in db.own(
            "SELECT holder, word, places, length FROM posting WHERE shelf = %s", (shelf,)
        ):
            found.setdefault(number, {})[word] = at
            if length != lengths.get(number):
                wrong.add(number)
        for number in sorted(expected.keys() | found.keys()):
            if number in wrong or expected.get(number, {}) != found.get(number, {}):
                yield Finding(NAME, f"{shelf} does not hold the terms of text {number}")
        size = (len(expected), sum(lengths.values()))
        told = db.own("SELECT holders, words FROM shelf_size WHERE shelf = %s", (shelf,)).fetchone()
        if (told or (0, 0)) != size:
            yield Finding(NAME, f"{shelf} has {size[0]} texts of {size[1]} words, and tells {told}")
    for shelf, word in db.own(_MISCOUNTED):
        yield Finding(NAME, f"the count of {word!r} in {shelf} is wrong")


def check_index(db: PostgresConnection, checked: Counter[str]) -> Iterator[Finding]:
    """Every index holds the vectors up to the number that its space tells, and no other."""
    told = db.own("SELECT number, name, body_rows FROM space WHERE body_version IS NOT NULL")
    for number, name, held in told.fetchall():
        checked["vectors in an index"] += held
        (differing,) = db.own("SELECT index_differs(%s)", (number,)).fetchone() or (0,)
        if differing:
            yield Finding(
                INDEX,
                f"that of {name} differs from {differing} vectors; run `memory-mesh upkeep "
                "--rebuild-index`",
            )
