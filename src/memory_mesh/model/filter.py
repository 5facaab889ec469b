"""The tree of a filter; rules/filters.py parses it, each ledger compiles it to its own SQL."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from memory_mesh.base.typed import TypeAlias, dataclass


class FieldType(Enum):
    """What the values of a field are, and so what it may be compared with."""

    TEXT = "a 'text' in single quotes"
    NUMBER = "a number"
    TIME = "a time such as '2026-01-31T12:00:00Z'"
    BOOL = "true or false"
    TAGS = "a 'tag' in single quotes"
    METADATA = "a 'text' in single quotes, a number, true or false"


class Sign(Enum):
    """How a field compares with a value."""

    EQUAL = "="
    UNEQUAL = "!="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="


Value: TypeAlias = str | int | float | bool | datetime


@dataclass(frozen=True, slots=True)
class MetadataKey:
    """A top-level key of the metadata; a test of it holds if it holds for one element of a list."""

    name: str


Field: TypeAlias = str | MetadataKey  # a field of ours by its name, or a key of the metadata


@dataclass(frozen=True, slots=True)
class Compare:
    """The field stands in this relation to the value; for tags: one of them is the value."""

    field: Field
    sign: Sign
    value: Value


@dataclass(frozen=True, slots=True)
class Among:
    """The field is one of the values; for tags: one of them is."""

    field: Field
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """The field matches a pattern of % and _, with a backslash to mean them literally."""

    field: Field
    pattern: str


@dataclass(frozen=True, slots=True)
class Between:
    """The field lies between two values, both included."""

    field: Field
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class IsNull:
    """The field has no value; for tags: there are none."""

    field: Field


@dataclass(frozen=True, slots=True)
class And:
    """Every part holds."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Filter"


Test: TypeAlias = Compare | Among | Like | Between | IsNull
Filter: TypeAlias = Compare | Among | Like | Between | IsNull | And | Or | Not
GivenFilter: TypeAlias = str | Mapping[str, object] | None  # as callers write it
