"""One namespace's file: its lock, its idle connections, its head, and whether it is the same file.

A look at the file and its log before each transaction notices that either was removed, emptied,
replaced or written over. Then every connection is closed, and the next one is held against the
head file, as each new connection is. The head file says what the database held after its last
acknowledged write::

    COMMIT (synced) ──▶ one write of the whole line, in place, under the lock, not synced
                        <name>.head  "v1 identity seq writes position hash crc", 192 bytes
    a new connection ──▶ reads the line, then the database: what the line says must be there

The line may be behind the database, for a process can be killed between the two; it is never
ahead. A line that is torn says nothing. `seq` counts commits; `writes` counts the other
transactions, of uses and records of reads. The file is made before the first commit and by repair,
by no other write: one that is missing stays so, and `verify` finds it.
"""

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from memory_mesh.base.typed import Any, TypeAlias, dataclass
from memory_mesh.ledgers.sqlite import namespace_places, open_file, schema
from memory_mesh.ledgers.sqlite.connection import PRIMARY, SqliteConnection, command, damaged
from memory_mesh.model.errors import StoreIsBusy, StoreIsDamaged, StoreWasReplaced, WritesAreMissing
from memory_mesh.platform import forks, system
from memory_mesh.platform.durable_files import line_with_sum, words_of_line
from memory_mesh.platform.locks import FairLock

SUFFIX = ".head"
BYTES = 192
_FORM = "v1"
_FIELDS = 7
_TYPES = (str, int, int, int, bytes)  # of a row that we wrote
_STANDS = f"SELECT identity, seq, {open_file.WRITES}, position, head FROM store"  # noqa: S608  # own names
_HELD = (
    "SELECT identity, seq, position, (SELECT hash FROM block WHERE block.position = ?) FROM store"
)
_TABLES = "SELECT name FROM sqlite_master WHERE name IN ('store', 'state')"
_COUNT = (
    "INSERT INTO state VALUES ('writes', '1') ON CONFLICT (name) "
    "DO UPDATE SET value = CAST(value AS INTEGER) + 1"
)
_IDLE = 4  # connections kept per file
_TRIES = 3  # looks at a file that is just written or restored
CLOSING_SECONDS = 1.0  # that `close` waits for a thread of this process that writes
Place: TypeAlias = tuple[int, int]  # a file's device and number
Log: TypeAlias = tuple[Place, int, int]  # where the log lies, its size and time of change


@dataclass(frozen=True, slots=True)
class DatabaseHead:
    """Where a database stood: whose it is, its counters, and the end of its chain."""

    identity: str
    seq: int
    writes: int
    position: int
    hash: bytes


@lru_cache(maxsize=256)
def head_path(database: Path) -> Path:
    """The head file beside a database."""
    return database.with_suffix(SUFFIX)


def stands(db: sqlite3.Connection) -> DatabaseHead:
    """Where the database stands in this transaction."""
    return _mark(db.execute(_STANDS).fetchone())


def begun(db: SqliteConnection) -> DatabaseHead:
    """Where the database stands at the beginning of a write, which its version allows us."""
    writes = open_file.begin_writing(db)
    _, seq, position, hashed, _, identity, *_ = db.stands or ()  # as in rows.HEAD
    return _mark((identity, seq, writes, position, hashed))


def _mark(found: tuple[Any, ...] | None) -> DatabaseHead:
    if found is None or tuple(map(type, found)) != _TYPES:
        raise StoreIsDamaged
    return DatabaseHead(*found)


def stood(db: sqlite3.Connection) -> DatabaseHead:
    """Where a database of any version stands: an early one counts no other transactions."""
    if {name for (name,) in db.execute(_TABLES)} != {"store"}:
        return stands(db)
    return DatabaseHead(
        *db.execute("SELECT identity, seq, 0, position, head FROM store").fetchone()
    )


def counted(db: sqlite3.Connection, before: DatabaseHead) -> DatabaseHead:
    """Where it stands at the end of a transaction that began at a mark and changed something.

    One that brings no commit is counted: its loss would show in nothing else.
    """
    after = stands(db)
    if after.seq != before.seq:
        return after
    db.execute(_COUNT)
    return DatabaseHead(after.identity, after.seq, after.writes + 1, after.position, after.hash)


