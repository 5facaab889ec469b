"""A connection to one file, and what it remembers of it."""

import sqlite3
from pathlib import Path

from memory_mesh.base.typed import Any
from memory_mesh.ledgers.shared.connection_memory import FileKnowledge
from memory_mesh.ledgers.shared.engine import Engine
from memory_mesh.model.errors import StoreIsDamaged


class SqliteConnection(sqlite3.Connection):
    """A connection that remembers how far it saw its file migrated; no file ever goes back."""

    engine: Engine  # which each connection is given
    migrated = 0
    knows_grown = False  # saw the indexes of a grown file, which are never removed
    reads_only = False
    immutable = False  # reads a file that cannot be written, without a lock
    stands: tuple[Any, ...] | None = None  # the head, as the check of this transaction saw it
    last_text: int | None = None  # the highest number of a text, as the same check saw it
    word_lists: frozenset[str] = frozenset()  # keyword tables whose words this connection can list
    others = 0  # a counter of the writes of other connections, as the same check saw it
    known: "FileKnowledge | None" = None  # what it remembers of its file until somebody writes
    life = ""  # differs after a restore: what a process remembers of the file is no longer so
    path: Path | None = None  # of the database that it reads, where other files lie beside it
    flaw: StoreIsDamaged | None = None  # of a database that is only looked at


def known(db: SqliteConnection) -> FileKnowledge:
    """What the connection remembers that still holds; only a read transaction may ask.

    A write transaction has not compared the counters, and what it wrote may be rolled back.
    """
    found, now = db.known, (db.others, db.total_changes)
    if found is None or (found.others, found.own) != now:
        found = db.known = FileKnowledge(*now)
    return found
