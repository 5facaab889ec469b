"""The file's schema: made at the first write, migrated under the lock, checked in each transaction.

Lowest SQLite: 3.35 (FTS5 with the ascii tokenizer, RETURNING not needed, JSON functions built in).
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from memory_mesh.engines.ledgers import migrations
from memory_mesh.errors import StoreError, StoreIsDamaged
from memory_mesh.policy.writing import audit
from memory_mesh.process.private import make_file

LOWEST_SQLITE = (3, 35, 0)
NEWEST = 10  # the number of the last migration
PAGE = 8192  # bytes; shrinks vector storage by a quarter against 4096
_FOLDER = Path(__file__).parent / "migrations"


def check_sqlite() -> None:
    """Refuse an SQLite that is too old or lacks FTS5."""
    if sqlite3.sqlite_version_info < LOWEST_SQLITE:
        needed = ".".join(map(str, LOWEST_SQLITE))
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old: memory-mesh needs {needed}")


def version(db: sqlite3.Connection) -> int:
    """The last migration this file has seen; 0 for a file without schema."""
    found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def ensure(db: sqlite3.Connection, path: Path, namespace: str) -> None:
    """Make or migrate the schema; the caller holds the lock."""
    found = version(db)
    if found >= NEWEST:
        return
    if not found:
        if db.execute("SELECT 1 FROM sqlite_master").fetchone():  # a database, but not of ours
            raise StoreIsDamaged
        db.execute(f"PRAGMA page_size = {PAGE}")
        db.execute("PRAGMA journal_mode = WAL")
    elif not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'store'").fetchone():
        raise StoreIsDamaged
    migrations.migrate(
        _FOLDER,
        found,
        backup=lambda number: _back_up(db, path, number),
        apply=lambda step: _apply(db, step, namespace),
    )


def _back_up(db: sqlite3.Connection, path: Path, number: int) -> None:
    """A whole copy beside the file before anything is changed."""
    copy = path.with_suffix(f".before-{number + 1:04d}-{time.time_ns()}.bak")
    make_file(copy)  # SQLite fills an empty file and keeps its mode
    db.execute("VACUUM INTO ?", (str(copy),))


def _apply(db: sqlite3.Connection, step: migrations.Step, namespace: str) -> None:
    """One step is one transaction, together with its number."""
    for name, function in _FUNCTIONS.items():
        db.create_function(name, 1, function, deterministic=True)
    db.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements(step.sql):
            db.execute(statement)
        if step.number == 1:
            db.execute(
                "INSERT INTO store VALUES (1, ?, 1, 1, 0, 0, 0, ?, lower(hex(randomblob(16))))",
                (namespace, audit.genesis(namespace)),
            )
        db.execute(f"PRAGMA user_version = {step.number}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _claim_key(filed: str) -> str:
    """The key under which today's version files a subject or a predicate."""
    from memory_mesh.policy.claims.claim import key  # a new file has none

    return key(filed) or filed


def _echo(text: str) -> bytes | None:
    """The fingerprint that today's version makes of a text."""
    from memory_mesh.policy.writing.recited import fingerprint  # a new file has none

    return fingerprint(text) or None


_FUNCTIONS: dict[str, Callable[[str], str | bytes | None]] = {
    "claim_key": _claim_key,
    "echo_of": _echo,
}  # that migrations call


def _statements(script: str) -> list[str]:
    """A script's statements one by one: executescript would commit on its own."""
    statements, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    return statements


@contextmanager
def empty(namespace: str) -> Iterator[sqlite3.Connection]:
    """A namespace without memories, for reads of one that does not exist."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        if hasattr(db, "deserialize"):
            db.deserialize(_blank())
            db.execute(
                "UPDATE store SET namespace = ?, head = ?, identity = lower(hex(randomblob(16)))",
                (namespace, audit.genesis(namespace)),
            )
        else:  # of an SQLite before 3.36
            _make(db, namespace)
        yield db
    finally:
        db.close()


@lru_cache(maxsize=1)
def _blank() -> bytes:
    """The file of a namespace without memories: migrating one takes 30 ms, copying it none."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _make(db, "")
        return db.serialize()
    finally:
        db.close()


def _make(db: sqlite3.Connection, namespace: str) -> None:
    for step in migrations.steps(_FOLDER):
        _apply(db, step, namespace)
