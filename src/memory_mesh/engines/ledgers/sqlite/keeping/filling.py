"""Puts the rows that can be read into a new file, and finds out which ones are missing."""

import hashlib
import sqlite3

from memory_mesh.engines.ledgers.sqlite.keeping.layout import Table
from memory_mesh.engines.ledgers.sqlite.keeping.losses import INDEXED, Gap, Known, Losses
from memory_mesh.engines.ledgers.sqlite.keeping.reading import Remains, Row
from memory_mesh.engines.ledgers.sqlite.keeping.records import Value
from memory_mesh.engines.ledgers.sqlite.keeping.trees import Hole

# Rows of these are hardly ever deleted, so an older copy of a page may stand for a damaged one.
_LASTING = frozenset(("memory", "text", "version", "observation", "block", "skill", "space"))
_KEPT_OF_STORE = ("seq", "recorded", "identity", "analyzer", "old_texts", "old_skills")


def fill(
    db: sqlite3.Connection, remains: Remains, tables: list[Table], losses: Losses
) -> dict[str, Known]:
    """Fills every table; returns the row of `store` by its name, if it was read."""
    holes: dict[str, list[Hole]] = {}
    store: dict[str, Known] = {}
    for table in tables:
        for found in remains.rows(table):
            if isinstance(found, Hole):
                holes.setdefault(table.name, []).append(found)
            elif table.name == "store":
                store = {"store": _named(table, found)}
            else:
                _insert(db, table, found, losses)
    remains.walk_others({table.name for table in tables})
    _fill_holes(db, remains, [table for table in tables if table.name in holes], losses)
    for table in tables:
        if table.name != "store":
            _missing(db, remains, table, holes.get(table.name, []), losses)
    return store


def _fill_holes(
    db: sqlite3.Connection, remains: Remains, damaged: list[Table], losses: Losses
) -> None:
    """Adds rows from pages that no tree leads to, and from older copies of damaged pages."""
    tables = [table for table in damaged if table.name != "store"]
    found = [*remains.loose(tables)] if tables else []
    for table in tables:
        if table.name in _LASTING:
            found += ((table, row) for row in remains.earlier(table))
    for table, row in found:
        _insert(db, table, row, losses)


def drop_wrong_texts(db: sqlite3.Connection, losses: Losses) -> None:
    """Takes out texts that are not what was stored, unless another row vouches for them."""
    vouched = {bytes(row[0]) for row in db.execute("SELECT DISTINCT hash FROM observation")}
    for number, content, hashed in db.execute("SELECT number, content, hash FROM text").fetchall():
        made = hashlib.sha256(content.encode()).digest()
        if made == hashed:
            continue
        if made in vouched:
            db.execute("UPDATE text SET hash = ? WHERE number = ?", (made, number))
            losses.rebuilt.append(f"the hash of text {number}, from an observation of it")
            continue
        drop(db, "text", number, "its content is not what was stored", losses)


def drop(db: sqlite3.Connection, table: str, number: int, why: str, losses: Losses) -> None:
    """Takes a row out of the new file; what it says goes to the leftovers and is known."""
    found = db.execute(f"SELECT * FROM {table} WHERE rowid = ?", (number,))  # noqa: S608  # own names
    names = [column[0] for column in found.description]
    row = dict(zip(names, found.fetchone(), strict=True))
    losses.keep(table, number, why, row)
    losses.lose(table, number, why, row)
    db.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))  # noqa: S608


def store_row(db: sqlite3.Connection, known: Known) -> None:
    """Takes from the old row of `store` what nothing else says."""
    names = [name for name in _KEPT_OF_STORE if known.get(name) is not None]
    if names:
        sets = ", ".join(f"{name} = ?" for name in names)
        db.execute(f"UPDATE store SET {sets}", [known[name] for name in names])  # noqa: S608


def _insert(db: sqlite3.Connection, table: Table, row: Row, losses: Losses) -> None:
    marks = ", ".join("?" * len(row.values))
    if row.found != "table" and _is_there(db, table, row):
        return
    done = db.execute(f"INSERT OR IGNORE INTO {table.name} VALUES ({marks})", row.values)  # noqa: S608
    if done.rowcount and row.found == "earlier" and table.name == "version":
        losses.older.add(row.rowid)
    if not done.rowcount and row.found == "table":
        why = "it contradicts another row that was read before"
        losses.keep(table.name, row.rowid, why, _named(table, row))
        if table.rowids and not _is_there(db, table, row):
            losses.lose(table.name, row.rowid, why, _named(table, row))


def _is_there(db: sqlite3.Connection, table: Table, row: Row) -> bool:
    if not table.rowids:
        return False
    asked = f"SELECT 1 FROM {table.name} WHERE rowid = ?"  # noqa: S608  # own names
    return db.execute(asked, (row.rowid,)).fetchone() is not None


def _named(table: Table, row: Row) -> dict[str, Value]:
    return {column.name: value for column, value in zip(table.columns, row.values, strict=True)}


def _missing(
    db: sqlite3.Connection, remains: Remains, table: Table, holes: list[Hole], losses: Losses
) -> None:
    """Finds out which rows are lost: those that an index names, and the numbers that are left out.

    Numbers are given one after another, so a number between two rows around a damaged page that
    nothing else explains was a row.
    """
    if not table.rowids:
        losses.gaps += [Gap(table.name, None, None, hole.why) for hole in holes]
        return
    there = {number for (number,) in db.execute(f"SELECT rowid FROM {table.name}")}  # noqa: S608
    indexed = 0
    for number, known in remains.entries(table):
        indexed += 1
        if number not in there and number > 0:
            losses.lose(table.name, number, INDEXED, known)
    highest = max([*there, *losses.why.get(table.name, ())], default=0)
    for hole in holes:
        if hole.cell is not None:
            values = dict(enumerate(hole.cell.values))
            known = {str(place): value for place, value in values.items()}
            losses.keep(table.name, hole.cell.rowid, hole.why, known)
        if hole.until is None and not indexed:
            losses.gaps.append(Gap(table.name, hole.after, None, hole.why))
        until = highest if hole.until is None else min(hole.until, highest)
        for number in range((hole.after or 0) + 1, until + 1):
            if number not in there:
                losses.lose(table.name, number, hole.why, {})
                losses.why[table.name][number] = (
                    hole.why
                )  # it says more than that an index names it
