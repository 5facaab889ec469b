"""The head file: what a namespace's database held after its last acknowledged write.

::

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
import zlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.base.typed import Any
from memory_mesh.ledgers.sqlite.connection import SqliteConnection
from memory_mesh.ledgers.sqlite.faults import command, damaged
from memory_mesh.ledgers.sqlite.open_file import WRITES, begin_writing, connect
from memory_mesh.model.errors import StoreIsDamaged, StoreWasReplaced, WritesAreMissing
from memory_mesh.platform import private_files, system

SUFFIX = ".head"
BYTES = 192
_FORM = "v1"
_FIELDS = 7
_TRIES = 3
_TYPES = (str, int, int, int, bytes)  # of a row that we wrote
_STANDS = f"SELECT identity, seq, {WRITES}, position, head FROM store"  # noqa: S608  # own names
_HELD = (
    "SELECT identity, seq, position, (SELECT hash FROM block WHERE block.position = ?) FROM store"
)
_TABLES = "SELECT name FROM sqlite_master WHERE name IN ('store', 'state')"
_COUNT = (
    "INSERT INTO state VALUES ('writes', '1') ON CONFLICT (name) "
    "DO UPDATE SET value = CAST(value AS INTEGER) + 1"
)


@dataclass(frozen=True, slots=True)
class DatabaseHead:
    """Where a database stood: whose it is, its counters, and the end of its chain."""

    identity: str
    seq: int
    writes: int
    position: int
    hash: bytes


@lru_cache(maxsize=256)
def path_of(database: Path) -> Path:
    """The head file beside a database."""
    return database.with_suffix(SUFFIX)


def stands(db: sqlite3.Connection) -> DatabaseHead:
    """Where the database stands in this transaction."""
    return _mark(db.execute(_STANDS).fetchone())


def begun(db: SqliteConnection) -> DatabaseHead:
    """Where the database stands at the beginning of a write, which its version allows us."""
    writes = begin_writing(db)
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


def read(database: Path) -> DatabaseHead | None:
    """What the head file says; None if there is none, its line is torn, or no commit is known."""
    with suppress(OSError):
        descriptor = os.open(path_of(database), os.O_RDONLY | system.NO_WAIT)
        try:
            mark = parsed(os.read(descriptor, BYTES))
        finally:
            os.close(descriptor)
        return mark if mark is not None and mark.seq else None  # what holds nothing may be removed
    return None


def unreadable(database: Path) -> str | None:
    """What is wrong with a head file that says nothing; None if it is sound, empty or not there.

    One that is just written may be read half: it is read again. Any file beside it names it.
    """
    path = path_of(database)
    for _ in range(_TRIES):
        try:
            data = path.read_bytes()[:BYTES]
        except OSError:  # not there, or for others: `read` says nothing of it either
            return None
        if not data or parsed(data) is not None:
            return None
    return (
        f"{path} cannot be read, so a loss of acknowledged writes would not be noticed. The next "
        "write to the namespace writes it anew"
    )


def absent(database: Path, namespace: str) -> str | None:
    """What is wrong with a namespace that has commits and no head file; None if it has one."""
    path = path_of(database)
    if os.path.lexists(path):
        return None
    return (
        f"{path} is missing, so nothing tells whether acknowledged writes are: the database may be "
        "an older copy. Compare it with the last backup (memory-mesh restore --from BACKUP --to "
        f"FOLDER). To go on with what is there: {command('repair', namespace)}"
    )


def write(database: Path, mark: DatabaseHead, *, make: bool = True) -> None:
    """Says where the database stands; the caller holds the lock, and has committed.

    A full or failing disk keeps no write from being acknowledged: the line is behind then.
    """
    open_file = private_files.open_file if make else os.open
    with suppress(OSError):
        descriptor = open_file(path_of(database), os.O_RDWR | system.NO_WAIT)
        try:
            os.write(descriptor, line(mark))
        finally:
            os.close(descriptor)


def remove(database: Path) -> None:
    """Forgets what was acknowledged: before a database is removed on purpose, never after."""
    path_of(database).unlink(missing_ok=True)


def line(mark: DatabaseHead) -> bytes:
    """The line that says a mark."""
    said = f"{_FORM} {mark.identity} {mark.seq} {mark.writes} {mark.position} {mark.hash.hex()}"
    return f"{said} {zlib.crc32(said.encode()):08x}".encode().ljust(BYTES - 1) + b"\n"


def parsed(data: bytes) -> DatabaseHead | None:
    """The mark that a line says; None for one that was not written whole."""
    said, _, crc = data.rstrip().rpartition(b" ")
    words = data.split()
    if len(data) != BYTES or len(words) != _FIELDS or words[0] != _FORM.encode():
        return None
    if crc != b"%08x" % zlib.crc32(said):
        return None
    _, identity, seq, writes, position, hashed, _ = (word.decode() for word in words)
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
    if (
        seq == mark.seq
        and mark.writes
        and (stands(db).writes if "state" in tables else 0) < mark.writes
    ):
        return missing(path, namespace, mark, "the last uses and records of reads are gone")
    return None


def first_look(path: Path, namespace: str, mark: DatabaseHead) -> SqliteConnection | None:
    """A connection that only reads, with its flaw, to a database whose log was damaged; else None.

    The last connection that may write moves the sound part of a log into the file and removes the
    rest, which salvage can still read. One that only reads leaves the log as it is.
    """
    db = connect(path, "mode=ro")
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
    mark = read(path)
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
