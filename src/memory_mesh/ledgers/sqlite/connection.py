"""A connection to one file, and the faults of SQLite and the disk in our words.

A fault names the file that it concerns and the command that helps.
"""

import errno
import sqlite3
from pathlib import Path

from memory_mesh.base.typed import Any
from memory_mesh.ledgers.shared.engine import Engine, FileKnowledge
from memory_mesh.ledgers.shared.rows import UnreadableRow
from memory_mesh.model.errors import (
    InvalidInput,
    MeshError,
    StoreError,
    StoreIsBusy,
    StoreIsDamaged,
    StoreIsFull,
)
from memory_mesh.rules.arguments import user_of

PRIMARY = 0xFF  # the extended result code's low byte is the primary one
_USUAL = "default"  # the namespace of a command that names none
_FULL = {sqlite3.SQLITE_FULL}
_BUSY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PROTOCOL,  # SQLite tried to begin for ten seconds
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_REFUSED = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
_NO_SHARED_MEMORY = {  # of the log: it is made before anything is read or written
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
}
_NO_TEXT = "Could not decode to UTF-8"  # Python's own: SQLite keeps any bytes as a text
_NO_VALUE = "user-defined function raised exception"  # ours take what we write
_NO_SCHEMA = (  # a statement of ours that SQLite no longer understands: the schema was damaged
    "invalid fts5 file format",
    "unsupported file format",
    "vtable constructor failed",
    "no such table",
    "no such column",
    "no such module",
    "foreign key mismatch",
)
_FAULTS = (StoreIsDamaged, sqlite3.Error, UnicodeError, OverflowError, OSError)


class translated:  # noqa: N801  # it is used as a function is
    """Raise faults of SQLite and the disk as StoreError; programming errors pass as they are."""

    __slots__ = ("_namespace", "_path")

    def __init__(self, path: Path, namespace: str) -> None:
        self._path, self._namespace = path, namespace

    def __enter__(self) -> None:
        """Nothing is wrong yet."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raises the fault, if it was one."""
        if not isinstance(error, _FAULTS):
            return
        fault = _said(error, self._path, self._namespace)
        if fault is not None:
            raise fault from error


def damaged(path: Path, namespace: str, what: str) -> StoreIsDamaged:
    """The error that names the damaged file and the commands that help."""
    return StoreIsDamaged(
        f"{path} is damaged: {what}. {_look(namespace)}Rebuild what can be: "
        f"{command('repair', namespace)}; restore a backup: memory-mesh restore --from BACKUP; "
        "without one, copy what can be read: memory-mesh salvage --to FOLDER"
    )


def looked_at(said: str, namespace: str) -> str:
    """What was said of damage, for who has just looked at it: without the advice to do so."""
    return said.replace(_look(namespace), "")


def _look(namespace: str) -> str:
    return f"See what is wrong: {command('verify', namespace)}. "


def command(rest: str, namespace: str) -> str:
    """A command of ours as it is typed for a namespace."""
    if namespace == _USUAL:
        return f"memory-mesh {rest}"
    import shlex

    user = user_of(namespace)
    which = (
        f"--namespace {shlex.quote(namespace)}" if user is None else f"--user {shlex.quote(user)}"
    )
    return f"memory-mesh {rest} {which}"


def _said(error: Exception, path: Path, namespace: str) -> MeshError | None:
    """The error in our words; None for one that says enough, or is not the store's."""
    if isinstance(error, UnreadableRow):
        return damaged(path, namespace, str(error))
    if isinstance(error, UnicodeDecodeError):  # SQLite quotes what it cannot read
        return damaged(path, namespace, "its schema is no text")
    if isinstance(error, StoreIsDamaged):
        told = str(error) != StoreIsDamaged.__doc__
        return None if told else damaged(path, namespace, "it is not a ledger")
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error, path, namespace)
    if isinstance(error, OSError):
        return _of_disk(error, path)
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"a text is not valid Unicode (a lone surrogate at {error.start})")
    if "SQLite" in str(error):
        return InvalidInput("a number is too large: it must be below 2**63")
    return None


def _of_sqlite(error: sqlite3.Error, path: Path, namespace: str) -> StoreError | None:
    whole = getattr(error, "sqlite_errorcode", 0)
    code = whole & PRIMARY
    if code in _FULL or (whole in _NO_SHARED_MEMORY and _has_no_room(path)):
        return StoreIsFull()
    if code in _BUSY:
        return StoreIsBusy()
    if code in _DAMAGED or str(error).startswith((_NO_TEXT, _NO_VALUE, *_NO_SCHEMA)):
        return damaged(path, namespace, f"SQLite says “{error}”")
    if code in _REFUSED:
        return StoreError(
            f"the disk refused {path}: {error}. Nothing is half stored, but a write that failed at "
            "its very end may be there: look before you repeat it, or repeat it with its key."
        )
    return None


def _of_disk(error: OSError, path: Path) -> StoreError | None:
    if error.errno is None:  # not the file system's: an alarm of the caller, say
        return None
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StoreIsFull()
    file = next((place for place in path.parents if place.is_file()), None)
    why = error.strerror if file is None else f"{file} is a file"
    return StoreError(
        f"the store folder {path.parent} cannot be used: {why}. Name another folder: db_dir, on "
        "the command line --db-dir, or MEMORY_MESH_DIR."
    )


def _has_no_room(path: Path) -> bool:
    """Whether the file system has not a single free block; False if it does not say so."""
    import shutil

    try:
        return not shutil.disk_usage(path.parent).free
    except OSError:
        return False


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