def read_head(database: Path) -> DatabaseHead | None:
    """What the head file says; None if there is none, its line is torn, or no commit is known."""
    with suppress(OSError):
        descriptor = os.open(head_path(database), os.O_RDONLY | system.NO_WAIT)
        try:
            mark = parsed_head(os.read(descriptor, BYTES))
        finally:
            os.close(descriptor)
        return mark if mark is not None and mark.seq else None  # what holds nothing may be removed
    return None


def unreadable_head(database: Path) -> str | None:
    """What is wrong with a head file that says nothing; None if it is sound, empty or not there.

    One that is just written may be read half: it is read again. Any file beside it names it.
    """
    path = head_path(database)
    if namespace_places.no_file(path) is not None:
        return (
            f"{path} is no file, so a loss of acknowledged writes would not be noticed: remove it"
        )
    for _ in range(_TRIES):
        try:
            data = path.read_bytes()[:BYTES]
        except OSError:  # not there, or for others: `read_head` says nothing of it either
            return None
        if not data or parsed_head(data) is not None:
            return None
    return (
        f"{path} cannot be read, so a loss of acknowledged writes would not be noticed. The next "
        "write to the namespace writes it anew"
    )


def absent_head(database: Path, namespace: str) -> str | None:
    """What is wrong with a namespace that has commits and no head file; None if it has one."""
    path = head_path(database)
    if os.path.lexists(path):
        return None
    file = database.with_suffix(".db")
    if file.stat().st_nlink > 1:  # its head file lies beside its other name
        return (
            f"{file} is a hard link: the same file has another name, with locks of its own. Move "
            "the name that you did not make with memory-mesh out of the store"
        )
    return (
        f"{path} is missing, so nothing tells whether acknowledged writes are: the database may be "
        "an older copy. Compare it with the last backup (memory-mesh restore --from BACKUP --to "
        f"FOLDER). To go on with what is there: {command('repair', namespace)}"
    )


def write_head(database: Path, mark: DatabaseHead, *, make: bool = True) -> None:
    """Says where the database stands; the caller holds the lock, and has committed.

    A full or failing disk keeps no write from being acknowledged: the line is behind then.
    """
    open_file = system.open_file if make else os.open
    with suppress(OSError):
        descriptor = open_file(head_path(database), os.O_RDWR | system.NO_WAIT)
        try:
            os.write(descriptor, head_line(mark))
        finally:
            os.close(descriptor)


def remove_head(database: Path) -> None:
    """Forgets what was acknowledged: before a database is removed on purpose, never after."""
    head_path(database).unlink(missing_ok=True)


def head_line(mark: DatabaseHead) -> bytes:
    """The line that says a mark."""
    said = f"{_FORM} {mark.identity} {mark.seq} {mark.writes} {mark.position} {mark.hash.hex()}"
    return line_with_sum(said, BYTES)


def parsed_head(data: bytes) -> DatabaseHead | None:
    """The mark that a line says; None for one that was not written whole."""
    words = words_of_line(data, BYTES)
    if len(words) != _FIELDS or words[0] != _FORM:
        return None
    _, identity, seq, writes, position, hashed, _ = words
    return DatabaseHead(identity, int(seq), int(writes), int(position), bytes.fromhex(hashed))


def flaw(
    db: sqlite3.Connection, path: Path, namespace: str, mark: DatabaseHead
) -> StoreIsDamaged | None:
    """What is wrong with a database that must hold all that a mark says; None if nothing is.

    The mark was read before the database is: writes of others in between do no harm.
    """
    tables = {name for (name,) in db.execute(_TABLES)}
    found = db.execute(_HELD, (mark.position,)).fetchone() if "store" in tables else None
    if found is None:
        return missing(path, namespace, mark, "it holds nothing")
    identity, seq, position, hashed = found
    if identity != mark.identity:
        return replaced(path, namespace, "it is the file of another namespace or of another store")
    if not isinstance(seq, int) or not isinstance(position, int):
        return damaged(path, namespace, "it does not say how far it goes")
    if seq < mark.seq or position < mark.position:
        return missing(path, namespace, mark, f"it ends at seq {seq}")
    if mark.position and hashed != mark.hash:
        return replaced(path, namespace, f"it holds another history from block {mark.position} on")
    if seq == mark.seq and mark.writes and _writes(db, tables) < mark.writes:
        return missing(path, namespace, mark, "the last uses and records of reads are gone")
    return None


