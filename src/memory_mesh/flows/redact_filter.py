"""How `prepare` redacts a filter: each literal as the stored value that it is compared with."""

from collections.abc import Mapping

from memory_mesh.model import Json
from memory_mesh.model.filter import (
    Among,
    And,
    Between,
    Compare,
    Field,
    Filter,
    IsNull,
    Like,
    MetadataKey,
    Not,
    Or,
    Value,
)
from memory_mesh.ports import Redactor

_IDENTITIES = frozenset({"project", "agent_id", "session_id", "source", "source_ref"})


def redacted(redactor: Redactor, node: Filter) -> Filter:
    """The filter without personal data and secrets in its literals and metadata keys."""
    match node:
        case And(parts):
            return And(tuple(redacted(redactor, part) for part in parts))
        case Or(parts):
            return Or(tuple(redacted(redactor, part) for part in parts))
        case Not(part):
            return Not(redacted(redactor, part))
        case Compare(field, sign, value):
            return Compare(_field(redactor, field), sign, _value(redactor, field, value))
        case Among(field, values):
            found = tuple(_value(redactor, field, value) for value in values)
            return Among(_field(redactor, field), found)
        case Like(field, pattern):
            return Like(_field(redactor, field), str(_value(redactor, field, pattern)))
        case Between(field, low, high):
            ends = (_value(redactor, field, end) for end in (low, high))
            return Between(_field(redactor, field), *ends)
        case IsNull(field):
            return IsNull(_field(redactor, field))


def _field(redactor: Redactor, field: Field) -> Field:
    if isinstance(field, MetadataKey):
        return MetadataKey(redactor.text(field.name))
    return field


def _value(redactor: Redactor, field: Field, value: Value) -> Value:
    """A literal; of a metadata key it is context, as X is a password under that name."""
    if isinstance(field, MetadataKey):
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return value
        found: Json = redactor.json({field.name: value})
        kept = next(iter(found.values())) if isinstance(found, Mapping) else value
        return kept if isinstance(kept, str | int | float) else value
    if not isinstance(value, str):
        return value
    return redactor.identity(value) if field in _IDENTITIES else redactor.text(value)
