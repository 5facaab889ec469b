"""Cells and records of SQLite's pages, read byte by byte; what makes no sense is a ValueError.

The format is that of https://www.sqlite.org/fileformat2.html. We store UTF-8 and reserve no bytes
at the end of pages.
"""

import sqlite3
import struct
from collections.abc import Callable, Sequence

from memory_mesh.base.typed import TypeAlias, dataclass

_TYPES: dict[str, tuple[type, ...]] = {
    "INTEGER": (int,),
    "REAL": (float, int),  # a whole number is stored as one
    "TEXT": (str,),
    "BLOB": (bytes, str),  # of blocks: packed or not
}
_PARTS = ("_data", "_idx", "_content", "_docsize", "_config")  # tables of a keyword table

Value: TypeAlias = int | float | str | bytes | None
Values: TypeAlias = tuple[Value, ...]
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a value, by its type
_REAL, _ZERO, _ONE, _UNUSED, _LONG = 7, 8, 9, (10, 11), 12
_VARINT = 9  # bytes at most


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a place, and the place after it."""
    value = 0
    for place in range(at, at + _VARINT - 1):
        byte = data[place] if place < len(data) else _over()
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004  # the last byte has no high bit
            return value, place + 1
    place = at + _VARINT - 1
    value = value << 8 | (data[place] if place < len(data) else _over())
    return value - (1 << 64) if value >> 63 else value, place + 1


def record(payload: bytes) -> Values:
    """The values of a record, which fill it to its last byte."""
    length, at = varint(payload, 0)
    if not 0 < length <= len(payload):
        raise ValueError("the header of a record is too long")
    body, values = length, []
    while at < length:
        kind, at = varint(payload, at)
        if kind < 0 or kind in _UNUSED:
            raise ValueError("a value has a type that there is not")
        size = _SIZES[kind] if kind < _LONG else (kind - _LONG) // 2
        if body + size > len(payload):
            raise ValueError("a value is longer than its record")
        values.append(_value(kind, payload[body : body + size]))
        body += size
    if at != length or body != len(payload):
        raise ValueError("a record does not end where its values do")
    return tuple(values)


def payload(
    page: bytes, at: int, length: int, *, of_table: bool, more: Callable[[int], bytes]
) -> bytes:
    """The bytes of a cell: in its page and, if they are many, in the pages that follow it."""
    usable = len(page)
    most = usable - 35 if of_table else (usable - 12) * 64 // 255 - 23
    if length < 0:
        raise ValueError("a cell has a length below zero")
    if length <= most:
        return _part(page, at, length)
    least = (usable - 12) * 32 // 255 - 23
    here = least + (length - least) % (usable - 4)
    here = here if here <= most else least
    parts = [_part(page, at, here)]
    (following,) = struct.unpack(">I", _part(page, at + here, 4))
    left = length - here
    while left > 0:
        one = more(following)
        (following,) = struct.unpack(">I", one[:4])
        parts.append(one[4 : 4 + left])
        left -= len(parts[-1])
    if following:
        raise ValueError("a long value goes on after its end")
    return b"".join(parts)


def _part(page: bytes, at: int, length: int) -> bytes:
    if at + length > len(page):
        raise ValueError("a cell is longer than its page")
    return page[at : at + length]


def _value(kind: int, data: bytes) -> Value:
    if kind == 0:
        return None
    if kind in {_ZERO, _ONE}:
        return kind - _ZERO
    if kind == _REAL:
        (real,) = struct.unpack(">d", data)
        return float(real)
    if kind < _LONG:
        return int.from_bytes(data, "big", signed=True)
    return data.decode(errors="replace") if kind % 2 else data  # a checksum says if it is right


def _over() -> int:
    raise ValueError("a number goes over the end of its page")


# The tables and indexes that a schema has, as a new file lists them.


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One column: what it may hold, and what rows from before it was added have."""

    name: str
    types: tuple[type, ...]
    needed: bool
    default: Value


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One table: its columns in order, and in the order in which rows are stored."""

    name: str
    columns: tuple[StoredColumn, ...]
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
        return tuple(found) if all(map(_fits, self.columns, found)) else None


def tables(db: sqlite3.Connection) -> list[StoredTable]:
    """Every table that holds something of its own; keyword tables are made from others."""
    found = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    ).fetchall()
    made = {name for name, sql in found if sql.upper().startswith("CREATE VIRTUAL")}
    made |= {name + part for name in made for part in _PARTS}
    return [_table(db, name, sql) for name, sql in found if name not in made]


def _table(db: sqlite3.Connection, name: str, sql: str) -> StoredTable:
    rowids = not sql.upper().rstrip(" ;\n").endswith("WITHOUT ROWID")
    columns, keys = [], {}
    for place, named, type_, needed, default, key in db.execute(f"PRAGMA table_info({name})"):
        types = _TYPES.get(type_.upper(), (int, float, str, bytes))
        value = None if default is None else db.execute(f"SELECT {default}").fetchone()[0]
        columns.append(
            StoredColumn(named, types, bool(needed or key) and not (key and rowids), value)
        )
        if key:
            keys[key] = (place, type_.upper())
    first = [place for _, (place, _) in sorted(keys.items())]
    is_number = rowids and len(keys) == 1 and next(iter(keys.values()))[1] == "INTEGER"
    number = first[0] if is_number else None
    order = range(len(columns))
    stored = order if rowids else [*first, *(place for place in order if place not in first)]
    return StoredTable(name, tuple(columns), tuple(stored), number, rowids, _indexes(db, name))


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


def _fits(column: StoredColumn, value: Value) -> bool:
    return not column.needed if value is None else isinstance(value, column.types)
