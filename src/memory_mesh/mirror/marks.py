"""Remembers what an agent's edit tool wrote, so that it is not taken for the user's words."""

import hashlib
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from memory_mesh.errors import StoreError
from memory_mesh.ports import Clock
from memory_mesh.process.clock import SystemClock
from memory_mesh.process.private import make_file, make_folder

FILE = "agents.sqlite"
KEPT = timedelta(days=30)
_WRITTEN, _REMOVED = "written", "removed"
_WAIT_SECONDS = 10.0
_TABLE = """CREATE TABLE IF NOT EXISTS mark (
    sha256 TEXT NOT NULL, act TEXT NOT NULL, path TEXT NOT NULL, marked REAL NOT NULL,
    PRIMARY KEY (sha256, act, path))"""

_FOUND = """SELECT path FROM mark
    WHERE sha256 = ?1 AND act = ?2 AND marked >= ?3 AND (?4 IS NULL OR path = ?4)"""


class Marks:
    """The agents' edits of the last 30 days: path and SHA-256 of the content, no content."""

    def __init__(self, state_dir: Path, *, clock: Clock | None = None) -> None:
        self._file = state_dir / FILE
        self._clock = clock or SystemClock()

    def mark(self, path: Path, content: bytes) -> None:
        """Records that an agent wrote this content."""
        self._record(path, content, _WRITTEN)

    def mark_removal(self, path: Path, content: bytes) -> None:
        """Records that an agent removed the file when it had this content."""
        self._record(path, content, _REMOVED)

    def written(self, content: bytes) -> str | None:
        """Returns the path at which an agent wrote this content; a moved file stays the agent's."""
        return self._find(hashlib.sha256(content).hexdigest(), _WRITTEN, None)

    def removed(self, path: Path, sha256: str) -> bool:
        """Whether an agent removed the file that had this content."""
        return self._find(sha256, _REMOVED, path) is not None

    def _record(self, path: Path, content: bytes, act: str) -> None:
        now = self._clock.now()
        row = (hashlib.sha256(content).hexdigest(), act, _name(path), now.timestamp())
        try:
            make_folder(self._file.parent)
            make_file(self._file)
            with closing(sqlite3.connect(self._file, timeout=_WAIT_SECONDS)) as db, db:
                db.execute(_TABLE)
                db.execute("INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?)", row)
                db.execute("DELETE FROM mark WHERE marked < ?", ((now - KEPT).timestamp(),))
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"the mark could not be written to {self._file} ({error}): without it the edit "
                "counts as the user's. Free the file or the disk and mark it again."
            ) from error

    def _find(self, sha256: str, act: str, path: Path | None) -> str | None:
        if not self._file.is_file():
            return None
        since = (self._clock.now() - KEPT).timestamp()
        values = (sha256, act, since, None if path is None else _name(path))
        try:
            with closing(sqlite3.connect(self._file, timeout=_WAIT_SECONDS)) as db:
                row = db.execute(_FOUND, values).fetchone()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self._file} cannot be read ({error}), so agents' edits cannot be told from the "
                "user's. Remove the file if it is damaged; the marks in it are lost."
            ) from error
        return None if row is None else str(row[0])


def _name(path: Path) -> str:
    """The whole path as text, even where it is not UTF-8."""
    return (
        os.path.realpath(path)
        .encode("utf-8", "surrogateescape")
        .decode("utf-8", "backslashreplace")
    )
