"""Applies the rules to a text and resolves overlapping matches.

Rules are tried in the order of the table, and what an earlier one took no later one gets. A rule is
tried only when its gate is open, and its pattern is compiled when it is first tried.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.privacy.gate import (
    NEUTRAL,
    Hints,
    digits_of,
    fold,
    has_code,
    has_long_word,
    has_number,
    visible,
)
from memory_mesh.rules.privacy_rule import Finder, Gate, PrivacyRule, Span

_SHORTEST, _STRONG, _LONGEST, _VARIED = 6, 8, 128, 4
_SIGN = r"[A-Za-z0-9][!@#$%^&*+=?~]|[!@#$%^&*+=?~][A-Za-z0-9]"
_ENDS = (
    r"py|pyi|js|mjs|ts|tsx|jsx|rs|go|rb|c|h|cc|cpp|hpp|cs|java|kt|sh|ps1|sql|md|txt|json|ya?ml|toml"
    r"|ini|cfg|conf|env|log|csv|tsv|xml|html?|s?css|png|jpe?g|gif|svg|pdf|zip|gz|tgz|tar|bz2|xz|whl"
    r"|lock|pem|crt|key|pub|db|sqlite|proto|tf|ipynb|com|org|net|io|dev|local|internal"
)
_VERSION = re.compile(
    r"(?i)v[0-9]{1,9}\.[0-9][\w.+-]*|(?:sha|md|aes|rsa|utf|base|argon|pbkdf|oauth|ed|hs|rs"
    r"|es)-?[0-9]{1,5}(?:id)?"
)
_OTHER = re.compile(
    r"(?i)v?[0-9]{1,9}\.[0-9][\w.+-]*"  # a version
    r"|[0-9][0-9.,]*[a-z%µ°]{0,8}|[a-z]{1,3}[0-9]{1,2}|[0-9]{1,9}-[a-z]+"  # a number and its unit
    r"|[0-9]{1,4}[-/.:][0-9]{1,2}[-/.:tz0-9+]*"  # a date or a time
    rf"|[\w.@/\\-]{1, 128}\.(?:{_ENDS})"
    r"|[~./\\].*|[a-z][a-z0-9+.-]{0,20}://.*|[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]+"
    r"|[\w.-]{1,64}/[\w.-]{1,64}/[\w./-]*"
    r"|\$.*|%.*|<.*|\{.*|\[.*|[^(){}<>]*[(){}<>].*"
    r"|(?:sha|md|aes|rsa|utf|ucs|iso|base|argon|pbkdf|oauth|oidc|tls|ssl|ipv|rfc|http|https|ed|log"
    r"|win|windows|ubuntu|debian|arm|amd|mp|gpt|claude|llama|python|node|java|php|mysql|postgres"
    r"|postgresql|redis|web|level|step|phase|part|page|line|row|node|host|server|srv|web|db|box"
    r"|team"
    r"|user|admin|test|option|field|rule|key|slot|case|room|version|build|release|sprint|week|day)"
    r"[-_]?[0-9][0-9a-z.-]*"
    r"|bcrypt.*|scrypt.*|1password.*|keepass.*|bitwarden.*|lastpass.*|[0-9]fa|[a-z]{1,4}-[0-9]{1,4}"
    r"|(?:iphone|ipad|pixel|galaxy|macbook|thinkpad|raspberry)-?[0-9].*"
    r"|(?-i:[A-Z]{2,10}-?[0-9]{1,6}[A-Z]{0,3})"
)

_CODES: Gate = "digits"  # the gate of PINs and chosen passwords
BEFORE, AFTER = 48, 24  # how far a context word may stand from its number


@dataclass(frozen=True, slots=True)
class MatchedPart:
    """A part of a text that a rule matched, and its ASCII form."""

    rule: PrivacyRule
    plain: str
    start: int
    stop: int


class Scanner:
    """The compiled rules."""

    def __init__(self, rules: Sequence[PrivacyRule]) -> None:
        self._rules = [_Prepared(rule) for rule in rules]
        self._hints = Hints(hint for rule in rules for hint in rule.hints)
        self._unhinted = {at for at, rule in enumerate(rules) if not rule.hints}
        self._hinted: dict[str, list[int]] = {}
        for at, rule in enumerate(rules):
            for hint in rule.hints:
                self._hinted.setdefault(hint, []).append(at)
        labels = sorted({rule.label for rule in rules}, key=len, reverse=True)
        self._placeholder = rf"\[(?:{'|'.join(labels)})(?:_[0-9a-f]{{8,12}})?\]"

    def find(self, text: str) -> list[MatchedPart]:
        """Returns the matches in the order of the text."""
        seen, places = visible(fold(text))
        folded = self._without_placeholders(seen)
        digits = digits_of(folded)
        opened: dict[Gate, bool] = {"open": True, "number": has_number(folded, digits)}
        taken: list[MatchedPart] = []
        for prepared in self._hinted_by(folded.lower()):
            gate = prepared.rule.gate
            if gate not in opened:
                opened[gate] = has_code(folded, digits) if gate == _CODES else has_long_word(folded)
            if opened[gate] and prepared.rule.digits <= digits:
                _take(prepared, folded, taken)
        taken.sort(key=lambda part: part.start)
        return taken if places is None else [_placed(part, places) for part in taken]

    def _hinted_by(self, lowered: str) -> "list[_Prepared]":
        """Returns the rules that a text gives a hint of, and those that need none, in order."""
        found = self._hints.of(lowered)
        asked = self._unhinted.union(*(self._hinted[hint] for hint in found))
        return [self._rules[at] for at in sorted(asked)]

    def _without_placeholders(self, folded: str) -> str:
        if "[" not in folded:
            return folded
        return re.sub(self._placeholder, lambda match: NEUTRAL * len(match[0]), folded)


class _Prepared:
    """A rule and its pattern, compiled when first needed."""

    def __init__(self, rule: PrivacyRule) -> None:
        self.rule = rule
        self._finder: Finder | None = None
        self._context: re.Pattern[str] | None = None

    def spans(self, folded: str) -> Iterator[Span]:
        if self._finder is None:
            self._finder = self._compiled()
        end = 0
        for hit in self._finder.finditer(folded):
            start, stop = _value(hit) if isinstance(hit, re.Match) else hit.span()
            if start < end or (
                self._context and not self._near(self._context, folded, start, stop)
            ):
                continue
            settled = self.rule.check(folded, start, stop) if self.rule.check else (start, stop)
            if settled and NEUTRAL not in folded[settled[0] : settled[1]]:
                end = settled[1]
                yield settled

    def _compiled(self) -> Finder:
        if self.rule.context:
            self._context = re.compile(self.rule.context, re.IGNORECASE)
        pattern = self.rule.pattern
        return re.compile(pattern) if isinstance(pattern, str) else pattern

    def _near(self, context: re.Pattern[str], folded: str, start: int, stop: int) -> bool:
        return bool(
            context.search(folded, max(0, start - BEFORE), start)
            or context.search(folded, stop, min(len(folded), stop + AFTER))
        )


def _placed(part: MatchedPart, places: Sequence[int]) -> MatchedPart:
    """Maps a part to its position in the original text with invisible characters."""
    return replace(part, start=places[part.start], stop=places[part.stop - 1] + 1)


def _value(match: re.Match[str]) -> Span:
    return match.span("value") if "value" in match.re.groupindex else match.span()


def _take(prepared: _Prepared, folded: str, taken: list[MatchedPart]) -> None:
    mine: list[Span] = []
    for start, stop in prepared.spans(folded):
        if start < stop and not _overlaps(start, stop, mine[-1:]):
            mine.append((start, stop))
    others = sorted((part.start, part.stop) for part in taken)
    for start, stop in mine:
        if not _overlaps(start, stop, others):
            taken.append(MatchedPart(prepared.rule, folded[start:stop], start, stop))


def _overlaps(start: int, stop: int, others: Sequence[Span]) -> bool:
    """True if the part overlaps one of the sorted, disjoint others."""
    after = bisect_left(others, (stop, 0))
    return after > 0 and others[after - 1][1] > start


# A pattern that is tried only where one of its words stands.


class Anchored:
    """Finds a pattern that begins with one of some words, which are looked for first.

    The words are in lower case. A pattern of many alternatives is tried at every character of a
    text, which takes many times as long.
    """

    def __init__(self, words: Sequence[str], pattern: str, *, lowered: bool = False) -> None:
        """With `lowered` the pattern sees the text in lower case."""
        self._ascii = tuple(word for word in words if word.isascii())
        self._words, self._pattern, self._lowered = tuple(words), pattern, lowered
        self._compiled: re.Pattern[str] | None = None

    def finditer(self, text: str, /) -> Iterator[re.Match[str]]:
        """Yields the matches, in order."""
        pattern = self.compiled()
        lowered = in_lower_case(text)
        seen, end = lowered if self._lowered else text, 0
        for place in self._places(lowered):
            if place >= end and (match := pattern.match(seen, place)):
                end = match.end()
                yield match

    def compiled(self) -> re.Pattern[str]:
        """Returns the pattern, which is compiled when it is first asked for."""
        if self._compiled is None:
            self._compiled = re.compile(self._pattern)
        return self._compiled

    def _places(self, lowered: str) -> list[int]:
        places = set[int]()
        for word in self._ascii if lowered.isascii() else self._words:
            place = lowered.find(word)
            while place >= 0:
                places.add(place)
                place = lowered.find(word, place + 1)
        return sorted(places)


def in_lower_case(text: str) -> str:
    """Returns the text in lower case, every character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


# Tells a value that somebody chose as a secret from the words and numbers of a sentence.


def is_version(value: str) -> bool:
    """True for a version, or the name of a method with its number, as in sha256."""
    return bool(_VERSION.fullmatch(value))


def chosen(value: str) -> bool:
    """True for letters with digits or signs among them that are no name of another thing."""
    if (
        not _SHORTEST <= len(value) <= _LONGEST
        or len(set(value)) < _VARIED
        or not re.search("[A-Za-z]", value)
    ):
        return False
    mixed = re.search("[0-9]", value) or re.search(_SIGN, value)
    return bool(mixed) and not _OTHER.fullmatch(value)


def strong(value: str) -> bool:
    """True if a value needs no more than a word for a secret beside it to be one."""
    if len(value) < _STRONG or not chosen(value) or not re.search("[0-9]", value):
        return False
    mixed = bool(re.search("[a-z]", value)) and bool(re.search("[A-Z]", value))
    return mixed or bool(re.search(_SIGN, value)) or len(re.findall("[0-9]", value)) > 1
