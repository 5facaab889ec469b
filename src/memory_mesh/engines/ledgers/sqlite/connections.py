"""Open namespace files: where they lie, who may use a connection, and when it is closed.

The folder is the catalog: `namespaces/<name>.db`, with a lock file beside it. At most 64 files
stay open. A connection serves one thread at a time and is thrown away after any error.
"""

import errno
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import file_names, schema
from memory_mesh.errors import (
    Closed,
    InvalidInput,
    MeshError,
    StoreError,
    StoreIsBusy,
    StoreIsDamaged,
    StoreIsFull,
    StoreIsNewer,
)
from memory_mesh.process import forks, lock_holder, private, waits
from memory_mesh.process.locks import FairLock
from memory_mesh.typed import TypeVar

T = TypeVar("T")
OPEN_FILES = 64
_IDLE = 4  # connections kept per file
_CACHE_KIB = 8192  # page cache a connection may grow to
_BUSY_SECONDS = 0.1  # that SQLite itself waits; we look at the deadline and ask it again
_BEING_MADE, _LOOK_SECONDS = "128", 0.005  # the byte that SQLite locks to make shared memory
READING_SECONDS = 1.0  # that a read waits for a file which SQLite locks: its log is made or removed
CLOSING_SECONDS = 1.0  # that `close` waits for a thread of this process that writes
_FORKED = (
    "this process was forked while its parent was inside a long statement on this namespace, so "
    "that SQLite's locks cannot be trusted here. Open the store in a process of its own."
)
_PRIMARY = 0xFF  # the extended result code's low byte is the primary one
_FAULTS: dict[int, type[MeshError]] = {
    sqlite3.SQLITE_FULL: StoreIsFull,
    sqlite3.SQLITE_BUSY: StoreIsBusy,
    sqlite3.SQLITE_LOCKED: StoreIsBusy,
    sqlite3.SQLITE_PROTOCOL: StoreIsBusy,  # SQLite tried to begin for ten seconds
    sqlite3.SQLITE_CORRUPT: StoreIsDamaged,
    sqlite3.SQLITE_NOTADB: StoreIsDamaged,
}
_REFUSED = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


class Connection(sqlite3.Connection):
    """A connection that remembers how far it saw its file migrated; no file ever goes back."""

    migrated = 0


class NamespaceFile:
    """One namespace's file, its lock and its idle connections."""

    def __init__(self, folder: Path, namespace: str) -> None:
        self.namespace = namespace
        self.path = folder / file_names.file_name(namespace)
        self.lock = FairLock(self.path.with_suffix(".lock"))
        self.users = 0
        self._idle: list[Connection] = []
        self._known: set[Connection] = set()
        self._inode: int | None = None
        self._mutex = threading.Lock()

    @contextmanager
    def connection(self, end: float) -> Iterator[Connection]:
        """A connection for one thread; after an error it is closed instead of kept."""
        db = self._take(end)
        try:
            yield db
        except BaseException:
            self._discard(db)
            raise
        with self._mutex:
            if len(self._idle) < _IDLE and db in self._known:
                self._idle.append(db)
                return
        self._discard(db)

    def exists(self) -> bool:
        """True once the file holds a schema; a reader never creates one."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False

    def is_unused(self) -> bool:
        """True when nobody uses the file, and no thread still waits for its lock."""
        return not self.users and not self.lock.is_waited_for()

    def release(self) -> None:
        """Close every idle connection."""
        with self._mutex:
            idle, self._idle = self._idle, []
            self._known.difference_update(idle)
        for db in idle:
            with suppress(sqlite3.Error):
                db.close()

    def close(self) -> None:
        """Close every idle connection and the lock; those in use are closed by their users."""
        self.release()
        with self._mutex:
            self._known.clear()
        self.lock.close(CLOSING_SECONDS)

    def after_fork(self) -> bool:
        """Forget the parent's connections without closing them; True when there were some."""
        inherited = list(self._known)
        forks.bury(inherited)
        self._mutex = threading.Lock()
        self._idle, self._known, self.users = [], set(), 0
        self.lock.after_fork()
        return bool(inherited)

    def _take(self, end: float) -> Connection:
        inode = self.path.stat().st_ino
        with self._mutex:
            stale, self._inode = self._inode not in {None, inode}, inode
            if stale:  # somebody erased the namespace and it was made anew
                old, self._idle = self._idle, []
                self._known.clear()
                for db in old:
                    db.close()
            if self._idle:
                return self._idle.pop()
        _await_log(self.path, end)
        db = patiently(self.path, lambda: connect(self.path), end)
        with self._mutex:
            self._known.add(db)
        return db

    def _discard(self, db: Connection) -> None:
        with self._mutex:
            self._known.discard(db)
        with suppress(sqlite3.Error):
            db.close()


