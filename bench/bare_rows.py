"""The rows that writes leave behind, read back from a store, and written again by bare SQL.

Whatever tables the schema has: new rows of every ordinary table, and of the keyword table the terms
of the new texts. The bare file has the same schema, pages, log and synchronous setting.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

Row: TypeAlias = tuple[object, ...]
Statement: TypeAlias = tuple[str, list[Row]]  # an INSERT, and the rows it is to insert
_KEYWORDS = "live"
_UNTOUCHED = {"store", "sqlite_sequence"}  # the one row of the store is updated, see `write`


def connect(path: Path) -> sqlite3.Connection:
    """A connection that waits for the disk at every commit, as ours do."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    return db


def written_by(path: Path, steps: Iterable[Callable[[], object]]) -> list[list[Statement]]:
    """What each step adds to the database, as statements."""
    db = connect(path)
    tables = _tables(db)
    last = {name: _last(db, name) for name, has_number in tables.items() if has_number}
    rest = {name: _all(db, name) for name, has_number in tables.items() if not has_number}
    steps_rows = []
    for step in steps:
        step()
        statements: list[Statement] = []
        for name, has_number in tables.items():
            if has_number:
                rows = db.execute(f'SELECT * FROM "{name}" WHERE rowid > ?', (last[name],))
                found = rows.fetchall()
                if name == "text":
                    statements.append(_keywords(db, last[name]))
                last[name] = _last(db, name)
            else:
                now = _all(db, name)
                found, rest[name] = sorted(now - rest[name], key=repr), now
            if found:
                marks = ", ".join("?" * len(found[0]))
                statements.append((f'INSERT OR REPLACE INTO "{name}" VALUES ({marks})', found))
        steps_rows.append(statements)
    db.close()
    return steps_rows


def write(db: sqlite3.Connection, statements: Sequence[Statement]) -> None:
    """One transaction with everything that one step wrote."""
    db.execute("BEGIN IMMEDIATE")
    for statement, rows in statements:
        db.executemany(statement, rows)
    db.execute("UPDATE store SET seq = seq + 1")
    db.execute("COMMIT")


def text_alone(statements: Sequence[Statement]) -> list[Statement]:
    """The text and its keywords, without what surrounds them."""
    wanted = ('INSERT OR REPLACE INTO "text"', f"INSERT INTO {_KEYWORDS}")
    return [each for each in statements if each[0].startswith(wanted)]


def _tables(db: sqlite3.Connection) -> dict[str, bool]:
    """Every ordinary table, and whether it has row numbers."""
    listed = db.execute("PRAGMA table_list").fetchall()
    return {
        name: not without_rowid
        for _, name, type_, _, without_rowid, _ in listed
        if type_ == "table" and name not in _UNTOUCHED and not name.startswith("sqlite_")
    }


def _last(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f'SELECT coalesce(max(rowid), 0) FROM "{name}"').fetchone()[0])


def _all(db: sqlite3.Connection, name: str) -> set[Row]:
    return set(db.execute(f'SELECT * FROM "{name}"'))


def _keywords(db: sqlite3.Connection, after: int) -> Statement:
    rows = db.execute("SELECT number, terms FROM text WHERE number > ?", (after,)).fetchall()
    return f"INSERT INTO {_KEYWORDS} (rowid, terms) VALUES (?, ?)", rows
