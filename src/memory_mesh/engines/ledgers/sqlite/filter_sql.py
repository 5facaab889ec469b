"""A parsed filter as SQL: our own column expressions, `?` for every value, nothing of the caller's.

Times are bound as microseconds since 1970 and booleans as 0 or 1, as the ledger stores them; a
column of tags holds a JSON array, and a test of it means membership.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from memory_mesh.errors import FilterError
from memory_mesh.model.filter import (
    Among,
    And,
    Between,
    Compare,
    FieldType,
    Filter,
    IsNull,
    Like,
    Not,
    Or,
    Sign,
    Value,
)
from memory_mesh.policy.filters import FIELDS
from memory_mesh.typed import TypeAlias

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Bound: TypeAlias = str | int | float
_Test: TypeAlias = Compare | Among | Like | Between | IsNull


def compile_sql(node: Filter, columns: Mapping[str, str]) -> tuple[str, list[Bound]]:
    """The filter as an SQL condition of our own columns and `?`, and the values to bind to them."""
    match node:
        case And(parts) | Or(parts):
            compiled = [compile_sql(part, columns) for part in parts]
            word = " AND " if isinstance(node, And) else " OR "
            bound = [value for _, values in compiled for value in values]
            return "(" + word.join(sql for sql, _ in compiled) + ")", bound
        case Not(part):
            sql, bound = compile_sql(part, columns)
            return f"NOT {sql}", bound
        case _:
            if node.field not in columns:
                raise FilterError(f"{node.field} cannot be filtered here.")
            if FIELDS[node.field] is FieldType.TAGS:
                return _tags_sql(node, columns[node.field])
            return _test_sql(node, columns[node.field])


def _test_sql(node: _Test, column: str) -> tuple[str, list[Bound]]:
    """One test of a column that holds a single value."""
    match node:
        case Compare(_, sign, value):
            return f"({column} {sign.value} ?)", [_bound(value)]
        case Among(_, values):
            marks = ", ".join("?" * len(values))
            return f"({column} IN ({marks}))", [_bound(value) for value in values]
        case Like(_, pattern):
            return f"({column} LIKE ? ESCAPE '\\')", [pattern]
        case Between(_, low, high):
            return f"({column} BETWEEN ? AND ?)", [_bound(low), _bound(high)]
        case IsNull():
            return f"({column} IS NULL)", []


def _tags_sql(node: _Test, column: str) -> tuple[str, list[Bound]]:
    """One test of a column that holds a JSON array: membership."""
    if isinstance(node, IsNull):
        return f"(NOT EXISTS (SELECT 1 FROM json_each({column})))", []  # noqa: S608 - our own column
    if isinstance(node, Compare) and node.sign is Sign.UNEQUAL:
        sql, bound = _tags_sql(Compare(node.field, Sign.EQUAL, node.value), column)
        return f"(NOT {sql})", bound
    sql, bound = _test_sql(node, "value")
    return f"(EXISTS (SELECT 1 FROM json_each({column}) WHERE {sql}))", bound  # noqa: S608


def _bound(value: Value) -> Bound:
    """The value as SQLite keeps it: times in microseconds since 1970, booleans as 0 and 1."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return int(value) if isinstance(value, bool) else value
