"""The search filter of RFC-0011: a WHERE expression over promoted fields, in our own grammar.

::

    any       = all *("OR" all)
    all       = not *("AND" not)
    not       = "NOT" not | "(" any ")" | field [test]
    test      = sign value | ["NOT"] "IN" "(" value *("," value) ")" | ["NOT"] "LIKE" text
              | ["NOT"] "BETWEEN" value "AND" value | "IS" ["NOT"] "NULL"     ; none: a bare bool
    value     = 'text' | number | true | false | ["timestamp" | "date"] 'ISO 8601'

Nothing of the text reaches SQL: filter_sql.py turns names into our own columns and binds values.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

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
from memory_mesh.typed import NoReturn, TypeAlias

MAX_LENGTH = 2_000
MAX_DEPTH = 32
MAX_TESTS = 64
MAX_VALUES = 256
MAX_INTEGER = 2**63 - 1  # of SQLite's integers


def _fields() -> dict[str, FieldType]:
    """Every field by the type of its values."""
    names = {
        FieldType.TEXT: "id content memory_type kind label status session_id agent_id project "
        "source source_kind channel speaker role tier lesson_pattern_id source_skill_id subject "
        "predicate source_ref",
        FieldType.NUMBER: "order importance confidence access_count rule_confidence severity",
        FieldType.TIME: "last_accessed created_at updated_at occurred_at valid_from valid_until",
        FieldType.BOOL: "pinned",
        FieldType.TAGS: "tags",
    }
    return {name: type_ for type_, listed in names.items() for name in listed.split()}


FIELDS: Mapping[str, FieldType] = _fields()
ALIASES: Mapping[str, str] = {"type": "label", "importance_score": "importance"}
# RFC-0011 writes sessionId where its columns say session_id; case never matters.
_SPELLINGS = {
    spelling: ALIASES.get(name, name)
    for name in (*FIELDS, *ALIASES)
    for spelling in (name, name.replace("_", ""))
}
_SIGNS = {"==": Sign.EQUAL, "<>": Sign.UNEQUAL} | {sign.value: sign for sign in Sign}
_HINTS = {
    '"': "text goes in 'single quotes' and names in none",
    "`": "names go without quotes",
    ".": "nested metadata is not filterable",
    "[": "nested metadata is not filterable",
    "-": "nested metadata is not filterable, and comments are not allowed",
    "'": "the text has no closing quote",
}


def parse(text: str) -> Filter:
    """Parses a filter; FilterError names the position of the mistake."""
    if len(text) > MAX_LENGTH:
        raise FilterError(
            f"A filter has at most {MAX_LENGTH} characters; this one has {len(text)}."
        )
    parser = _Parser(_scan(text))
    found = parser.any_of(depth=0)
    parser.expect_end()
    return found


def canonical(node: Filter) -> str:
    """Returns one text for all filters that differ only in spelling or order."""
    match node:
        case Compare(field, sign, value):
            return f"{field} {sign.value} {_literal(value)}"
        case Among(field, values):
            return f"{field} IN ({', '.join(sorted({_literal(value) for value in values}))})"
        case Like(field, pattern):
            return f"{field} LIKE {_literal(pattern)}"
        case Between(field, low, high):
            return f"{field} BETWEEN {_literal(low)} AND {_literal(high)}"
        case IsNull(field):
            return f"{field} IS NULL"
        case And(parts):
            return _group(" AND ", parts)
        case Or(parts):
            return _group(" OR ", parts)
        case Not(part):
            return f"NOT {canonical(part)}"


def _group(word: str, parts: tuple[Filter, ...]) -> str:
    """Returns the parts sorted, without duplicates."""
    texts = sorted({canonical(part) for part in parts})
    return texts[0] if len(texts) == 1 else f"({word.join(texts)})"


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


_Token: TypeAlias = tuple[str, str, int]  # kind, text, position


class _Parser:
    """A recursive descent parser with limits on depth and counts."""

    __slots__ = ("_at", "_tests", "_tokens")

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._tests = 0

    def any_of(self, *, depth: int) -> Filter:
        parts = [self._all_of(depth)]
        while self._took("OR"):
            parts.append(self._all_of(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def expect_end(self) -> None:
        if self._tokens[self._at][0] != "end":
            self._fail("AND, OR or the end of the filter")

    def _all_of(self, depth: int) -> Filter:
        parts = [self._negated(depth)]
        while self._took("AND"):
            parts.append(self._negated(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negated(self, depth: int) -> Filter:
        if depth > MAX_DEPTH:
            raise FilterError(f"A filter nests at most {MAX_DEPTH} levels deep.")
        if self._took("NOT"):
            return Not(self._negated(depth + 1))
        if self._took("("):
            inside = self.any_of(depth=depth + 1)
            self._expect(")")
            return inside
        return self._test()

    def _test(self) -> Filter:
        field = self._field()
        self._tests += 1
        if self._tests > MAX_TESTS:
            raise FilterError(f"A filter has at most {MAX_TESTS} comparisons.")
        if self._took("IS"):
            negated = self._took("NOT")
            self._expect("NULL")
            return Not(IsNull(field)) if negated else IsNull(field)
        if self._took("NOT"):
            return Not(self._word_test(field) or self._fail("IN, LIKE or BETWEEN"))
        return self._word_test(field) or self._comparison(field)

    def _word_test(self, field: str) -> Filter | None:
        if self._took("IN"):
            return Among(field, self._values(field))
        if self._took("LIKE"):
            return Like(field, self._pattern(field))
        if self._took("BETWEEN"):
            self._only(field, FieldType.TEXT, FieldType.NUMBER, FieldType.TIME)
            low = self._value(field)
            self._expect("AND")
            return Between(field, low, self._value(field))
        return None

    def _comparison(self, field: str) -> Filter:
        kind, text, _ = self._tokens[self._at]
        if kind != "sign" or text not in _SIGNS:
            if FIELDS[field] is FieldType.BOOL:
                return Compare(field, Sign.EQUAL, value=True)
            self._fail("a comparison (= != < <= > >=), IN, LIKE, BETWEEN or IS NULL")
        sign = _SIGNS[text]
        if sign not in (Sign.EQUAL, Sign.UNEQUAL):
            self._only(field, FieldType.TEXT, FieldType.NUMBER, FieldType.TIME)
        self._at += 1
        return Compare(field, sign, self._value(field))

    def _values(self, field: str) -> tuple[Value, ...]:
        self._expect("(")
        values = [self._value(field)]
        while self._took(","):
            values.append(self._value(field))
            if len(values) > MAX_VALUES:
                raise FilterError(f"IN takes at most {MAX_VALUES} values.")
        self._expect(")")
        return tuple(values)

    def _pattern(self, field: str) -> str:
        self._only(field, FieldType.TEXT, FieldType.TAGS)
        pattern = str(self._value(field))
        if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
            self._at -= 1
            self._fail("a pattern that does not end in a lone backslash")
        return pattern

    def _field(self) -> str:
        kind, text, at = self._tokens[self._at]
        if kind != "word" or text.upper() in _KEYWORDS:
            self._fail("a field name")
        name = _SPELLINGS.get(text.lower())
        if name is None:
            raise FilterError(
                f"Filter, position {at + 1}: there is no field {_shown(text)}. Nested metadata is "
                f"not filterable; the fields are: {', '.join(sorted((*FIELDS, *ALIASES)))}."
            )
        self._at += 1
        return name

    def _value(self, field: str) -> Value:
        type_ = FIELDS[field]
        if type_ is FieldType.TIME and not self._took("TIMESTAMP"):
            self._took("DATE")
        kind, text, _ = self._tokens[self._at]
        value = _read(kind, text, type_)
        if value is None:
            self._fail("IS NULL" if text.upper() == "NULL" else f"{type_.value} for {field}")
        self._at += 1
        return value

    def _only(self, field: str, *allowed: FieldType) -> None:
        if FIELDS[field] not in allowed:
            self._fail(f"=, !=, IN or IS NULL, all that {field} allows")

    def _took(self, expected: str) -> bool:
        kind, text, _ = self._tokens[self._at]
        taken = kind in ("word", "sign") and text.upper() == expected
        self._at += taken
        return taken

    def _expect(self, expected: str) -> None:
        if not self._took(expected):
            self._fail(expected)

    def _fail(self, expected: str) -> NoReturn:
        kind, text, at = self._tokens[self._at]
        found = "the filter ends" if kind == "end" else f"there is {_shown(text)}"
        raise FilterError(f"Filter, position {at + 1}: expected {expected}, but {found}.")


_KEYWORDS = frozenset(
    (
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "BETWEEN",
        "IS",
        "NULL",
        "TRUE",
        "FALSE",
        "TIMESTAMP",
        "DATE",
    )
)


def _read(kind: str, text: str, type_: FieldType) -> Value | None:
    """Returns the value of a token for a field of that type, or None if it does not fit."""
    if type_ is FieldType.NUMBER:
        return _number(text) if kind == "number" else None
    if type_ is FieldType.BOOL:
        return {"true": True, "false": False}.get(text.lower()) if kind == "word" else None
    if kind != "text":
        return None
    plain = text[1:-1].replace("''", "'")
    return _time(plain) if type_ is FieldType.TIME else plain


def _number(text: str) -> int | float | None:
    """Returns the number, or None if SQLite cannot hold it."""
    number = float(text) if any(char in ".eE" for char in text) else int(text)
    return number if abs(number) <= MAX_INTEGER else None


def _time(text: str) -> datetime | None:
    """Parses an ISO 8601 time; without an offset it is read as UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _scan(text: str) -> list[_Token]:
    """Splits a filter into tokens; the last one is of kind "end"."""
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        found = _token_pattern().match(text, at)
        if found is None:
            hint = _HINTS.get(text[at], "this character is not part of a filter")
            raise FilterError(f"Filter, position {at + 1}: {_shown(text[at])}: {hint}.")
        if found.lastgroup != "space":
            tokens.append((str(found.lastgroup), found.group(), at))
        at = found.end()
    return [*tokens, ("end", "", at)]


@lru_cache(maxsize=1)
def _token_pattern() -> re.Pattern[str]:
    """Pattern of the grammar's tokens; a text may contain anything but NUL and lone surrogates."""
    return re.compile(
        r"(?P<space>[ \t\r\n]+)"
        r"|(?P<text>'(?:[^'\x00\ud800-\udfff]|'')*')"
        r"|(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])"
        r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
        r"|(?P<sign><=|>=|<>|!=|==|[=<>(),])"
    )


def _shown(text: str) -> str:
    """Returns a short, printable form of a part of the filter."""
    return ascii(text[:40])
