"""A filter of reads, given as text or mapping, becomes the tree of it.

::

    "team = 'core' AND priority >= 3"                  ── filter_text.py ────┐
    {"team": "core", "priority": {"$gte": 3}}          ── filter_mapping.py ─┼─▶ model/query.py
    '{"team": "core", "priority": {"$gte": 3}}'        ── JSON of a mapping ─┘

A name is a field of ours, or else a top-level key of the metadata; `metadata.NAME` is always the
key. Nothing of a filter reaches SQL as text: a ledger compiles the tree and binds names and values.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence

from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.model.errors import FilterError, InvalidInput, shown
from memory_mesh.model.query import (
    Among,
    And,
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
    Value,
)
from memory_mesh.rules.arguments import check_text, near
from memory_mesh.rules.filter_fields import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_MAPPING_CHARS,
    MAX_TESTS,
    MAX_VALUES,
    TOP_LEVEL,
    field_of,
    is_pattern,
    key_of,
    moment,
    type_of,
)

if TYPE_CHECKING:
    from typing import TypeGuard

_SIGNS = {
    "$eq": Sign.EQUAL,
    "$ne": Sign.UNEQUAL,
    "$gt": Sign.ABOVE,
    "$gte": Sign.AT_LEAST,
    "$lt": Sign.BELOW,
    "$lte": Sign.AT_MOST,
}
OPERATORS = (*_SIGNS, "$in", "$nin", "$contains", "$like", "$exists", "$not")
JOINS = ("$and", "$or", "$not")
_ORDER = frozenset({"$gt", "$gte", "$lt", "$lte"})
_REFUSED = {  # operators that a field of a type does not have
    FieldType.TEXT: frozenset({"$contains"}),
    FieldType.NUMBER: frozenset({"$contains", "$like"}),
    FieldType.TIME: frozenset({"$contains", "$like"}),
    FieldType.BOOL: _ORDER | {"$contains", "$like"},
    FieldType.TAGS: _ORDER,
    FieldType.METADATA: frozenset(),
}
_TAKES = {
    FieldType.TEXT: "a text",
    FieldType.NUMBER: "a number",
    FieldType.TIME: FieldType.TIME.value,
    FieldType.BOOL: FieldType.BOOL.value,
    FieldType.TAGS: "a text",
}
_ELSEWHERE = {  # operators of others
    "$regex": "$like takes a pattern of % and _",
    "$text": "a search finds texts by their words; $like takes a pattern of % and _",
    "$all": "join tests with $and",
    "$size": "the length of a list cannot be filtered",
    "$elemMatch": "a test of a list holds if it holds for one element",
}


def parse(given: object) -> Filter:
    """Parses a filter: a text of the grammar, a mapping, or the JSON of a mapping."""
    if isinstance(given, Mapping) or (isinstance(given, str) and given.lstrip()[:1] == "{"):
        return read_json(given) if isinstance(given, str) else read(given)
    if not isinstance(given, str):
        raise FilterError(f"A filter is a text or a mapping, not {type(given).__name__}.")
    from memory_mesh.rules import filter_text

    return filter_text.read(given)


# A filter as a mapping: `{"team": "core", "priority": {"$gte": 3}, "tags": {"$contains": "db"}}`.
#
# Each entry is a test, and all must hold. The value of a field is a value it equals, a list of
# which it is one, null, or a mapping of operators. `$and`, `$or` and `$not` join mappings.


def read_json(text: str) -> Filter:
    """Parses the JSON of a mapping."""
    if len(text) > 2 * MAX_MAPPING_CHARS:
        raise FilterError(f"A filter has at most {MAX_MAPPING_CHARS} characters.")
    try:
        given = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise FilterError(
            "The filter begins with { and is not valid JSON. Write a mapping such as "
            '{"team": "core"}, or a text such as team = \'core\'.'
        ) from None
    return read(given)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FilterError(f"Filter: {shown(twice, 40)} is there twice; join tests with $and.")
    return found


def read(given: Mapping[object, object]) -> Filter:
    """Parses a mapping; FilterError names the field and says what is allowed."""
    return _Reader().mapping(given, 0)


class _Reader:
    """Reads mappings with limits on depth, counts and characters."""

    __slots__ = ("_characters", "_tests")

    def __init__(self) -> None:
        self._tests = 0
        self._characters = 0

    def mapping(self, given: object, depth: int) -> Filter:
        """All entries of a mapping, joined by AND."""
        if not isinstance(given, Mapping):
            raise FilterError(f"Filter: expected a mapping, not {_type(given)}.")
        if depth > MAX_DEPTH:
            raise FilterError(f"A filter nests at most {MAX_DEPTH} levels deep.")
        if not given:
            raise FilterError("Filter: an empty mapping says nothing; leave it out.")
        return _joined(And, [self._entry(name, given[name], depth) for name in given])

    def _entry(self, name: object, value: object, depth: int) -> Filter:
        if not isinstance(name, str):
            raise FilterError(f"Filter: the name of a field must be text, not {_type(name)}.")
        if name.startswith("$"):
            return self._join(name, value, depth)
        if f"${name.lower()}" in JOINS and isinstance(value, Mapping | list | tuple):
            raise FilterError(
                f"Filter: there is no {shown(name)}; did you mean ${name.lower()}? "
                f'A metadata key of this name is "metadata.{name}".'
            )
        self._spend(name)
        return self._field(_named(name, value), name, value, depth + 1)

    def _join(self, word: str, value: object, depth: int) -> Filter:
        if word == "$not":
            if not isinstance(value, Mapping):
                raise FilterError(f"Filter: $not takes a mapping, not {_type(value)}.")
            return Not(self.mapping(value, depth + 1))
        if word in {"$and", "$or"}:
            if not _is_list(value) or not value or not all(isinstance(p, Mapping) for p in value):
                raise FilterError(
                    f"Filter: {word} takes a list of at least one mapping, such as "
                    f'{{"{word}": [{{"team": "core"}}, {{"priority": 3}}]}}.'
                )
            parts = [self.mapping(part, depth + 1) for part in value]
            return _joined(And if word == "$and" else Or, parts)
        if word in OPERATORS:
            raise FilterError(
                f'Filter: {word} belongs to a field: {{"tags": {{"{word}": …}}}}. '
                f"Mappings are joined by {', '.join(JOINS)}."
            )
        raise FilterError(_unknown(word, JOINS, "Mappings are joined by"))

    def _field(self, field: Field, name: str, value: object, depth: int) -> Filter:
        """All tests of one field."""
        if isinstance(value, Mapping):
            return self._operators(field, name, value, depth)
        if _is_list(value):
            if not value:
                raise FilterError(
                    f"Filter: a list of values must have at least one: {shown(name)}."
                )
            return self._among(field, "a list", value)
        return self._equal(field, "", value)

    def _operators(
        self, field: Field, name: str, given: Mapping[object, object], depth: int
    ) -> Filter:
        if depth > MAX_DEPTH:
            raise FilterError(f"A filter nests at most {MAX_DEPTH} levels deep.")
        if not given:
            raise FilterError(f"Filter: an empty mapping says nothing of {shown(name)}.")
        for word in given:
            if not isinstance(word, str) or not word.startswith("$"):
                meant = f"${word}".lower()
                hint = f" did you mean {meant}?" if meant in OPERATORS else ""
                raise FilterError(
                    f"Filter: {shown(name)} has {shown(word, 40)}, which is no operator;{hint} "
                    f"{TOP_LEVEL}, by the operators {', '.join(OPERATORS)}."
                )
        parts = [self._operator(field, name, str(word), given[word], depth) for word in given]
        return _joined(And, parts)

    def _operator(self, field: Field, name: str, word: str, value: object, depth: int) -> Filter:
        """One operator of a field with its value."""
        _check_operator(field, word)
        if word == "$not":
            if not isinstance(value, Mapping):
                raise FilterError(
                    'Filter: $not takes a mapping of operators, such as {"$not": {"$gt": 3}}; '
                    "for another value use $ne."
                )
            return Not(self._operators(field, name, value, depth + 1))
        if word in {"$in", "$nin"}:
            if not _is_list(value):
                raise FilterError(f'Filter: {word} takes a list of values, such as ["a", "b"].')
            if not value:
                raise FilterError(f"Filter: {word} takes at least one value.")
            among = self._among(field, word, value)
            return Not(among) if word == "$nin" else among
        if word in _SIGNS:
            return self._compare(field, word, value)
        return self._other(field, word, value)

    def _other(self, field: Field, word: str, value: object) -> Filter:
        if word == "$exists":
            if not isinstance(value, bool):
                raise FilterError(f"Filter: $exists takes true or false, not {_type(value)}.")
            self._count()
            return Not(IsNull(field)) if value else IsNull(field)
        if word == "$contains":
            if _is_list(value):
                raise FilterError("Filter: $contains takes one value; for one of several use $in.")
            return self._compare(field, "$eq", value)
        if not isinstance(value, str):
            raise FilterError(f"Filter: $like takes a text, not {_type(value)}.")
        if not is_pattern(value):
            raise FilterError("Filter: the pattern of $like ends in a lone backslash.")
        self._count()
        return Like(field, self._text(value))

    def _compare(self, field: Field, word: str, value: object) -> Filter:
        if word in _ORDER:
            fits = isinstance(value, str | int | float) and not isinstance(value, bool)
            if isinstance(field, MetadataKey) and not fits:
                raise FilterError(
                    f"Filter: {word} takes a text or a number for {shown(field.name)}, "
                    f"not {_type(value)}."
                )
            self._count()
            return Compare(field, _SIGNS[word], self._value(field, value))
        equal = self._equal(field, word, value)
        if word != "$ne":
            return equal
        if isinstance(equal, Compare):
            return Compare(equal.field, Sign.UNEQUAL, equal.value)
        return Not(equal)

    def _equal(self, field: Field, word: str, value: object) -> Filter:
        self._count()
        if value is None:
            return IsNull(field)
        if _is_list(value):
            raise FilterError(f"Filter: {word} takes one value, not a list; use $in or $nin.")
        return Compare(field, Sign.EQUAL, self._value(field, value))

    def _among(self, field: Field, word: str, values: Collection[object]) -> Filter:
        if len(values) > MAX_VALUES:
            raise FilterError(f"Filter: {word} takes at most {MAX_VALUES} values.")
        self._count()
        found = tuple(self._value(field, value) for value in values if value is not None)
        if len(found) == len(values):
            return Among(field, found)
        return Or((IsNull(field), Among(field, found))) if found else IsNull(field)

    def _value(self, field: Field, value: object) -> Value:
        """The value as one of the field's type."""
        type_ = type_of(field)
        if isinstance(value, float) and not math.isfinite(value):
            raise FilterError(f"Filter: {value} is not a number that a filter can compare with.")
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise FilterError("Filter: a whole number has at most 64 bits; write it as text.")
        found = _FITS[type_](value)
        if found is None:
            name = field.name if isinstance(field, MetadataKey) else field
            takes = _TAKES.get(type_, "a text, a number, true, false or null")
            raise FilterError(f"Filter: {shown(name)[1:-1]} takes {takes}, not {_type(value)}.")
        return self._text(found) if isinstance(found, str) else found

    def _text(self, value: str) -> str:
        self._spend(value)
        return value

    def _spend(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > MAX_MAPPING_CHARS:
            raise FilterError(f"A filter has at most {MAX_MAPPING_CHARS} characters.")
        try:
            check_text(text, "a text of the filter")
        except InvalidInput as error:
            raise FilterError(f"Filter: {error}.") from None

    def _count(self) -> None:
        self._tests += 1
        if self._tests > MAX_TESTS:
            raise FilterError(f"A filter has at most {MAX_TESTS} comparisons.")


def _joined(group: type[And] | type[Or], parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else group(tuple(parts))


def _named(name: str, value: object) -> Field:
    """The field that a name of a mapping means; a name in double quotes may hold a dot."""
    if name == "metadata":
        first = next(iter(value), None) if isinstance(value, Mapping) else None
        key = first if isinstance(first, str) and not first.startswith("$") else "KEY"
        raise FilterError(f"Filter: metadata has keys: write metadata.{shown(key, 40)[1:-1]}.")
    key = name.removeprefix("metadata.")
    plain = _unquoted(key)
    if plain is None and "." in key:
        raise FilterError(
            f"Filter: {shown(name)} has a dot. {TOP_LEVEL}; a key with a dot goes in double "
            f"quotes: '\"a.b\"'."
        )
    found = key if plain is None else plain
    return field_of(found) if key == name else key_of(found)


def _unquoted(name: str) -> str | None:
    """The name inside double quotes; None if there are none around it."""
    if len(name) > 1 and name[0] == name[-1] == '"':
        return name[1:-1].replace('""', '"')
    return None


def _check_operator(field: Field, word: str) -> None:
    """Raises FilterError for an operator that is none, or none of the field's."""
    if word not in OPERATORS:
        raise FilterError(_unknown(word, OPERATORS, "The operators are"))
    refused = _REFUSED[type_of(field)]
    if word not in refused:
        return
    hint = ""
    if word == "$contains":
        hint = ' A part of a text is found by {"$like": "%word%"}.'
    allowed = ", ".join(each for each in OPERATORS if each not in refused)
    raise FilterError(f"Filter: {field} allows {allowed}, not {word}.{hint}")


def _unknown(word: str, known: Sequence[str], listing: str) -> str:
    hint = f"; {_ELSEWHERE[word]}" if word in _ELSEWHERE else ""
    if not hint and (meant := near(word, known)):
        hint = f"; did you mean {meant}?"
    end = "" if hint.endswith("?") else "."
    return (
        f"Filter: there is no operator {shown(word, 40)}{hint}{end} {listing} {', '.join(known)}."
    )


def _is_list(value: object) -> "TypeGuard[Collection[object]]":
    return isinstance(value, list | tuple | set | frozenset)


def _type(value: object) -> str:
    """What JSON calls the type of a value."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "a mapping"
    if _is_list(value):
        return "a list"
    names = {bool: "true or false", str: "text", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def _number(value: object) -> Value | None:
    return None if isinstance(value, bool) or not isinstance(value, int | float) else value


def _text(value: object) -> Value | None:
    return str(value) if isinstance(value, str) else None


def _flag(value: object) -> Value | None:
    return value if isinstance(value, bool) else None


def _scalar(value: object) -> Value | None:
    return value if isinstance(value, str | int | float) else None


_FITS: Mapping[FieldType, Callable[[object], Value | None]] = {
    FieldType.TEXT: _text,
    FieldType.NUMBER: _number,
    FieldType.TIME: moment,
    FieldType.BOOL: _flag,
    FieldType.TAGS: _text,
    FieldType.METADATA: _scalar,
}
