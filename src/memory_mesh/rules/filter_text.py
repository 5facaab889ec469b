"""The search filter of RFC-0011 as text: a WHERE expression in our own grammar.

::

    any       = all *("OR" all)
    all       = not *("AND" not)
    not       = "NOT" not | "(" any ")" | field [test]
    field     = ["metadata" "."] name
    name      = letters, digits and "_" | "any characters in double quotes"
    test      = sign value | ["NOT"] "IN" "(" value *("," value) ")" | ["NOT"] "LIKE" text
              | ["NOT"] "BETWEEN" value "AND" value | "IS" ["NOT"] "NULL"     ; none: a bare bool
    value     = 'text' | number | true | false | ["timestamp" | "date"] 'ISO 8601'
"""

import math
import re
from functools import lru_cache

from memory_mesh.base.typed import NoReturn, TypeAlias
from memory_mesh.model.errors import FilterError
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
    Sign,
    Value,
)
from memory_mesh.rules.filter_fields import (
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_LENGTH,
    MAX_TESTS,
    MAX_VALUES,
    TOP_LEVEL,
    field_of,
    is_pattern,
    key_of,
    moment,
    type_of,
)

_SIGNS = {"==": Sign.EQUAL, "<>": Sign.UNEQUAL} | {sign.value: sign for sign in Sign}
_ORDERED = "a 'text' in single quotes or a number"  # what metadata may be ordered by
_KEY = 'write metadata.KEY, or metadata."KEY" if it has other characters than letters'
_HINTS = {
    '"': "the name has no closing quote",
    "`": 'a name goes in "double quotes" if it needs any',
    "[": f"{TOP_LEVEL}: {_KEY}",
    "-": f"{TOP_LEVEL}: {_KEY}; comments are not allowed",
    "'": "the text has no closing quote",
}


def read(text: str) -> Filter:
    """Parses a filter; FilterError names the position of the mistake."""
    if len(text) > MAX_LENGTH:
        raise FilterError(
            f"A filter has at most {MAX_LENGTH} characters; this one has {len(text)}."
        )
    parser = _Parser(_scan(text))
    found = parser.any_of(depth=0)
    parser.expect_end()
    return found


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

    def _word_test(self, field: Field) -> Filter | None:
        if self._took("IN"):
            return Among(field, self._values(field))
        if self._took("LIKE"):
            return Like(field, self._pattern(field))
        return self._between(field) if self._took("BETWEEN") else None

    def _between(self, field: Field) -> Filter:
        self._only(field, *_IN_ORDER)
        low = self._value(field, ordered=True)
        self._expect("AND")
        high = self._value(field, ordered=True)
        if isinstance(low, str) is not isinstance(high, str):
            self._at -= 1
            self._fail("two values of one type after BETWEEN")
        return Between(field, low, high)

    def _comparison(self, field: Field) -> Filter:
        kind, text, _ = self._tokens[self._at]
        if kind != "sign" or text not in _SIGNS:
            if type_of(field) is FieldType.BOOL:
                return Compare(field, Sign.EQUAL, value=True)
            self._fail("a comparison (= != < <= > >=), IN, LIKE, BETWEEN or IS NULL")
        sign = _SIGNS[text]
        ordered = sign not in (Sign.EQUAL, Sign.UNEQUAL)
        if ordered:
            self._only(field, *_IN_ORDER)
        self._at += 1
        return Compare(field, sign, self._value(field, ordered=ordered))

    def _values(self, field: Field) -> tuple[Value, ...]:
        self._expect("(")
        values = [self._value(field)]
        while self._took(","):
            values.append(self._value(field))
            if len(values) > MAX_VALUES:
                raise FilterError(f"IN takes at most {MAX_VALUES} values.")
        self._expect(")")
        return tuple(values)

    def _pattern(self, field: Field) -> str:
        self._only(field, FieldType.TEXT, FieldType.TAGS, FieldType.METADATA)
        kind, text, _ = self._tokens[self._at]
        if kind != "text":
            self._fail(f"{FieldType.TEXT.value} for {_shown_field(field)}")
        pattern = _plain(text)
        if not is_pattern(pattern):
            self._fail("a pattern that does not end in a lone backslash")
        self._at += 1
        return pattern

    def _field(self) -> Field:
        name, quoted = self._name("a field name")
        if not self._took("."):
            if not quoted and name.lower() == "metadata":
                self._fail(f"a key: {_KEY}")
            return field_of(name)
        if quoted or name.lower() != "metadata":
            self._at -= 1
            self._fail(f'a comparison: {TOP_LEVEL}; a name with a dot goes in "double quotes"')
        key, _ = self._name("a key of the metadata")
        if self._tokens[self._at][1] == ".":
            self._fail(f'a comparison: {TOP_LEVEL}; a key with a dot goes in "double quotes"')
        return key_of(key)

    def _name(self, expected: str) -> tuple[str, bool]:
        """A name, and whether it is in quotes."""
        kind, text, _ = self._tokens[self._at]
        if kind != "name" and (kind != "word" or text.upper() in _KEYWORDS):
            self._fail(expected)
        self._at += 1
        return (text[1:-1].replace('""', '"'), True) if kind == "name" else (text, False)

    def _value(self, field: Field, *, ordered: bool = False) -> Value:
        type_ = type_of(field)
        if type_ is FieldType.TIME and not self._took("TIMESTAMP"):
            self._took("DATE")
        kind, text, _ = self._tokens[self._at]
        value = _read(kind, text, type_)
        if value is None or (ordered and isinstance(value, bool)):
            self._fail(self._wanted(field, ordered=ordered))
        self._at += 1
        return value

    def _wanted(self, field: Field, *, ordered: bool) -> str:
        """What should stand where a value is none for the field."""
        kind, text, _ = self._tokens[self._at]
        if kind == "name":
            return "text in single quotes: text goes in 'single quotes', and names in double ones"
        if text.upper() == "NULL":
            return "IS NULL"
        type_ = type_of(field)
        if type_ is FieldType.METADATA and text.upper() in {"DATE", "TIMESTAMP"}:
            return (
                "no time, for metadata has no times: compare it with a 'text' such as '2026-01-31'"
            )
        wanted = _ORDERED if ordered and type_ is FieldType.METADATA else type_.value
        return f"{wanted} for {_shown_field(field)}"

    def _only(self, field: Field, *allowed: FieldType) -> None:
        if type_of(field) not in allowed:
            self._fail(f"=, !=, IN or IS NULL, all that {_shown_field(field)} allows")

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


