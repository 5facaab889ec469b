"""Strings that make a regular expression work hard, built from its own literals and classes."""

import random
import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_SINGLE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_LONG = 50  # a repeat of more is pumped
_POOL = " \t\nab zAZ019_-.,:;!?'\"`()[]{}<>/\\|=+*#&%$~^@\r\u00e9\u5b57\u3042\x01"
_WRONG = "\x01"
_FEW = 4  # characters of one class
_MOST = 160  # attacks on one pattern

Items = Sequence[tuple[Any, Any]]


@dataclass(frozen=True)
class Attack:
    """What stands first, what is repeated, and what stands last and is wrong."""

    before: str
    pump: str
    after: str

    def text(self, characters: int) -> str:
        """Returns the string of this length."""
        room = max(0, characters - len(self.before) - len(self.after))
        repeated = self.pump * (room // len(self.pump) + 1)
        return self.before + repeated[:room] + self.after


def attacks(pattern: re.Pattern[str] | re.Pattern[bytes], seed: int) -> list[Attack]:
    """Returns different attacks on a pattern, at most `_MOST`; the same ones for one seed."""
    source = pattern.pattern
    text = source if isinstance(source, str) else source.decode("latin-1")
    made = _Maker(parser.parse(text, pattern.flags & ~re.DEBUG & ~_unicode(source)), seed)
    unique = list(dict.fromkeys(each for each in made.attacks() if each.pump))
    if len(unique) > _MOST:
        unique = [*unique[: _MOST // 2], *made.numbers.sample(unique[_MOST // 2 :], _MOST // 2)]
    return unique


def _unicode(source: str | bytes) -> int:
    return re.UNICODE if isinstance(source, bytes) else 0


class _Maker:
    """Walks the parsed form of one pattern."""

    def __init__(self, parsed: Items, seed: int) -> None:
        self.numbers = random.Random(seed)
        self._parsed = parsed
        self._letters = list(dict.fromkeys(_literals(parsed)))
        self._groups: dict[int, str] = {}

    def attacks(self) -> Iterator[Attack]:
        whole = self._example(self._parsed)
        for before, pump, wrong in islice(self._spots(self._parsed, ""), 2 * _MOST):
            for after in dict.fromkeys((_WRONG, wrong, f"\n{_WRONG}")):
                yield Attack(before, pump, after)
                yield Attack("", pump, after)
            yield Attack("", before + pump, _WRONG)
        for start in dict.fromkeys(self._starts(self._parsed)):
            yield Attack("", start, _WRONG)
            yield Attack(start, " ", _WRONG)
            yield Attack("", start + " ", _WRONG)
        for apart in ("", " ", "\n"):
            yield Attack("", whole + apart, _WRONG)
        signs = [*self._letters, " ", "\n", "a", "1"]
        for sign in dict.fromkeys(signs[:40]):
            yield Attack("", sign, _WRONG)
        for _ in range(10):
            pair = "".join(self.numbers.choices(signs, k=2))
            yield Attack("", pair, _WRONG)

    def _spots(self, items: Items, before: str) -> Iterator[tuple[str, str, str]]:
        """Yields what leads to each long repeat, its bodies, and a character it does not take."""
        for place, (kind, value) in enumerate(items):
            if kind in _REPEATS:
                _least, most, body = value
                if most > _LONG:
                    bodies = self._bodies(body)
                    wrong = self._wrong(body)
                    yield from ((before, each, wrong) for each in bodies)
                    for following in self._next_repeats(items[place + 1 :]):
                        yield from ((before, each + following, wrong) for each in bodies[:2])
                        yield before + bodies[0] * 2, following, wrong
                yield from self._spots(body, before)
            for inner in _parts(kind, value):
                yield from self._spots(inner, before)
            before += self._example([(kind, value)])

    def _bodies(self, body: Items) -> list[str]:
        made = [self._example(body)]
        if len(body) == 1 and body[0][0] in _SINGLE:
            made = self._chars(*body[0])
        for _ in range(_FEW):
            made.append(self._example(body, at_random=True))
        return [each for each in dict.fromkeys(made) if each] or [" "]

    def _next_repeats(self, items: Items) -> Iterator[str]:
        for kind, value in items[:3]:
            if kind in _REPEATS and value[1] > _LONG:
                yield from self._bodies(value[2])[:2]

    def _wrong(self, body: Items) -> str:
        """A character that the first class of a repeat does not take."""
        single = bool(body) and body[0][0] in _SINGLE
        takes = set(self._chars(*body[0], most=200)) if single else set()
        return next((sign for sign in "\n\x01" + _POOL if sign not in takes), _WRONG)

    def _starts(self, items: Items) -> Iterator[str]:
        """Yields what a match may begin with: of each branch, and step by step."""
        start = ""
        for kind, value in items[:6]:
            for inner in _parts(kind, value):
                yield from (start + each for each in islice(self._starts(inner), 12))
            start += self._example([(kind, value)])
            if start:
                yield start

    def _example(self, items: Items, *, at_random: bool = False) -> str:
        """A string that the items match, as far as that can be told without trying."""
        return "".join(self._one(kind, value, at_random=at_random) for kind, value in items)

    def _one(self, kind: Any, value: Any, *, at_random: bool) -> str:
        if kind in _SINGLE:
            chars = self._chars(kind, value)
            return self.numbers.choice(chars) if at_random else chars[0]
        if kind in _REPEATS:
            least, most, body = value
            times = min(max(least, 1 if at_random or least else 0), most, 60)
            return "".join(self._example(body, at_random=at_random) for _ in range(times))
        if kind is op.GROUPREF:
            return self._groups.get(value, "")
        if kind in {op.ASSERT_NOT, op.AT}:
            return ""
        if kind is op.ASSERT:
            behind = value[0] < 0
            return self._example(value[1], at_random=at_random) if behind else ""
        inner = list(_parts(kind, value))
        chosen = self.numbers.choice(inner) if at_random else inner[0]
        made = self._example(chosen, at_random=at_random)
        if kind is op.SUBPATTERN and value[0]:
            self._groups[value[0]] = made
        return made

    def _chars(self, kind: Any, value: Any, most: int = _FEW) -> list[str]:
        """Characters that a class takes, those of the pattern's own literals first."""
        if kind is op.LITERAL:
            return [chr(value)]
        pool = [" ", *self._letters[:60], *_POOL]
        if kind is op.IN:
            pool += _named(value)
        fits = [sign for sign in dict.fromkeys(pool) if _takes(kind, value, sign)]
        first = fits[:most]
        if most == _FEW and len(fits) > _FEW:
            first = [*fits[:2], *self.numbers.sample(fits[2:], 2)]
        return first or ["a"]


def _parts(kind: Any, value: Any) -> Iterator[Items]:
    """The sequences inside a group, branch, repeat or atomic group."""
    if kind is op.SUBPATTERN:
        yield value[3]
    elif kind is op.BRANCH:
        yield from value[1]
    elif kind is op.ATOMIC_GROUP:
        yield value
    elif kind is op.ASSERT:
        yield value[1]
    elif kind is op.GROUPREF_EXISTS:
        yield from (each for each in value[1:] if each)


def _literals(items: Items) -> Iterator[str]:
    for kind, value in items:
        if kind in {op.LITERAL, op.NOT_LITERAL}:
            yield chr(value)
        elif kind is op.IN:
            yield from _named(value)
        elif kind in _REPEATS:
            yield from _literals(value[2])
        elif kind is op.ASSERT_NOT:
            yield from _literals(value[1])
        for inner in _parts(kind, value):
            yield from _literals(inner)


def _named(members: Iterable[tuple[Any, Any]]) -> list[str]:
    """The characters that a class names: its literals and the ends of its ranges."""
    found = []
    for kind, value in members:
        if kind is op.LITERAL:
            found.append(chr(value))
        elif kind is op.RANGE:
            found += [chr(value[0]), chr(value[1])]
    return [sign for sign in found if unicodedata.category(sign) != "Cs"]


def _takes(kind: Any, value: Any, sign: str) -> bool:
    if kind is op.ANY:
        return sign != "\n"
    if kind is op.NOT_LITERAL:
        return bool(ord(sign) != value)
    members: Items = list(value)
    negated = bool(members) and members[0][0] is op.NEGATE
    return any(_member(part, sign) for part in members[negated:]) != negated


def _member(part: tuple[Any, Any], sign: str) -> bool:
    kind, value = part
    if kind is op.LITERAL:
        return bool(ord(sign) == value)
    if kind is op.RANGE:
        return bool(value[0] <= ord(sign) <= value[1])
    named = {
        op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
        op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    return re.match(named[value], sign) is not None
