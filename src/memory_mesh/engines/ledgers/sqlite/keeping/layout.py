"""The tables and indexes that a schema has, as a new file lists them."""

import sqlite3
from collections.abc import Sequence

from memory_mesh.engines.ledgers.sqlite.keeping.records import Value, Values
from memory_mesh.fastdataclass import dataclass

_TYPES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "REAL": (float, int),  # a whole number is stored as one
    "TEXT": (str,),
    "BLOB": (bytes, str),  # of blocks: packed or not
}
_PARTS = ("_data", "_idx", "_content", "_docsize", "_config")  # tables of a keyword table


@dataclass(frozen=True, slots=True)
class Column:
    """One column: what it may hold, and what rows from before it was added have."""

    name: str
    types: tuple[type, ...]
    needed: bool
    default: Value


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its columns in order, and in the order in which rows are stored."""

    name: str
    columns: tuple[Column, ...]
    stored: tuple[int, ...]
    number: int | None  # the column that is the row's number, if one is
    rowids: bool
    indexes: dict[str, tuple[str | None, ...]]  # the columns of each; None is the row's number

    def values(self, rowid: int, stored: Values) -> Values | None:
        """A stored row's values in the order of the columns; None if they cannot be such a row."""
        if not stored or len(stored) > len(self.columns):
            return None
        found: list[Value] = [column.default for column in self.columns]
        for place, value in zip(self.stored, stored, strict=False):
            found[place] = value
        if self.number is not None:
            if found[self.number] is not None:
                return None
            found[self.number] = rowid
        fits = all(map(_fits, self.columns, found))
        return tuple(found) if fits else None


def tables(db: sqlite3.Connection) -> list[Table]:
    """Every table that holds something of its own; keyword tables are made from others."""
    found = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    ).fetchall()
    made = {name for name, sql in found if sql.upper().startswith("CREATE VIRTUAL")}
    made |= {name + part for name in made for part in _PARTS}
    return [_table(db, name, sql) for name, sql in found if name not in made]


def _table(db: sqlite3.Connection, name: str, sql: str) -> Table:
    rowids = not sql.upper().rstrip(" ;\n").endswith("WITHOUT ROWID")
    columns, keys = [], {}
    for place, named, type_, needed, default, key in db.execute(f"PRAGMA table_info({name})"):
        types = _TYPES.get(type_.upper(), (int, float, str, bytes))
        value = None if default is None else db.execute(f"SELECT {default}").fetchone()[0]
        columns.append(Column(named, types, bool(needed or key) and not (key and rowids), value))
        if key:
            keys[key] = (place, type_.upper())
    first = [place for _, (place, _) in sorted(keys.items())]
    is_number = rowids and len(keys) == 1 and next(iter(keys.values()))[1] == "INTEGER"
    number = first[0] if is_number else None
    order = range(len(columns))
    stored = order if rowids else [*first, *(place for place in order if place not in first)]
    return Table(name, tuple(columns), tuple(stored), number, rowids, _indexes(db, name))


def _indexes(db: sqlite3.Connection, table: str) -> dict[str, tuple[str | None, ...]]:
    names: Sequence[tuple[str, str]] = db.execute(
        "SELECT name, origin FROM pragma_index_list(?)", (table,)
    ).fetchall()
    return {
        name: tuple(
            column
            for (column,) in db.execute(
                "SELECT name FROM pragma_index_xinfo(?) ORDER BY seqno", (name,)
            )
        )
        for name, origin in names
    }


def _fits(column: Column, value: Value) -> bool:
    return not column.needed if value is None else isinstance(value, column.types)
