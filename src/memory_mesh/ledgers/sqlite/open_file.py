"""Opening a database: with patience, for its owner only, and for a version that may use it."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from memory_mesh.base.typed import Any, TypeVar
from memory_mesh.ledgers.shared import rows, sums
from memory_mesh.ledgers.shared.engine import LIVE, REST, SKILLS, FileKnowledge, Sight
from memory_mesh.ledgers.sqlite import connection, namespace_places, schema
from memory_mesh.model import Lens, StoreIsBusy, StoreIsDamaged, StoreIsNewer
from memory_mesh.model.ports import Keywords
from memory_mesh.platform import locks, system, telemetry
from memory_mesh.platform.durable_files import sync

_FIELDS = {LIVE: "terms", REST: "terms", SKILLS: "name, intent, tags, description"}
_MARKS = {shelf: ", ".join("?" * (names.count(",") + 1)) for shelf, names in _FIELDS.items()}

IMMUTABLE = "mode=ro&immutable=1"
_TRIES = 5  # to copy files that somebody is changing
_LOGS = ("-wal", "-journal")

T = TypeVar("T")
WRITES = "coalesce((SELECT CAST(value AS INTEGER) FROM state WHERE name = 'writes'), 0)"
_WRITABLE = "mode=rw"
_OTHERS = "(SELECT data_version FROM pragma_data_version)"
_LAST_TEXT = "(SELECT max(number) FROM text)"
_CACHE_KIB = 8192  # page cache a connection may grow to
_BUSY_SECONDS = 0.1  # that SQLite itself waits; we look at the deadline and ask it again
_BEING_MADE, _LOOK_SECONDS = "128", 0.005  # the byte that SQLite locks to make shared memory


def connect(path: Path, mode: str = _WRITABLE) -> connection.SqliteConnection:
    """A connection to an existing file that waits for its disk at every commit."""
    db = sqlite3.connect(
        f"file:{namespace_places.quoted(str(path))}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=connection.SqliteConnection,
    )
    db.engine, db.reads_only = SQLITE, mode != _WRITABLE
    try:
        sums.define(db)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except (sqlite3.Error, UnicodeDecodeError):  # a message may repeat damaged bytes
        db.close()
        raise
    return db


@contextmanager
def empty(namespace: str) -> Iterator[connection.SqliteConnection]:
    """A namespace without memories: what a new file holds, and one that does not exist."""
    db = sqlite3.connect(":memory:", isolation_level=None, factory=connection.SqliteConnection)
    db.engine = SQLITE
    try:
        schema.fill(db, namespace)
        yield db
    finally:
        db.close()


def create(path: Path) -> None:
    """An empty file that only its owner may read, safely entered in its folder."""
    system.make_file(path)
    sync(path.parent)


def patiently(path: Path, step: Callable[[], T], end: float) -> T:
    """Does the step; asks again until the deadline while another program keeps the file busy."""
    start = time.monotonic()
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & connection.PRIMARY
            if code != sqlite3.SQLITE_BUSY:
                raise
            if locks.is_over(end):
                raise locks.busy(path, time.monotonic() - start, signed=False) from error


def await_log(path: Path, end: float) -> None:
    """Waits while another process makes the shared memory of the log.

    SQLite itself would ask for ten seconds, whatever its timeout, and a process can be stopped.
    """
    start, shared = time.monotonic(), Path(f"{path}-shm")
    while locks.locks_byte(shared, _BEING_MADE):
        if locks.is_over(end):
            raise locks.busy(path, time.monotonic() - start, signed=False)
        time.sleep(_LOOK_SECONDS)


def migrate(db: connection.SqliteConnection, path: Path, namespace: str, end: float) -> None:
    """Makes or migrates the schema; each statement waits for other programs until the deadline."""
    rest = max(_BUSY_SECONDS, end - time.monotonic())
    db.execute(f"PRAGMA busy_timeout = {int(rest * 1000)}")
    try:
        schema.ensure(db, path, namespace)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
            raise
        raise connection.damaged(
            path, namespace, f"its schema is not what it says ({error})"
        ) from error
    db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
    db.migrated = schema.NEWEST


def migrated(db: connection.SqliteConnection) -> int:
    """The last migration this file has seen; a database without one of ours is no empty store."""
    found = schema.version(db)
    if found >= schema.NEWEST and not db.reads_only and not schema.is_logged(db):
        return schema.NEWEST - 1  # whoever gives it large pages was killed: `migrate` sets it right
    if (
        not found
        and db.execute("SELECT 1 FROM sqlite_master").fetchone()
        and not (found := schema.version(db))  # nor has anybody made the store meanwhile
    ):
        raise StoreIsDamaged
    return found


def check_reader(db: sqlite3.Connection) -> None:
    """Refuse to read what a newer version says we would misread."""
    _checked(db, "min_reader")


def begin_reading(db: connection.SqliteConnection) -> None:
    """Checks a reader of today's schema; reads the head and the number of texts with it."""
    _, db.others, last, *stands = _checked(db, f"min_reader, {_OTHERS}, {_LAST_TEXT}, {rows.HEAD}")
    db.stands, db.last_text = tuple(stands), last or 0


