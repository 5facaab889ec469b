"""Finds personal data and secrets by rules and replaces them by placeholders.

A placeholder such as `[EMAIL_3f9a2c41b07d]` is the same for one value in one namespace, another one
in the next, and says nothing without the store's key. The rules are loaded when a text first gives
reason to; `suspicious` is what asks.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from memory_mesh.base.digests import keyed_digest
from memory_mesh.base.typed import TYPE_CHECKING
from memory_mesh.privacy.gate import mentioned, suspicious
from memory_mesh.rules.privacy_rule import KEEPABLE, Check, Finder, FoundValue, PrivacyRule

if TYPE_CHECKING:
    from memory_mesh.model import Json
    from memory_mesh.privacy.scan import MatchedPart, Scanner

__all__ = [
    "KEEPABLE",
    "OPTIONAL",
    "RULES",
    "Check",
    "Finder",
    "FoundValue",
    "NamespaceRedactor",
    "PrivacyRule",
    "kinds",
    "masked",
    "mentioned",
    "redacted",
    "suspicious",
    "user_rules",
]

_MARK = 12  # hexadecimal digits in a placeholder: two of a million values meet once in 600 stores
_LONGEST_KEY = 64  # the end of a longer key says enough
_GENERAL = frozenset(("value", "val"))  # keys that say nothing; a name beside them does
_WHOLE = str.maketrans({'"': "'", "\n": "_", "\\": "/"})  # a value is read to its end
RULES: tuple[PrivacyRule, ...]
OPTIONAL: dict[str, PrivacyRule]


class NamespaceRedactor:
    """Redacts texts for one namespace: `extra` rules before the built-in ones, `names` after.

    Phone numbers of the `country`, two capital letters, need neither prefix nor words beside them.
    """

    def __init__(
        self,
        key: bytes,
        namespace: str,
        extra: Sequence[PrivacyRule] = (),
        names: Sequence[PrivacyRule] = (),
        *,
        country: str = "",
        keep: Sequence[str] = (),
        older: Sequence[bytes] = (),
        note: Callable[[str, tuple[str, ...]], None] | None = None,
    ) -> None:
        """Keep key and rules; `note` is given the digits of each value, and those of `older` keys.

        There is nothing to note where there is no older key. What is of a kind to `keep` stays.
        """
        self._key, self._namespace = key, namespace.encode()
        self._older, self._note = tuple(older), note
        self._extra, self._names = tuple(extra), tuple(names)
        self._country, self._keep = country, frozenset(keep)
        self._scanner: Scanner | None = None

    def text(self, value: str) -> str:
        """Returns the text with a placeholder for every match; idempotent."""
        while found := self._find(value):
            value = _replaced(value, found, self._placeholder)
        return value

    def json(self, value: "Json") -> "Json":
        """Redacts every string and whole number of a JSON value; a key is context for its value."""
        return self._json(value, "")

    def find(self, value: str) -> list[FoundValue]:
        """Returns the matches in the order of the text."""
        return [FoundValue(part.rule.name, part.start, part.stop) for part in self._find(value)]

    def _find(self, value: str) -> "list[MatchedPart]":
        if not self._extra and not suspicious(value) and not mentioned(value, self._names):
            return []
        if self._scanner is None:
            self._scanner = _scanner(self._extra, self._names, self._country, self._keep)
        return [
            part
            for part in self._scanner.find(value)
            if part.rule.name not in self._keep or part.rule in self._extra
        ]

    def _placeholder(self, part: "MatchedPart") -> str:
        kind = part.rule.name
        value = part.rule.identity.encode() or _normal(kind, part.plain)
        message = b"\0".join((self._namespace, kind.encode(), value))
        mark = _mark(self._key, message)
        if self._older and self._note is not None:
            self._note(mark, tuple(_mark(key, message) for key in self._older))
        return f"[{part.rule.label}_{mark}]"

    def _json(self, value: "Json", key: str) -> "Json":
        match value:
            case str():
                return self._named(key, value)
            case bool() | None:
                return value
            case int() | float():
                return self._number(value, key)
            case dict():
                return self._object(value, key)
            case _:
                return [self._json(item, key) for item in value]

    def _number(self, value: float, key: str) -> "Json":
        said = str(value).removesuffix(".0")
        redacted = self._named(key, said)
        return value if redacted == said else redacted

    def _object(self, value: "dict[str, Json]", key: str) -> "dict[str, Json]":
        about = _spoken_of(value) or key
        result: dict[str, Json] = {}
        for name, item in value.items():
            redacted = self.text(name)
            while redacted in result and redacted != name:  # two spellings of one value
                redacted += "_"
            result[redacted] = self._json(item, about if name in _GENERAL else name)
        return result

    def _named(self, key: str, value: str) -> str:
        """Redacts a text with its key as context."""
        value = self.text(value)
        if not key:
            return value
        opening = f'"{key[-_LONGEST_KEY:]}": "'
        while found := self._within(value, opening):
            value = _replaced(value, found, self._placeholder, -len(opening))
        return value

    def _within(self, value: str, opening: str) -> "list[MatchedPart]":
        end = len(opening) + len(value)
        return [
            part
            for part in self._find(f'{opening}{value.translate(_WHOLE)}"')
            if len(opening) <= part.start and part.stop <= end
        ]


def masked(text: str) -> str:
    """Returns the text for logs and errors: a label without digits for every match."""
    while suspicious(text) and (found := _scanner(()).find(text)):
        text = _replaced(text, found, lambda part: f"[{part.rule.label}]")
    return text


def redacted(before: str, after: str) -> dict[str, int]:
    """Counts the different values that were replaced in a text, by the kind in the placeholder."""
    pattern = rf"\[([A-Z][A-Z0-9_]*)_[0-9a-f]{{{_MARK}}}\]"
    known = {match[0] for match in re.finditer(pattern, before)}
    new = {match[0]: match[1].lower() for match in re.finditer(pattern, after)}
    found = sorted(kind for placeholder, kind in new.items() if placeholder not in known)
    return {kind: found.count(kind) for kind in found}


def user_rules(
    settings: Mapping[str, object] | Sequence[Mapping[str, object]],
) -> tuple[PrivacyRule, ...]:
    """Builds and checks the rules of the configuration; InvalidInput names the bad one."""
    from memory_mesh.privacy.optional import read_rules as read

    return read(settings)


def kinds(names: Sequence[str]) -> tuple[PrivacyRule, ...]:
    """Returns the rules of kinds that are replaced on request; InvalidInput names a bad one."""
    from memory_mesh.privacy.optional import OPTIONAL, read

    return tuple(rule for name, rule in OPTIONAL.items() if name in read(names))


def __getattr__(name: str) -> object:
    if name in {"OPTIONAL", "RULES"}:
        from memory_mesh.privacy import optional, table

        return getattr(table if name == "RULES" else optional, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _scanner(
    extra: tuple[PrivacyRule, ...],
    names: tuple[PrivacyRule, ...] = (),
    country: str = "",
    keep: frozenset[str] = frozenset(),
) -> "Scanner":
    """The rules in their order; those to keep go behind all that find a secret, and take no part.

    They are still tried: of what they find, no later rule takes a piece.
    """
    from memory_mesh.privacy.scan import Scanner
    from memory_mesh.privacy.table import RULES, SCANNER, rules_for

    if not (extra or names or country or keep):
        return SCANNER
    rules = rules_for(country) if country else RULES  # those for phone numbers are the last
    return Scanner((*extra, *sorted(rules, key=lambda rule: rule.name in {"phone", *keep}), *names))


def _mark(key: bytes, message: bytes) -> str:
    return keyed_digest(key, message).hex()[:_MARK]


def _replaced(
    text: str, parts: "list[MatchedPart]", name: "Callable[[MatchedPart], str]", shift: int = 0
) -> str:
    pieces, at = [], 0
    for part in parts:
        pieces += [text[at : part.start + shift], name(part)]
        at = part.stop + shift
    return "".join([*pieces, text[at:]])


def _spoken_of(value: "dict[str, Json]") -> str:
    """Returns the name in an object such as `{"name": "DB_PASSWORD", "value": …}`."""
    named = next((value[name] for name in ("name", "key") if name in value), "")
    return named if isinstance(named, str) else ""


def _normal(kind: str, plain: str) -> bytes:
    """Normalises a value: case, spaces and dashes do not matter."""
    if kind == "email":
        from unicodedata import normalize

        plain = normalize("NFC", plain.lower())
        for at in ("\\@", "%40", "&#64;", "&#x40;", "&commat;"):
            plain = plain.replace(at, "@")
    elif kind == "ip":
        from ipaddress import ip_address

        plain = ip_address(plain).compressed
    elif kind == "phone":
        digits = "".join(letter for letter in plain if letter.isdigit())
        plain = f"+{digits}" if "+" in plain else digits
        plain = f"+{digits[2:]}" if plain.startswith("00") else plain
    elif kind in {"card", "iban"} or kind[2:3] == "_":  # two letters of a country, as in us_ssn
        plain = "".join(letter for letter in plain.upper() if letter.isalnum())
    return plain.encode("utf-8", "surrogatepass")
