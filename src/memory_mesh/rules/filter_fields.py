"""The fields that a filter can name, and what the text and the mapping form of one share."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time

from memory_mesh.model.errors import FilterError, shown
from memory_mesh.model.query import (
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
    Value,
)
from memory_mesh.rules.arguments import METADATA_KEY_CHARS, is_forbidden

MAX_LENGTH = 2_000  # characters of a text
MAX_MAPPING_CHARS = 20_000  # of all texts in a mapping
MAX_DEPTH = 32
MAX_TESTS = 64
MAX_VALUES = 256
MAX_INTEGER = 2**63 - 1  # of SQLite's integers
TOP_LEVEL = "Only top-level metadata can be filtered"


def _fields() -> dict[str, FieldType]:
    """Every field by the type of its values."""
    names = {
        FieldType.TEXT: "id content memory_type type kind label status session_id agent_id project "
        "source source_kind channel speaker role tier lesson_pattern_id source_skill_id subject "
        "predicate source_ref",
        FieldType.NUMBER: "order importance confidence access_count rule_confidence severity",
        FieldType.TIME: "last_accessed created_at updated_at occurred_at valid_from valid_until",
        FieldType.BOOL: "pinned",
        FieldType.TAGS: "tags",
    }
    return {name: type_ for type_, listed in names.items() for name in listed.split()}


FIELDS: Mapping[str, FieldType] = _fields()
ALIASES: Mapping[str, str] = {"importance_score": "importance"}
# RFC-0011 writes sessionId where its columns say session_id; case never matters.
_SPELLINGS = {
    spelling: ALIASES.get(name, name)
    for name in (*FIELDS, *ALIASES)
    for spelling in (name, name.replace("_", ""))
}
# Metadata keys that are stored as fields (formats/rfc11.py promotes them), by the field.
_PROMOTED_KEYS = {
    "type": "label",
    "session_id": "session_id",
    "source": "source",
    "tags": "tags",
    "importance_score": "importance",
}


def field_of(name: str) -> Field:
    """The field of a name: one of ours in any spelling, else the metadata key of exactly that."""
    return _SPELLINGS.get(name.lower()) or key_of(name)


def key_of(name: str) -> Field:
    """What `metadata.NAME` means: the key, or the field that it is stored as."""
    if name in _PROMOTED_KEYS:
        return _PROMOTED_KEYS[name]
    if len(name) > METADATA_KEY_CHARS:
        raise FilterError(f"A metadata key has at most {METADATA_KEY_CHARS} characters.")
    if is_forbidden(name):
        raise FilterError(f"Filter: metadata has no key {shown(name, 40)}: it is not allowed.")
    return MetadataKey(name)


def type_of(field: Field) -> FieldType:
    """What the values of a field are."""
    return FieldType.METADATA if isinstance(field, MetadataKey) else FIELDS[field]


def moment(given: object) -> datetime | None:
    """A time from ISO 8601 text, a datetime or a date; without an offset it is read as UTC."""
    if isinstance(given, date) and not isinstance(given, datetime):
        given = datetime.combine(given, time())
    try:
        found = datetime.fromisoformat(given) if isinstance(given, str) else given
        if not isinstance(found, datetime):
            return None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def is_pattern(text: str) -> bool:
    """False for a pattern of LIKE that ends in a lone backslash."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 0


def canonical(node: Filter) -> str:
    """Returns one text for all filters that differ only in form, spelling or order."""
    match node:
        case Compare(field, sign, value):
            return f"{_name(field)} {sign.value} {_literal(value)}"
        case Among(field, values):
            listed = ", ".join(sorted({_literal(value) for value in values}))
            return f"{_name(field)} IN ({listed})"
        case Like(field, pattern):
            return f"{_name(field)} LIKE {_literal(pattern)}"
        case Between(field, low, high):
            return f"{_name(field)} BETWEEN {_literal(low)} AND {_literal(high)}"
        case IsNull(field):
            return f"{_name(field)} IS NULL"
        case And():
            return _group(" AND ", _flat(node))
        case Or():
            return _group(" OR ", _flat(node))
        case Not(part):
            return f"NOT {canonical(part)}"


def _flat(node: And | Or) -> list[Filter]:
    """The parts of a group, with those of groups of the same sort inside it."""
    parts: list[Filter] = []
    for part in node.parts:
        parts += _flat(part) if isinstance(part, And | Or) and type(part) is type(node) else [part]
    return parts


def _group(word: str, parts: list[Filter]) -> str:
    """Returns the parts sorted, without duplicates."""
    texts = sorted({canonical(part) for part in parts})
    return texts[0] if len(texts) == 1 else f"({word.join(texts)})"


def _name(field: Field) -> str:
    """Returns the field in the syntax of the grammar."""
    if not isinstance(field, MetadataKey):
        return field
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", field.name):
        return f"metadata.{field.name}"
    return 'metadata."' + field.name.replace('"', '""') + '"'


def _literal(value: Value) -> str:
    """Returns the value in the syntax of the grammar."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"timestamp '{value.isoformat()}'"
        case _:
            return repr(value)