def begin_writing(db: connection.SqliteConnection) -> int:
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


# Reading a store whose folder cannot be written: a read-only disk, or a folder of somebody else.
#
# ::
#
#     no log beside the database ──▶ opened as it is, as a file that nobody changes (immutable)
#     a log, or an older schema  ──▶ a private copy of both, migrated, its files removed once opened
#
# A kill while a file is written anew leaves a journal, which is copied and played back as a log is.
#
# SQLite cannot read a database with its log where it may not write. Others may write there
# meanwhile: each transaction looks whether the files are still the same, and opens them anew if
# not.


def connect_read_only(path: Path, namespace: str) -> connection.SqliteConnection:
    """A connection that only reads, to the database itself or to a private copy."""
    telemetry.warn_once(
        "read-only store",
        f"{path.parent} cannot be written: memories are read, and their use is not counted",
    )
    if not any(_is_there(Path(f"{path}{end}")) for end in _LOGS):
        db = connect(path, IMMUTABLE)
        try:
            db.immutable = True
            if not 0 < schema.version(db) < schema.NEWEST:
                return db
        except BaseException:
            db.close()
            raise
        db.close()
    return _of_a_copy(path, namespace)


def _of_a_copy(path: Path, namespace: str) -> connection.SqliteConnection:
    """A connection to a copy that holds what its log held; the open file alone keeps it."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="memory-mesh-"))
    try:
        copy = folder / path.name
        _copy(path, copy)
        db = connect(copy)
        try:
            if schema.version(db):
                schema.ensure(db, copy, namespace)
                db.execute("PRAGMA journal_mode = DELETE")  # the log goes into the file
        finally:
            db.close()
        return connect(copy, IMMUTABLE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(path: Path, copy: Path) -> None:
    """Copies a database and its logs as they are at one moment.

    This process has no lock of SQLite on files that it cannot write, so it may open and close them.
    """
    import shutil

    logs = {Path(f"{path}{end}"): Path(f"{copy}{end}") for end in _LOGS}
    for _ in range(_TRIES):
        before = _states(path, *logs)
        shutil.copyfile(path, copy)
        for source, target in logs.items():
            target.unlink(missing_ok=True)
            if _is_there(source):
                shutil.copyfile(source, target)
        if _states(path, *logs) == before:
            return
    raise StoreIsBusy(f"{path} changes while it is copied for reading. Retry in a moment.")


def _states(*paths: Path) -> list[tuple[int, int, int] | None]:
    return [
        (found.st_ino, found.st_size, found.st_mtime_ns) if (found := _stat(path)) else None
        for path in paths
    ]


def _is_there(path: Path) -> bool:
    found = _stat(path)
    return found is not None and found.st_size > 0


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


# The parts of the ledger that SQLite has in its own way: FTS5, functions of ours in statements.


class SqliteWords:
    """Implements `sql.engine.Words` with FTS5."""

    def shelve(
        self, db: sqlite3.Connection, shelf: str, rows: Sequence[tuple[int, Sequence[str]]]
    ) -> None:
        """Puts terms into a keyword table."""
        db.executemany(
            f"INSERT INTO {shelf} (rowid, {_FIELDS[shelf]}) VALUES (?, {_MARKS[shelf]})",  # noqa: S608
            [(number, *terms) for number, terms in rows],
        )

    def unshelve(
        self, db: sqlite3.Connection, shelf: str, number: int, terms: Sequence[str]
    ) -> None:
        """Takes terms out of a keyword table, which needs them to find what to delete."""
        db.execute(
            f"INSERT INTO {shelf} ({shelf}, rowid, {_FIELDS[shelf]}) "  # noqa: S608  # own names
            f"VALUES ('delete', ?, {_MARKS[shelf]})",
            (number, *terms),
        )

    def is_shelved(self, db: sqlite3.Connection, shelf: str, number: int) -> bool:
        """Whether a keyword table has the terms of a text or skill."""
        found = db.execute(f"SELECT 1 FROM {shelf}_docsize WHERE id = ?", (number,))  # noqa: S608
        return found.fetchone() is not None

    def skills_with(
        self, db: sqlite3.Connection, words: Sequence[str], sight: Sight, limit: int
    ) -> list[int]:
        """The best skills by words; hidden ones do not use up the limit."""
        condition, values = sight
        found = db.execute(
            "SELECT f.rowid FROM skill_live f JOIN skill k ON k.number = f.rowid "  # noqa: S608
            f"WHERE skill_live MATCH ? AND {condition} "
            "ORDER BY bm25(skill_live, 3.0, 2.0, 1.0, 1.0), f.rowid LIMIT ?",  # fields' weights
            (" OR ".join(map(_quoted, words)), *values, limit),
        )
        return [number for (number,) in found]

    def keywords(
        self, db: sqlite3.Connection, lens: Lens, few: Mapping[int, int] | None
    ) -> Keywords:
        """The words of the texts that a lens may ask for."""
        from memory_mesh.ledgers.sqlite.keywords import SqliteKeywords

        return SqliteKeywords(db, lens, few)


class SqliteEngine(SqliteWords):
    """Implements `sql.engine.Engine`."""

    unindexed = " NOT INDEXED"

    def again(self, order: str) -> str:  # noqa: ARG002
        """Nothing: rows are joined in the order in which they are found."""
        return ""

    def grow(self, db: sqlite3.Connection) -> None:
        """Makes the indexes that a grown file needs."""
        schema.grow(db)

    def lenient(self, db: sqlite3.Connection) -> AbstractContextManager[None]:
        """Text that is not valid Unicode is returned with escapes."""
        return _read_as(db, partial(str, encoding="utf-8", errors="surrogateescape"))

    def strict(self, db: sqlite3.Connection) -> AbstractContextManager[None]:
        """Text is text."""
        return _read_as(db, str)

    @contextmanager
    def wiping(self, db: sqlite3.Connection) -> Iterator[None]:
        """Overwrites what is deleted or changed inside."""
        db.execute("PRAGMA secure_delete = ON")
        yield
        db.execute("PRAGMA secure_delete = OFF")

    def known(self, db: sqlite3.Connection) -> "FileKnowledge | None":
        """What the connection remembers until this one or another one writes."""
        return connection.known(db) if isinstance(db, connection.SqliteConnection) else None

    def expect(self, _: sqlite3.Connection, *calls: Callable[[], object]) -> None:
        """Nothing: a file answers at once."""

    def add_vectors(self, db: sqlite3.Connection, rows: Sequence[Sequence[object]]) -> None:
        """Writes vectors of texts that are there, unless they have these parts."""
        db.executemany(
            "INSERT OR IGNORE INTO vector (text, space, part, seq, start, stop, data, crc) "
            "SELECT number, ?, ?, ?, ?, ?, ?, ? FROM text WHERE number = ?",
            rows,
        )

    def forget_scan(self, db: sqlite3.Connection, space: int) -> None:
        """Removes the vector file of a space."""
        from memory_mesh.ledgers.sqlite import vector_file

        if (database := getattr(db, "path", None)) is not None:
            vector_file.path_of(database, space).unlink(missing_ok=True)

    def count(
        self,
        db: sqlite3.Connection,
        changes: Mapping[str, str],
        where: str,
        rows: Sequence[Sequence[object]],
    ) -> None:
        """Sets counters and moves their checksums in the same statement."""
        db.executemany(sums.counting(changes, where), rows)


SQLITE = SqliteEngine()


@contextmanager
def _read_as(db: sqlite3.Connection, factory: Callable[[bytes], str]) -> Iterator[None]:
    before = db.text_factory
    db.text_factory = factory
    try:
        yield
    finally:
        db.text_factory = before


def _quoted(word: str) -> str:
    return '"{}"'.format(word.replace('"', '""'))