_IN_ORDER = (FieldType.TEXT, FieldType.NUMBER, FieldType.TIME, FieldType.METADATA)
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
    number = type_ in (FieldType.NUMBER, FieldType.METADATA)
    if kind == "number":
        return _number(text) if number else None
    if kind == "word":
        flag = type_ in (FieldType.BOOL, FieldType.METADATA)
        return {"true": True, "false": False}.get(text.lower()) if flag else None
    if kind != "text" or type_ in (FieldType.NUMBER, FieldType.BOOL):
        return None
    return moment(_plain(text)) if type_ is FieldType.TIME else _plain(text)


def _plain(text: str) -> str:
    return text[1:-1].replace("''", "'")


def _number(text: str) -> int | float | None:
    """Returns the number, or None if SQLite cannot hold it."""
    if any(char in ".eE" for char in text):
        return float(text) if abs(float(text)) < math.inf else None
    return int(text) if abs(int(text)) <= MAX_INTEGER else None


def _scan(text: str) -> list[_Token]:
    """Splits a filter into tokens; the last one is of kind "end"."""
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        found = _token_pattern().match(text, at)
        if found is None:
            hint = _HINTS.get(text[at], "this character is not part of a filter")
            if text[at].isalpha():
                hint = "a name with other letters than A to Z goes in double quotes"
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
        r'|(?P<name>"(?:[^"\x00\ud800-\udfff]|"")*")'
        r"|(?P<text>'(?:[^'\x00\ud800-\udfff]|'')*')"
        r"|(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_.])"
        r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)"
        r"|(?P<sign><=|>=|<>|!=|==|[=<>(),.])"
    )


def _shown_field(field: Field) -> str:
    return f"the key {_shown(field.name)}" if isinstance(field, MetadataKey) else field


def _shown(text: str) -> str:
    """Returns a short, printable form of a part of the filter."""
    return ascii(text[:40])
