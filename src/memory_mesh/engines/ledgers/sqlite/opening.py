"""Opening a database: with patience, for its owner only, and for a version that may use it."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from memory_mesh.engines.ledgers.sql import rows, sums
from memory_mesh.engines.ledgers.sql.remembered import Known
from memory_mesh.engines.ledgers.sqlite import namespace_places, schema
from memory_mesh.engines.ledgers.sqlite.faults import PRIMARY, damaged
from memory_mesh.errors import StoreIsDamaged, StoreIsNewer
from memory_mesh.process import lock_holder, private, waits
from memory_mesh.typed import Any, TypeVar

T = TypeVar("T")
WRITES = "coalesce((SELECT CAST(value AS INTEGER) FROM state WHERE name = 'writes'), 0)"
_WRITABLE = "mode=rw"
_OTHERS = "(SELECT data_version FROM pragma_data_version)"
_LAST_TEXT = "(SELECT max(number) FROM text)"
_CACHE_KIB = 8192  # page cache a connection may grow to
_BUSY_SECONDS = 0.1  # that SQLite itself waits; we look at the deadline and ask it again
_BEING_MADE, _LOOK_SECONDS = "128", 0.005  # the byte that SQLite locks to make shared memory


class Connection(sqlite3.Connection):
    """A connection that remembers how far it saw its file migrated; no file ever goes back."""

    migrated = 0
    knows_grown = False  # saw the indexes of a grown file, which are never removed
    reads_only = False
    immutable = False  # reads a file that cannot be written, without a lock
    stands: tuple[Any, ...] | None = None  # the head, as the check of this transaction saw it
    last_text: int | None = None  # the highest number of a text, as the same check saw it
    word_lists: frozenset[str] = frozenset()  # keyword tables whose words this connection can list
    others = 0  # a counter of the writes of other connections, as the same check saw it
    known: "Known | None" = None  # what it remembers of its file until somebody writes
    life = ""  # differs after a restore: what a process remembers of the file is no longer so
    path: Path | None = None  # of the database that it reads, where other files lie beside it
    flaw: StoreIsDamaged | None = None  # of a database that is only looked at


def known(db: Connection) -> Known:
    """What the connection remembers that still holds; only a read transaction may ask.

    A write transaction has not compared the counters, and what it wrote may be rolled back.
    """
    found, now = db.known, (db.others, db.total_changes)
    if found is None or (found.others, found.own) != now:
        found = db.known = Known(*now)
    return found


def connect(path: Path, mode: str = _WRITABLE) -> Connection:
    """A connection to an existing file that waits for its disk at every commit."""
    db = sqlite3.connect(
        f"file:{namespace_places.quoted(str(path))}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=Connection,
    )
    db.reads_only = mode != _WRITABLE
    try:
        sums.define(db)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except (sqlite3.Error, UnicodeDecodeError):  # a message may repeat damaged bytes
        db.close()
        raise
    return db


def create(path: Path) -> None:
    """An empty file that only its owner may read, safely entered in its folder."""
    private.make_file(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def patiently(path: Path, step: Callable[[], T], end: float) -> T:
    """Does the step; asks again until the deadline while another program keeps the file busy."""
    start = time.monotonic()
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & PRIMARY
            if code != sqlite3.SQLITE_BUSY:
                raise
            if waits.is_over(end):
                waited = time.monotonic() - start
                raise lock_holder.busy(path, waited, signed=False) from error


def await_log(path: Path, end: float) -> None:
    """Waits while another process makes the shared memory of the log.

    SQLite itself would ask for ten seconds, whatever its timeout, and a process can be stopped.
    """
    start, shared = time.monotonic(), Path(f"{path}-shm")
    while lock_holder.locks_byte(shared, _BEING_MADE):
        if waits.is_over(end):
            raise lock_holder.busy(path, time.monotonic() - start, signed=False)
        time.sleep(_LOOK_SECONDS)


def migrate(db: Connection, path: Path, namespace: str, end: float) -> None:
    """Makes or migrates the schema; each statement waits for other programs until the deadline."""
    rest = max(_BUSY_SECONDS, end - time.monotonic())
    db.execute(f"PRAGMA busy_timeout = {int(rest * 1000)}")
    try:
        schema.ensure(db, path, namespace)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
            raise
        raise damaged(path, namespace, f"its schema is not what it says ({error})") from error
    db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
    db.migrated = schema.NEWEST


def migrated(db: Connection) -> int:
    """The last migration this file has seen; a database without one of ours is no empty store."""
    found = schema.version(db)
    if found >= schema.NEWEST and not db.reads_only and not schema.is_logged(db):
        return schema.NEWEST - 1  # whoever gives it large pages was killed: `migrate` sets it right
    if not found and db.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise StoreIsDamaged
    return found


def check_reader(db: sqlite3.Connection) -> None:
    """Refuse to read what a newer version says we would misread."""
    _checked(db, "min_reader")


def begin_reading(db: Connection) -> None:
    """Checks a reader of today's schema; reads the head and the number of texts with it."""
    _, db.others, last, *stands = _checked(db, f"min_reader, {_OTHERS}, {_LAST_TEXT}, {rows.HEAD}")
    db.stands, db.last_text = tuple(stands), last or 0


def begin_writing(db: Connection) -> int:
    """Checks a writer, and reads the head with it; how many other transactions were counted."""
    _, writes, *stands = _checked(db, f"min_writer, {WRITES}, {rows.HEAD}")
    db.stands, db.known, db.others = tuple(stands), None, -1  # what it remembers is of reads
    return int(writes)


def check_writer(db: sqlite3.Connection) -> None:
    """Refuse to write what a newer version says we would damage."""
    _checked(db, "min_writer")


def _checked(db: sqlite3.Connection, columns: str) -> tuple[Any, ...]:
    """The row of the store, whose first column says which version it needs."""
    try:
        row = db.execute(f"SELECT {columns} FROM store").fetchone()  # noqa: S608  # own names only
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no such table: a foreign database
            raise StoreIsDamaged from error
        raise
    if row is None or not isinstance(row[0], int):
        raise StoreIsDamaged
    if row[0] > schema.NEWEST:
        raise StoreIsNewer
    found: tuple[Any, ...] = row
    return found
