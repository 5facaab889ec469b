"""Puts the rows that can be read into a new file, and finds out which ones are missing."""

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.care.sqlite.pages import INDEX, TABLE, Cell, Hole, Pages, Trees
from memory_mesh.ledgers.sqlite.page_records import StoredTable, Value, Values
from memory_mesh.ledgers.sqlite.salvaged_chain import INDEXED, Gap, Known, Losses

# What is left of a damaged file: its rows table by table, and what indexes know of the others.


_SCHEMA = 5  # columns of the table that lists the others


@dataclass(frozen=True, slots=True)
class Row:
    """A row in the order of its table's columns."""

    rowid: int
    values: Values
    found: str = "table"  # or: loose, in a page that no tree leads to; earlier, in an older copy


class Remains:
    """One file, read without SQLite."""

    def __init__(self, path: Path, *, log: bool = True) -> None:
        """Read a file with its log, or as if it had none."""
        self.pages: Pages = Pages(path, log=log)
        self._trees = Trees(self.pages)
        self.holes: dict[str, list[Hole]] = {}
        self._indexes: dict[str, str] = {}  # with the statement that made each
        self._roots = dict(self._schema())

    def has_table(self, name: str) -> bool:
        """Whether the file says where a table begins."""
        return name in self._roots

    def rows(self, table: StoredTable) -> Iterator[Row | Hole]:
        """The rows that the table's own tree leads to."""
        kind = TABLE if table.rowids else INDEX
        for found in self._walk(table.name, kind):
            values = table.values(found.rowid, found.values) if isinstance(found, Cell) else None
            if isinstance(found, Cell) and values is not None:
                yield Row(found.rowid if table.rowids else 0, values)
            else:
                hole = (
                    found
                    if isinstance(found, Hole)
                    else Hole(
                        found.page,
                        "a row holds what it cannot",
                        found.rowid - 1,
                        found.rowid,
                        found,
                    )
                )
                self.holes.setdefault(table.name, []).append(hole)
                yield hole

    def entries(self, table: StoredTable) -> Iterator[tuple[int, dict[str, Value]]]:
        """What each index of the table knows of a row: its number, and columns."""
        for name, columns in table.indexes.items():
            if not table.rowids:
                continue
            for found in self._walk(name, INDEX):
                if isinstance(found, Cell) and len(found.values) == len(columns):
                    known = zip(columns, found.values, strict=True)
                    yield found.rowid, {column: value for column, value in known if column}

    def numbers(self, name: str) -> set[int]:
        """The numbers of a table's rows, whatever they hold."""
        return {found.rowid for found in self._walk(name, TABLE) if isinstance(found, Cell)}

    def walk_others(self, known: set[str]) -> None:
        """Walks the trees of other tables and of indexes, so that their pages are not loose."""
        for name, root in self._roots.items():
            if name not in known and root > 0:
                begins = self.pages.page(root)[0]
                for _ in self._trees.walk(root, INDEX if begins in INDEX else TABLE):
                    pass

    def index_statements(self) -> list[str]:
        """The statements that made the file's indexes, as far as they can be read."""
        return [sql for sql in self._indexes.values() if sql]

    def loose(self, tables: list[StoredTable]) -> Iterator[tuple[StoredTable, Row]]:
        """Rows in pages that no tree leads to, as a lost inner page leaves them.

        Asked for when every tree was read. A page is of the table whose rows all of its cells can
        be.
        """
        free = self.pages.free_pages()
        for number in range(2, self.pages.count + 1):
            if number in self._trees.seen or number in free:
                continue
            for kind in (TABLE, INDEX):
                cells = self._trees.leaf(number, kind)
                fitting = [
                    (table, rows)
                    for table in tables
                    if table.rowids == (kind is TABLE) and (rows := _all(table, cells))
                ]
                if len(fitting) == 1:
                    table, rows = fitting[0]
                    yield from ((table, row) for row in rows)

    def earlier(self, table: StoredTable) -> Iterator[Row]:
        """Rows in the copies that a damaged page of the table replaced."""
        kind = TABLE if table.rowids else INDEX
        for number in sorted({hole.page for hole in self.holes.get(table.name, ())}):
            for copy in self.pages.earlier(number):
                cells = self._trees.leaf(number, kind, copy)
                yield from _all(table, cells, "earlier")

    def _walk(self, name: str, kind: tuple[int, int]) -> Iterator[Cell | Hole]:
        root = self._roots.get(name)
        if root is None:
            yield Hole(0, "the file does not say where it begins")
        else:
            yield from self._trees.walk(root, kind)

    def _schema(self) -> Iterator[tuple[str, int]]:
        """Where each table and index begins."""
        for found in self._trees.walk(1, TABLE):
            if isinstance(found, Hole):
                self.holes.setdefault("sqlite_master", []).append(found)
            elif len(found.values) == _SCHEMA:
                kind, name, _, root, sql = found.values
                if isinstance(name, str) and isinstance(root, int):
                    if kind == "index":
                        self._indexes[name] = sql if isinstance(sql, str) else ""
                    yield name, root