@contextmanager
def _transaction(db: Connection, path: Path, end: float) -> Iterator[None]:
    """A read transaction over a store that we may read."""
    db.execute("BEGIN")
    try:
        patiently(path, lambda: check_reader(db), end)
        yield
    finally:
        if db.in_transaction:
            db.execute("COMMIT")


class Files:
    """All files of a store folder; the least recently used unused one is closed first."""

    def __init__(self, folder: Path, lock_wait: float = waits.USUAL_SECONDS) -> None:
        self.folder, self._lock_wait = folder, lock_wait
        self._open: OrderedDict[str, NamespaceFile] = OrderedDict()
        self._mutex = threading.Lock()
        self._closed = False
        self._torn: set[str] = set()
        forks.release(self)

    @contextmanager
    def reading(self, namespace: str) -> Iterator[sqlite3.Connection]:
        """One read transaction; a namespace that does not exist reads as empty.

        It waits for no writer. While SQLite makes or removes the log, it waits a second at most.
        """
        end = waits.until(READING_SECONDS)
        with (
            self._used(namespace) as file,
            translated(),
            forks.inside_sqlite(),
            file.connection(end) if file.exists() else nullcontext() as db,
        ):
            if db is not None and db.migrated < schema.NEWEST:
                db.migrated = patiently(file.path, lambda: schema.version(db), end)
            if db is None or not db.migrated:
                with schema.empty(namespace) as nothing:
                    yield nothing
                return
            if db.migrated >= schema.NEWEST:
                with _transaction(db, file.path, end):
                    yield db
                return
        with self.writing(namespace):  # an older store is migrated before it is read
            pass
        with self.reading(namespace) as newer:
            yield newer

    @contextmanager
    def writing(self, namespace: str, wait: float | None = None) -> Iterator[Connection]:
        """The lock, then one write transaction: committed whole or not at all.

        The wait for both ends after the setting's time, or the one given, with StoreIsBusy. What
        has begun is never ended by it.
        """
        seconds = self._lock_wait if wait is None else wait
        end = waits.until(seconds)
        with self._used(namespace) as file, translated():
            if not file.exists():
                private.make_folder(self.folder)
            with file.lock.held(seconds), forks.inside_sqlite():
                if not file.exists():
                    create(file.path)
                with file.connection(end) as db:
                    if db.migrated < schema.NEWEST:
                        _migrate(db, file.path, namespace, end)
                    patiently(file.path, lambda: db.execute("BEGIN IMMEDIATE"), end)
                    try:
                        check_writer(db)
                        yield db
                        db.execute("COMMIT")
                    finally:
                        if db.in_transaction:
                            with suppress(sqlite3.Error):
                                db.execute("ROLLBACK")

    def names(self) -> Iterator[str]:
        """Every namespace in the folder, sorted."""
        if self.folder.is_dir():
            found = (file_names.namespace(entry.name) for entry in os.scandir(self.folder))
            yield from sorted(name for name in found if name is not None)

    def exists(self, namespace: str) -> bool:
        """True once something was written to the namespace."""
        return (self.folder / file_names.file_name(namespace)).exists()

    def spool(self, namespace: str) -> Path:
        """Where processes leave records of reads that they could not write."""
        return (self.folder / file_names.file_name(namespace)).with_suffix(".spool")

    def size(self, namespace: str) -> int:
        """Bytes the namespace takes on disk, log included."""
        path = self.folder / file_names.file_name(namespace)
        return sum(part.stat().st_size for part in (path, Path(f"{path}-wal")) if part.exists())

    def close(self) -> None:
        """Close every file."""
        with self._mutex:
            self._closed = True
            files = list(self._open.values())
        with forks.inside_sqlite():
            for file in files:
                file.release()
        with waits.at_most(CLOSING_SECONDS):
            for file in files:  # outside the gate: this waits for a thread that is still writing
                file.close()

    def before_fork(self) -> None:
        """Let go of every file that nobody is using."""
        with self._mutex:
            files = list(self._open.values())
        for file in files:
            file.release()

    def after_fork(self) -> None:
        """Start anew in a child."""
        self._mutex = threading.Lock()
        self._torn |= {name for name, file in self._open.items() if file.after_fork()}

    @contextmanager
    def _used(self, namespace: str) -> Iterator[NamespaceFile]:
        file = self._enter(namespace)
        if len(self._open) > OPEN_FILES:
            self._evict()
        try:
            yield file
        finally:
            with self._mutex:
                file.users -= 1

    def _enter(self, namespace: str) -> NamespaceFile:
        with self._mutex:
            if self._closed:
                raise Closed
            if namespace in self._torn:
                raise StoreError(_FORKED)
            file = self._open.get(namespace)
            if file is None:
                file = self._open[namespace] = NamespaceFile(self.folder, namespace)
            self._open.move_to_end(namespace)
            file.users += 1
            return file

    def _evict(self) -> None:
        """Close the least recently used file that nobody is using; no fork comes between."""
        with forks.inside_sqlite():
            with self._mutex:
                unused = next((name for name, file in self._open.items() if file.is_unused()), None)
                evicted = None if unused is None else self._open.pop(unused)
            if evicted is not None:
                evicted.close()


