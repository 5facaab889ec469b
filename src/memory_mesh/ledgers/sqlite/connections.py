"""The open namespace files of a store: reading and writing transactions, and when one is closed.

The folder is the catalog: `namespaces/<name>.db`, with a lock file and a head file beside it, or
above 10,000 of them `namespaces/<xx>/<name>.db`. At most 64 files stay open. A connection serves
one thread at a time, and no other after an error.

What a namespace holds that only the store's key can be held against is counted here, not read.
"""

import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path

from memory_mesh.ledgers.sqlite import namespace_file, namespace_places, open_file, schema
from memory_mesh.ledgers.sqlite.connection import SqliteConnection, translated
from memory_mesh.model.errors import (
    Closed,
    StoreError,
    StoreIsBusy,
    StoreIsDamaged,
    StoreIsReadOnly,
    StoreWasReplaced,
    WritesAreMissing,
)
from memory_mesh.platform import forks, locks, moved_marks

OPEN_FILES = 64
_TRIES = 4  # to take the lock of a file that another process makes in its other place
READING_SECONDS = 1.0  # that a read waits for a file which SQLite locks: its log is made or removed
_FORKED = (
    "this process was forked while its parent was inside a long statement on this namespace, so "
    "that SQLite's locks cannot be trusted here. Open the store in a process of its own."
)
KEYS = "archive.keys"  # the state that lists the keys of the store it was exported from
_MOST = 64  # databases that are looked at
_PLACEHOLDER = "*[[][A-Z]*_" + "[0-9a-f]" * 12 + "]*"


