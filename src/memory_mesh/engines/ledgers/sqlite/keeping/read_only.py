"""Reading a store whose folder cannot be written: a read-only disk, or a folder of somebody else.

::

    no log beside the database ──▶ opened as it is, as a file that nobody changes (immutable)
    a log, or an older schema  ──▶ a private copy of both, migrated, its files removed once opened

A kill while a file is written anew leaves a journal, which is copied and played back as a log is.

SQLite cannot read a database with its log where it may not write. Others may write there
meanwhile: each transaction looks whether the files are still the same, and opens them anew if not.
"""

import os
import shutil
import tempfile
from pathlib import Path

from memory_mesh import log
from memory_mesh.engines.ledgers.sqlite import opening, schema
from memory_mesh.engines.ledgers.sqlite.opening import Connection
from memory_mesh.errors import StoreIsBusy

IMMUTABLE = "mode=ro&immutable=1"
_TRIES = 5  # to copy files that somebody is changing
_LOGS = ("-wal", "-journal")


def connect(path: Path, namespace: str) -> Connection:
    """A connection that only reads, to the database itself or to a private copy."""
    log.warn_once(
        "read-only store",
        f"{path.parent} cannot be written: memories are read, and their use is not counted",
    )
    if not any(_is_there(Path(f"{path}{end}")) for end in _LOGS):
        db = opening.connect(path, IMMUTABLE)
        try:
            db.immutable = True
            if not 0 < schema.version(db) < schema.NEWEST:
                return db
        except BaseException:
            db.close()
            raise
        db.close()
    return _of_a_copy(path, namespace)


def _of_a_copy(path: Path, namespace: str) -> Connection:
    """A connection to a copy that holds what its log held; the open file alone keeps it."""
    folder = Path(tempfile.mkdtemp(prefix="memory-mesh-"))
    try:
        copy = folder / path.name
        _copy(path, copy)
        db = opening.connect(copy)
        try:
            if schema.version(db):
                schema.ensure(db, copy, namespace)
                db.execute("PRAGMA journal_mode = DELETE")  # the log goes into the file
        finally:
            db.close()
        return opening.connect(copy, IMMUTABLE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(path: Path, copy: Path) -> None:
    """Copies a database and its logs as they are at one moment.

    This process has no lock of SQLite on files that it cannot write, so it may open and close them.
    """
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