def _all(table: StoredTable, cells: list[Cell], found: str = "loose") -> list[Row]:
    """The cells as rows of a table; none if one of them cannot be."""
    rows = []
    for cell in cells:
        values = table.values(cell.rowid, cell.values)
        if values is None:
            return []
        rows.append(Row(cell.rowid if table.rowids else 0, values, found))
    return rows


# Rows of these are hardly ever deleted, so an older copy of a page may stand for a damaged one.
_LASTING = frozenset(("memory", "text", "version", "observation", "block", "skill", "space"))
_KEPT_OF_STORE = ("seq", "recorded", "identity", "analyzer", "old_texts", "old_skills")


def fill(
    db: sqlite3.Connection, remains: Remains, tables: list[StoredTable], losses: Losses
) -> dict[str, Known]:
    """Fills every table; returns the row of `store` by its name, if it was read."""
    holes: dict[str, list[Hole]] = {}
    store: dict[str, Known] = {}
    for table in tables:
        for found in remains.rows(table):
            if isinstance(found, Hole):
                holes.setdefault(table.name, []).append(found)
            elif table.name == "store":
                store = {"store": named(table, found)}
            else:
                _insert(db, table, found, losses)
    remains.walk_others({table.name for table in tables})
    _fill_holes(db, remains, [table for table in tables if table.name in holes], losses)
    for table in tables:
        if table.name != "store":
            _missing(db, remains, table, holes.get(table.name, []), losses)
    return store


def _fill_holes(
    db: sqlite3.Connection, remains: Remains, damaged: list[StoredTable], losses: Losses
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


def named(table: StoredTable, row: Row) -> Known:
    """A row by the names of its columns."""
    return {column.name: value for column, value in zip(table.columns, row.values, strict=True)}


def store_row(db: sqlite3.Connection, known: Known) -> None:
    """Takes from the old row of `store` what nothing else says."""
    names = [name for name in _KEPT_OF_STORE if known.get(name) is not None]
    if names:
        sets = ", ".join(f"{name} = ?" for name in names)
        db.execute(f"UPDATE store SET {sets}", [known[name] for name in names])  # noqa: S608


def _insert(db: sqlite3.Connection, table: StoredTable, row: Row, losses: Losses) -> None:
    marks = ", ".join("?" * len(row.values))
    if row.found != "table" and _is_there(db, table, row):
        return
    done = db.execute(f"INSERT OR IGNORE INTO {table.name} VALUES ({marks})", row.values)  # noqa: S608
    if done.rowcount and row.found == "earlier" and table.name == "version":
        losses.older.add(row.rowid)
    if not done.rowcount and row.found == "table":
        why = "it contradicts another row that was read before"
        losses.keep(table.name, row.rowid, why, named(table, row))
        if table.rowids and not _is_there(db, table, row):
            losses.lose(table.name, row.rowid, why, named(table, row))


def _is_there(db: sqlite3.Connection, table: StoredTable, row: Row) -> bool:
    if not table.rowids:
        return False
    asked = f"SELECT 1 FROM {table.name} WHERE rowid = ?"  # noqa: S608  # own names
    return db.execute(asked, (row.rowid,)).fetchone() is not None


def _missing(
    db: sqlite3.Connection, remains: Remains, table: StoredTable, holes: list[Hole], losses: Losses
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