class Files:
    """All files of a store folder; the least recently used unused one is closed first."""

    def __init__(
        self,
        folder: Path,
        lock_wait: float = locks.USUAL_SECONDS,
        flat_namespaces: int = namespace_places.FLAT_NAMESPACES,
    ) -> None:
        self.folder: Path = folder
        self._lock_wait, self._flat = lock_wait, flat_namespaces
        self._open: OrderedDict[str, namespace_file.NamespaceFile] = OrderedDict()
        self._mutex = threading.Lock()
        self._closed = False
        self._was_there = False  # the folder, with a database
        self._torn: set[str] = set()
        forks.release(self)

    @contextmanager
    def reading(self, namespace: str) -> Iterator[sqlite3.Connection]:
        """One read transaction; a namespace that does not exist reads as empty.

        It waits for no writer. While SQLite makes or removes the log, it waits a second at most.
        """
        end = locks.until(READING_SECONDS)
        with (
            self._used(namespace) as file,
            translated(file.path, namespace),
            forks.inside_sqlite(),
            file.connection(end) if self._look(file) else nullcontext() as db,
        ):
            if db is not None and db.migrated < schema.NEWEST:
                db.migrated = open_file.patiently(file.path, lambda: open_file.migrated(db), end)
            if db is None or not db.migrated:
                with open_file.empty(namespace) as nothing:
                    yield nothing
                return
            if db.migrated >= schema.NEWEST:
                with _transaction(db, file.path, end):
                    yield db
                if db.immutable:
                    file.check_unchanged()
                return
        with self.writing(namespace):  # an older store is migrated before it is read
            pass
        with self.reading(namespace) as newer:
            yield newer

    @contextmanager
    def looking(self, namespace: str) -> Iterator[tuple[sqlite3.Connection, StoreIsDamaged | None]]:
        """As `reading`, of a database too that lacks writes or was replaced; says what is wrong.

        For those who examine, copy or mend it. What is gone reads as empty, and so does a damaged
        database of an earlier version: it is not migrated.
        """
        end = locks.until(READING_SECONDS)
        with (
            self._used(namespace) as file,
            translated(file.path, namespace),
            forks.inside_sqlite(),
        ):
            there, flaw = self._looked_for(file)
            with file.looked_at(end) if there else nullcontext() as db:
                if db is not None:
                    flaw = db.flaw
                    db.migrated = open_file.patiently(
                        file.path, lambda: open_file.migrated(db), end
                    )
                if db is not None and db.migrated >= schema.NEWEST:
                    with _transaction(db, file.path, end):
                        yield db, flaw
                    if db.immutable:
                        file.check_unchanged()
                    return
                if db is None or not db.migrated or flaw is not None:
                    with open_file.empty(namespace) as nothing:
                        yield nothing, flaw
                    return
        with self.writing(namespace):
            pass
        with self.looking(namespace) as newer:
            yield newer

    @contextmanager
    def writing(self, namespace: str, wait: float | None = None) -> Iterator[SqliteConnection]:
        """The lock, then one write transaction: committed whole or not at all.

        The wait for both ends after the setting's time, or the one given, with StoreIsBusy. What
        has begun is never ended by it.
        """
        seconds = self._lock_wait if wait is None else wait
        end = locks.until(seconds)
        with self._used(namespace) as file, translated(file.path, namespace):
            refuse_read_only(self.folder)
            with ExitStack() as held:
                self._begun(file, held, end)
                with forks.inside_sqlite():
                    file.enlarge(end)
                    with file.connection(end) as db:
                        if db.migrated < schema.NEWEST:
                            if 0 < schema.version(db) < schema.NEWEST:  # it may have no line yet
                                namespace_file.write_head(file.path, namespace_file.stood(db))
                            open_file.migrate(db, file.path, namespace, end)
                            file.acknowledge(namespace_file.stands(db))
                        with _committed(db, file, end):
                            yield db

    def names(self, after: str = "", limit: int | None = None) -> Iterator[str]:
        """Every namespace in the folder, sorted; one too whose database should be there.

        Only those after a name, and at most so many; see `namespace_places.names`.
        """
        if self.folder.is_dir():
            yield from namespace_places.names(self.folder, after, limit)
        else:
            moved_marks.refuse_store(self.folder.parent)

    def exists(self, namespace: str) -> bool:
        """True once something was written to the namespace."""
        return namespace_places.database(self.folder, namespace).exists()

    def spool(self, namespace: str) -> Path:
        """Where processes leave records of reads that they could not write."""
        file = self._open.get(namespace)
        path = namespace_places.database(self.folder, namespace) if file is None else file.path
        return _spool(path)

    def close(self) -> None:
        """Close every file."""
        with self._mutex:
            self._closed = True
            files = list(self._open.values())
        with forks.inside_sqlite():
            for file in files:
                file.release()
        with locks.at_most(namespace_file.CLOSING_SECONDS):
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

    def _begun(self, file: namespace_file.NamespaceFile, held: ExitStack, end: float) -> None:
        """Takes the lock of a database that is there, or makes it under its lock.

        A namespace that is not there yet may be made in its other place while we wait for the lock
        of the first, and a restored store may have it there: then that one's lock is taken.
        """
        for _ in range(_TRIES):
            if not self._look(file):
                file.settle(namespace_places.new_place(self.folder, file.namespace, self._flat))
                namespace_places.make_room(file.path, end - time.monotonic())
            lock = file.lock
            try:
                held.enter_context(lock.held(end - time.monotonic()))
                self._begin(file, end)
            except FileNotFoundError:
                self._look(file)  # says where the store was moved
                if not self.folder.is_dir():
                    raise
                held.close()  # it was exchanged for one without that folder
                continue
            if file.lock is lock:
                return
            held.close()
        raise StoreIsBusy(f"{file.path} came to another place while it was opened. Retry.")

    def _begin(self, file: namespace_file.NamespaceFile, end: float) -> None:
        """Makes the database if there is none in either place; the caller holds its lock.

        Whoever exchanges or moves the whole folder locks the databases that are there, and the
        folder so that no other is made meanwhile.
        """
        if self._look(file):
            return
        rest = end - time.monotonic()
        with nullcontext() if file.path.exists() else locks.folder_held(self.folder, rest):
            if not self._look(file):
                open_file.create(file.path)
                self._was_there = True

    def _look(self, file: namespace_file.NamespaceFile) -> bool:
        """Whether there is a database in either place; raises StoreWasReplaced if the folder went.

        A process that had a store open when it was removed would begin another one in its place.
        """
        if _is_there(file) or self._is_elsewhere(file):
            self._was_there = True
        elif self._was_there and not self.folder.is_dir():
            raise StoreWasReplaced(
                f"{self.folder} is gone: the store was moved or removed while this process had it "
                "open. Open it where it is now (--db-dir FOLDER, or MEMORY_MESH_DIR), or start "
                "this process again to begin a new store here."
            )
        else:
            return False
        return True

    def _is_elsewhere(self, file: namespace_file.NamespaceFile) -> bool:
        """Whether the database lies in its other place; then it is this file from now on."""
        found = namespace_places.found(self.folder, file.namespace)
        if found is None or found == file.path:
            return False
        file.settle(found)
        return _is_there(file)

    def _looked_for(self, file: namespace_file.NamespaceFile) -> tuple[bool, StoreIsDamaged | None]:
        """Whether there is a database, and what is wrong where one should be there."""
        try:
            return _is_there(file) or self._is_elsewhere(file), None
        except WritesAreMissing as error:
            return False, error

    @contextmanager
    def _used(self, namespace: str) -> Iterator[namespace_file.NamespaceFile]:
        file = self._enter(namespace)
        if len(self._open) > OPEN_FILES:
            self._evict()
        try:
            yield file
        finally:
            with self._mutex:
                file.users -= 1

    def _enter(self, namespace: str) -> namespace_file.NamespaceFile:
        with self._mutex:
            if self._closed:
                raise Closed
            if namespace in self._torn:
                raise StoreError(_FORKED)
            file = self._open.get(namespace)
            if file is None:
                file = self._open[namespace] = namespace_file.NamespaceFile(self.folder, namespace)
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
def _transaction(db: SqliteConnection, path: Path, end: float) -> Iterator[None]:
    """A read transaction over a store that we may read."""
    db.execute("BEGIN")
    try:
        open_file.patiently(path, lambda: open_file.begin_reading(db), end)
        yield
    finally:
        if db.in_transaction:
            db.execute("COMMIT")