@contextmanager
def translated() -> Iterator[None]:
    """Raise faults of SQLite and the disk as StoreError; programming errors pass as they are."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
        if code in _FAULTS:
            raise _FAULTS[code] from error
        if code in _REFUSED:
            raise StoreError(
                f"the disk refused: {error}. Nothing is half stored, but a write that failed at "
                "its very end may be there: look before you repeat it, or repeat it with its key."
            ) from error
        raise
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"a text is not valid Unicode (a lone surrogate at {error.start})"
        ) from error
    except OverflowError as error:
        if "SQLite" not in str(error):
            raise
        raise InvalidInput("a number is too large: it must be below 2**63") from error
    except OSError as error:
        if error.errno is None:  # not the file system's: an alarm of the caller, say
            raise
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreIsFull from error
        raise StoreError(
            f"the store folder cannot be used: {error.strerror}. Check --db-dir."
        ) from error


def patiently(path: Path, step: Callable[[], T], end: float) -> T:
    """Does the step; asks again until the deadline while another program keeps the file busy."""
    start = time.monotonic()
    while True:
        try:
            return step()
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
            if code != sqlite3.SQLITE_BUSY:
                raise
            if waits.is_over(end):
                waited = time.monotonic() - start
                raise lock_holder.busy(path, waited, signed=False) from error


def _await_log(path: Path, end: float) -> None:
    """Waits while another process makes the shared memory of the log.

    SQLite itself would ask for ten seconds, whatever its timeout, and a process can be stopped.
    """
    start, shared = time.monotonic(), Path(f"{path}-shm")
    while lock_holder.locks_byte(shared, _BEING_MADE):
        if waits.is_over(end):
            raise lock_holder.busy(path, time.monotonic() - start, signed=False)
        time.sleep(_LOOK_SECONDS)


def _migrate(db: Connection, path: Path, namespace: str, end: float) -> None:
    """Makes or migrates the schema; each statement waits for other programs until the deadline."""
    rest = max(_BUSY_SECONDS, end - time.monotonic())
    db.execute(f"PRAGMA busy_timeout = {int(rest * 1000)}")
    schema.ensure(db, path, namespace)
    db.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
    db.migrated = schema.NEWEST


def connect(path: Path) -> Connection:
    """A connection to an existing file that waits for its disk at every commit."""
    db = sqlite3.connect(
        f"file:{file_names.quoted(str(path))}?mode=rw",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=Connection,
    )
    try:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except sqlite3.Error:
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


def check_reader(db: sqlite3.Connection) -> None:
    """Refuse to read what a newer version says we would misread."""
    _check(db, "min_reader")


def check_writer(db: sqlite3.Connection) -> None:
    """Refuse to write what a newer version says we would damage."""
    _check(db, "min_writer")


def _check(db: sqlite3.Connection, column: str) -> None:
    try:
        row = db.execute(f"SELECT {column} FROM store").fetchone()  # noqa: S608  # two fixed names
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # no such table: a foreign database
            raise StoreIsDamaged from error
        raise
    if row is None:
        raise StoreIsDamaged
    if row[0] > schema.NEWEST:
        raise StoreIsNewer
