"""A parsed filter as SQL: our own column expressions, `?` for every name and value of the caller's.

Times are bound as microseconds since 1970 and booleans as 0 or 1, as the ledger stores them; a
column of tags holds a JSON array, and a test of it means membership. A metadata key is looked up in
the JSON object of the version; its tests are true or false, never NULL.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from memory_mesh.errors import FilterError
from memory_mesh.model.filter import (
    Among,
    And,
    Between,
    Compare,
    Field,
    FieldType,
    Filter,
    IsNull,
    Like,
    MetadataKey,
    Not,
    Or,
    Sign,
    Test,
    Value,
)
from memory_mesh.policy.filters import type_of
from memory_mesh.typed import TypeAlias

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
METADATA = "metadata"  # the column of the metadata keys
_REAL = "json_extract(?, '$')"
Bound: TypeAlias = str | int | float
Compiled: TypeAlias = tuple[str, list[Bound]]


def compile_sql(node: Filter, columns: Mapping[str, str]) -> Compiled:
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
            return _compiled(node, columns)


def fields_of(node: Filter) -> Iterator[Field]:
    """Every field that a filter tests."""
    match node:
        case And(parts) | Or(parts):
            for part in parts:
                yield from fields_of(part)
        case Not(part):
            yield from fields_of(part)
        case _:
            yield node.field


def _compiled(node: Test, columns: Mapping[str, str]) -> Compiled:
    name = METADATA if isinstance(node.field, MetadataKey) else node.field
    if name not in columns:
        raise FilterError(f"{name} cannot be filtered here.")
    if isinstance(node.field, MetadataKey):
        return _metadata_sql(node, node.field.name, columns[name])
    if type_of(node.field) is FieldType.TAGS:
        return _tags_sql(node, columns[name])
    return _test_sql(node, columns[name])


def _test_sql(node: Test, column: str) -> Compiled:
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


def _tags_sql(node: Test, column: str) -> Compiled:
    """One test of a column that holds a JSON array: membership."""
    if isinstance(node, IsNull):
        return f"(NOT EXISTS (SELECT 1 FROM json_each({column})))", []  # noqa: S608 - our own column
    if isinstance(node, Compare) and node.sign is Sign.UNEQUAL:
        sql, bound = _tags_sql(Compare(node.field, Sign.EQUAL, node.value), column)
        return f"(NOT {sql})", bound
    sql, bound = _test_sql(node, "value")
    return f"(EXISTS (SELECT 1 FROM json_each({column}) WHERE {sql}))", bound  # noqa: S608


def _metadata_sql(node: Test, key: str, column: str) -> Compiled:
    """One test of a metadata key: of its value, or of one element if that is a list."""
    found = f"SELECT 1 FROM json_each({column}) k WHERE k.key = ?"  # noqa: S608 - our own column
    if isinstance(node, IsNull):
        return f"(NOT EXISTS ({found} AND k.type <> 'null'))", [key]
    if isinstance(node, Compare) and node.sign is Sign.UNEQUAL:
        sql, bound = _metadata_sql(Compare(node.field, Sign.EQUAL, node.value), key, column)
        return f"(NOT {sql})", bound
    of_value, bound = _json_sql(node, "k")
    of_element, _ = _json_sql(node, "e")
    inside = f"k.type = 'array' AND EXISTS (SELECT 1 FROM json_each(k.value) e WHERE {of_element})"  # noqa: S608
    return f"(EXISTS ({found} AND ({of_value} OR ({inside}))))", [key, *bound, *bound]


def _json_sql(node: Test, row: str) -> Compiled:
    """One test of a row of json_each: its type, then its value."""
    match node:
        case Compare(_, sign, value):
            return _typed(row, value, lambda column, mark: f"{column} {sign.value} {mark}")
        case Among(_, values):
            tests = [_json_sql(Compare(node.field, Sign.EQUAL, each), row) for each in values]
            bound = [value for _, held in tests for value in held]
            return "(" + " OR ".join(sql for sql, _ in tests) + ")", bound
        case Like(_, pattern):
            return f"({row}.type = 'text' AND {row}.value LIKE ? ESCAPE '\\')", [pattern]
        case Between(_, low, high):
            first, least = _typed(row, low, lambda column, mark: f"{column} >= {mark}")
            second, most = _typed(row, high, lambda column, mark: f"{column} <= {mark}")
            return f"({first} AND {second})", [*least, *most]
        case IsNull():
            return f"({row}.type = 'null')", []


def _typed(row: str, value: Value, test: Callable[[str, str], str]) -> Compiled:
    """A test that holds for values of the literal's type only.

    A number with a point is read by SQLite from text, as that of the metadata is: what it makes of
    the last digit is then the same.
    """
    if isinstance(value, bool):
        return f"({row}.type = '{'true' if value else 'false'}')", []
    if isinstance(value, str):
        return f"({row}.type = 'text' AND {test(f'{row}.value', '?')})", [value]
    number = f"{row}.type IN ('integer', 'real')"
    if isinstance(value, float):
        return f"({number} AND {test(f'{row}.atom', _REAL)})", [repr(value)]
    return f"({number} AND {test(f'{row}.atom', '?')})", [_bound(value)]


def _bound(value: Value) -> Bound:
    """The value as SQLite keeps it: times in microseconds since 1970, booleans as 0 and 1."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return int(value) if isinstance(value, bool) else value