@contextmanager
def _committed(
    db: SqliteConnection, file: namespace_file.NamespaceFile, end: float
) -> Iterator[None]:
    """A write transaction over a store that we may write; what it changed is acknowledged."""
    open_file.patiently(file.path, lambda: db.execute("BEGIN IMMEDIATE"), end)
    try:
        before, changes = namespace_file.begun(db), db.total_changes
        if not before.seq:  # from the first commit on, one that is missing was removed
            namespace_file.write_head(file.path, before)
        yield
        after = namespace_file.counted(db, before) if db.total_changes != changes else None
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
    if after is not None:
        file.acknowledge(after)


@lru_cache(maxsize=256)
def _spool(database: Path) -> Path:
    return database.with_suffix(".spool")


def refuse_read_only(folder: Path) -> None:
    """Raises StoreIsReadOnly for a folder in which nothing can be stored."""
    if os.access(folder, os.W_OK):
        return
    if folder.is_dir() and not os.access(folder, os.W_OK):  # in this order: others may make it
        raise StoreIsReadOnly(
            f"{folder} cannot be written: its memories can be read, and none be stored or changed. "
            "Make the folder writable, or go on with a copy: memory-mesh backup --to FOLDER, then "
            "memory-mesh restore --from BACKUP --to FOLDER"
        )


def _is_there(file: namespace_file.NamespaceFile) -> bool:
    """Whether there is a database; raises StoreWasMoved if it was moved to another folder."""
    if file.look():
        return True
    moved_marks.refuse_store(file.folder.parent)
    moved_marks.refuse_namespace(file.path, file.namespace)
    return False


def counts(db: sqlite3.Connection) -> tuple[int, int]:
    """The tombstones of a namespace, and its texts with a placeholder in them."""
    (tombstones,) = db.execute("SELECT count(*) FROM tombstone").fetchone()
    (texts,) = db.execute(
        "SELECT count(*) FROM text WHERE content GLOB ?", (_PLACEHOLDER,)
    ).fetchone()
    return int(tombstones), int(texts)


def had_key(folder: Path) -> bool:
    """Whether the store in a folder was written with a key, by what its namespaces hold.

    What an archive brought was made with the key of another store. Of a store with many namespaces
    it looks at some: the first memory that needs a key waits for it.
    """
    found = (path for path in (folder / "namespaces").rglob("*.db") if path.is_file())
    for path in islice(found, _MOST):
        with (
            suppress(sqlite3.Error, UnicodeDecodeError),  # whoever opens it says what it is
            forks.inside_sqlite(),
            closing(open_file.connect(path, "mode=ro")) as db,
        ):
            brought = db.execute("SELECT 1 FROM state WHERE name = ?", (KEYS,)).fetchone()
            if not brought and any(counts(db)):
                return True
    return False