def first_look(path: Path, namespace: str, mark: DatabaseHead) -> SqliteConnection | None:
    """A connection that only reads, with its flaw, to a database whose log was damaged; else None.

    The last connection that may write moves the sound part of a log into the file and removes the
    rest, which salvage can still read. One that only reads leaves the log as it is.
    """
    db = open_file.connect(path, "mode=ro")
    try:
        db.flaw = flaw(db, path, namespace, mark)
    except BaseException:
        db.close()
        raise
    if db.flaw is not None:
        return db
    db.close()
    return None


def lack(path: Path, namespace: str) -> StoreIsDamaged | None:
    """The flaw of a database that can be read, found without a change to its log."""
    mark = read_head(path)
    with suppress(sqlite3.Error):  # whoever opens it says what it is
        looked = None if mark is None else first_look(path, namespace, mark)
        if looked is not None:
            looked.close()
            return looked.flaw
    return None


def missing(path: Path, namespace: str, mark: DatabaseHead, what: str) -> WritesAreMissing:
    """The error that says which acknowledged writes are gone, and what to do."""
    return WritesAreMissing(
        f"{path} lacks acknowledged writes: {what}, and writes up to seq {mark.seq} were "
        "acknowledged. It was emptied, removed or replaced by an older copy, or its write-ahead "
        f"log ({path.name}-wal) was lost or damaged. Put the right files back, or restore a backup "
        "(memory-mesh restore --from BACKUP). Without one, copy what can be read first: "
        "memory-mesh salvage --to FOLDER. To go on with what is there: "
        f"{command('repair --accept-loss', namespace)}"
    )


def replaced(path: Path, namespace: str, what: str) -> StoreWasReplaced:
    """The error that says that a database is not the one that was written, and what to do."""
    return StoreWasReplaced(
        f"{path} is not the file that was written here: {what}. Put the right file back, or "
        "restore a backup (memory-mesh restore --from BACKUP). To go on with this one: "
        f"{command('repair --accept-loss', namespace)}"
    )


def _writes(db: sqlite3.Connection, tables: set[str]) -> int:
    return stands(db).writes if "state" in tables else 0


