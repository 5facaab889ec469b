"""SQLite's and the file system's errors in our words."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from memory_mesh.errors import MeshError, StoreError, StoreIsBusy, StoreIsDamaged, StoreIsFull

_PRIMARY = 0xFF  # the extended result code's low byte is the primary one
_FAULTS: dict[int, type[MeshError]] = {
    sqlite3.SQLITE_FULL: StoreIsFull,
    sqlite3.SQLITE_BUSY: StoreIsBusy,
    sqlite3.SQLITE_LOCKED: StoreIsBusy,
    sqlite3.SQLITE_CORRUPT: StoreIsDamaged,
    sqlite3.SQLITE_NOTADB: StoreIsDamaged,
}
_REFUSED = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


@contextmanager
def translated() -> Iterator[None]:
    """Raise engine faults as StoreError; programming errors pass as they are."""
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
    except OSError as error:
        if error.errno is None:  # not the file system's: an alarm of the caller, say
            raise
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise StoreIsFull from error
        raise StoreError(
            f"the store folder cannot be used: {error.strerror}. Check --db-dir."
        ) from error