class NamespaceFile:
    """One namespace's file, its lock and its idle connections."""

    def __init__(self, folder: Path, namespace: str) -> None:
        self.namespace = namespace
        self.folder: Path = folder
        self._twin: Path | None = None  # a second database of the namespace
        self._left: list[FairLock] = []  # those of places where it no longer lies
        self._lie_at(namespace_places.database(folder, namespace))
        self.users: int = 0
        self._idle: list[SqliteConnection] = []
        self._known: set[SqliteConnection] = set()
        self._place: Place | None = None
        self._written: tuple[int, int] | None = None  # the file's size and time of change
        self._log: Log | None = None
        self._losses = 0  # of the log: what was written may have become other than it was
        self._fits = schema.SMALL_BYTES  # a larger file may have outgrown its pages
        self._reads_only = False  # the folder cannot be written
        self._seen: DatabaseHead | None = (
            None  # what this process saw in the database, or wrote to it
        )
        self._mutex = threading.Lock()

    def settle(self, path: Path) -> None:
        """Takes another place for this namespace's own, with the lock there.

        Whoever waits for the lock of the place before finds that it is no longer this one's.
        """
        with self._mutex:
            if path != self.path:
                self._forget()
                self._place = self._seen = None
                self._left.append(self.lock)
                self._lie_at(path)

    def look(self) -> bool:
        """Whether there is a database; raises WritesAreMissing if one should be there.

        Connections to a file or a log that is no longer in its place are closed. While a
        connection is open, nobody but the disk's owner removes, empties or replaces the log.
        """
        if self._twin is not None:
            namespace_places.refuse_twin(self.path, self._twin)
            self._twin = None
        found = _stat(self.path)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise StoreIsDamaged(namespace_places.no_file(self.path) or "")
        if found is None or not found.st_size:
            mark = read_head(self.path)
            found = _stat(self.path)  # again: others may have made the database and then its line
            if found is None or not found.st_size:
                self._check_gone(found, mark)
                return False
        log = _stat(f"{self.path}-wal") if self._known else None
        place, written = _place(found), (found.st_size, found.st_mtime_ns)
        with self._mutex:
            lost = bool(self._known) and self._log_is_lost(log)
            self._losses += lost and not self._reads_only
            stale = lost or self._place != place or self._written != written
            if stale and self._place is not None:
                self._forget()
            self._place, self._written = place, written
        return True

    @contextmanager
    def connection(self, end: float) -> Iterator[SqliteConnection]:
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

    @contextmanager
    def looked_at(self, end: float) -> Iterator[SqliteConnection]:
        """A connection of its own, which says in `flaw` what a usual one would be refused for."""
        db = self._connect(end)
        try:
            yield db
        finally:
            with suppress(sqlite3.Error):
                db.close()

    def check_unchanged(self) -> None:
        """Raises StoreIsBusy if the file changed since the last look; for a read without lock."""
        found = _stat(self.path)
        if found is None or (found.st_size, found.st_mtime_ns) != self._written:
            raise StoreIsBusy(f"{self.path} was changed while it was read. Retry.")

    def acknowledge(self, mark: DatabaseHead) -> None:
        """Writes down where the database stands after a commit; the caller holds the lock."""
        write_head(self.path, mark, make=False)
        found = _stat(self.path)  # a commit may have moved the log into the file
        with self._mutex:
            self._seen = mark
            if found is not None and self._place in {None, _place(found)}:
                self._place, self._written = _place(found), (found.st_size, found.st_mtime_ns)

    def enlarge(self, end: float) -> None:
        """Gives a file that outgrew its small pages large ones; the caller holds the lock.

        It needs to be alone with the file. If it is not, it tries again at twice the size, and so
        does the next process. A flaw of the file is said by the next usual connection.
        """
        size = self._written[0] if self._written is not None else 0
        if size <= self._fits:
            return
        self._fits = 2 * size
        if size > schema.REWRITTEN_BYTES:
            return
        self.release()
        db = self._connect(end)
        try:
            if db.flaw is None and schema.version(db) == schema.NEWEST and schema.enlarge(db):
                self._fits = schema.REWRITTEN_BYTES
        except sqlite3.OperationalError as error:  # it is as it was, and the write may go on
            if error.sqlite_errorcode & PRIMARY not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL}:
                raise
        finally:
            db.close()
        self.look()

    def is_unused(self) -> bool:
        """True when nobody uses the file, and no thread still waits for its lock."""
        return not self.users and not self.lock.is_waited_for()

    def release(self) -> None:
        """Close every idle connection."""
        with self._mutex:
            idle, self._idle = self._idle, []
            self._known.difference_update(idle)
            self._log = None
        for db in idle:
            with suppress(sqlite3.Error):
                db.close()

    def close(self) -> None:
        """Close every idle connection and the lock; those in use are closed by their users."""
        self.release()
        with self._mutex:
            self._known.clear()
        for lock in (self.lock, *self._left):
            lock.close(CLOSING_SECONDS)

    def after_fork(self) -> bool:
        """Forget the parent's connections without closing them; True when there were some."""
        inherited = list(self._known)
        forks.bury(inherited)
        self._mutex = threading.Lock()
        self._idle, self._known, self.users, self._log = [], set(), 0, None
        self.lock.after_fork()
        return bool(inherited)

    def _lie_at(self, path: Path) -> None:
        self.path: Path = path
        self.lock: FairLock = FairLock(path.with_suffix(".lock"))
        self._twin = namespace_places.twin(self.folder, path)

    def _take(self, end: float) -> SqliteConnection:
        with self._mutex:
            if self._idle:
                return self._idle.pop()
        db = self._connect(end)
        if db.flaw is not None:
            db.close()
            raise db.flaw
        with self._mutex:
            self._known.add(db)
        return db

    def _connect(self, end: float) -> SqliteConnection:
        """A new connection, held against the head file, or else against what was seen here.

        Whoever restores or deletes the namespace changes both files, one after the other: a flaw
        is believed if the head file is the same after it was found.
        """
        open_file.await_log(self.path, end)
        for _ in range(_TRIES):
            said = read_head(self.path)
            db = self._held_against(said or self._seen, end)
            if said is None and isinstance(db.flaw, StoreWasReplaced):
                self._seen = db.flaw = None  # it was deleted whole, and made anew
            if db.flaw is None or read_head(self.path) == said:
                break
            db.close()
        return db

    def _held_against(self, mark: DatabaseHead | None, end: float) -> SqliteConnection:
        life = f"{self._place} {self._losses}"
        if mark is not None and not self._known and self._has_own_log():
            looked = open_file.patiently(
                self.path, lambda: first_look(self.path, self.namespace, mark), end
            )
            if looked is not None:
                return looked
        db = self._opened(end)
        db.life, db.path = life, self.path
        if mark is None:
            return db
        try:
            db.flaw = open_file.patiently(
                self.path, lambda: flaw(db, self.path, self.namespace, mark), end
            )
        except BaseException:
            db.close()
            raise
        return db

    def _opened(self, end: float) -> SqliteConnection:
        reads_only = cannot_be_written(self.path)
        with self._mutex:
            self._reads_only = reads_only
            if reads_only and not self._known:
                self._log = _log(_stat(f"{self.path}-wal"))
        if not reads_only:
            return open_file.patiently(self.path, lambda: open_file.connect(self.path), end)
        return open_file.connect_read_only(self.path, self.namespace)

    def _has_own_log(self) -> bool:
        """Whether there is a log that a connection of this process could change."""
        found = _stat(f"{self.path}-wal")
        return found is not None and found.st_size > 0 and not cannot_be_written(self.path)

    def _check_gone(self, found: os.stat_result | None, mark: DatabaseHead | None) -> None:
        """Raises unless a database that is not there, or is empty, may be so.

        An empty file without a head file was just made, unless this process has it open.
        """
        if mark is None and found is not None and self._known and _place(found) == self._place:
            mark = self._seen
            if mark is not None and not mark.seq:  # another thread is making it
                return
        with self._mutex:
            self._forget()
            self._place = None
            if mark is None:
                self._seen = None
        if mark is not None:
            what = "it is gone" if found is None else "it is empty"
            raise missing(self.path, self.namespace, mark, what)

    def _log_is_lost(self, log: os.stat_result | None) -> bool:
        """Whether the log is another file than before, or was cut; notes the one that is there.

        Where this process only reads, others change the log without a lock that it would know of.
        """
        before, self._log = self._log, _log(log)
        if self._reads_only:
            return self._log != before
        return before is not None and (
            self._log is None or self._log[0] != before[0] or self._log[1] < before[1]
        )

    def _forget(self) -> None:
        """Closes the idle connections; those in use are closed by their users."""
        old, self._idle = self._idle, []
        self._known.clear()
        self._log = None
        for db in old:
            with suppress(sqlite3.Error):
                db.close()

    def _discard(self, db: SqliteConnection) -> None:
        with self._mutex:
            self._known.discard(db)
            if not self._known:
                self._log = None
        with suppress(sqlite3.Error):
            db.close()


def cannot_be_written(path: Path) -> bool:
    """Whether the database, or the folder in which SQLite keeps its log, cannot be written."""
    return not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK)


def _place(found: os.stat_result) -> Place:
    return found.st_dev, found.st_ino


def _log(found: os.stat_result | None) -> Log | None:
    return None if found is None else (_place(found), found.st_size, found.st_mtime_ns)


def _stat(path: Path | str) -> os.stat_result | None:
    try:
        return os.lstat(path)  # no Path: before each transaction: a Path costs as much again
    except FileNotFoundError:
        return None
