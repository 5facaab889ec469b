"""Applies the rules to a text and resolves overlapping matches.

Rules are tried in the order of the table, and what an earlier one took no later one gets. A rule is
tried only when its gate is open, and its pattern is compiled when it is first tried.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.policy.privacy.gate import (
    NEUTRAL,
    Hints,
    digits_of,
    fold,
    has_code,
    has_long_word,
    has_number,
    visible,
)
from memory_mesh.policy.privacy.rule import Finder, Gate, Rule, Span

_CODES: Gate = "digits"  # the gate of PINs and chosen passwords
BEFORE, AFTER = 48, 24  # how far a context word may stand from its number


@dataclass(frozen=True, slots=True)
class Taken:
    """A part of a text that a rule matched, and its ASCII form."""

    rule: Rule
    plain: str
    start: int
    stop: int


class Scanner:
    """The compiled rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [_Prepared(rule) for rule in rules]
        self._hints = Hints(hint for rule in rules for hint in rule.hints)
        self._unhinted = {at for at, rule in enumerate(rules) if not rule.hints}
        self._hinted: dict[str, list[int]] = {}
        for at, rule in enumerate(rules):
            for hint in rule.hints:
                self._hinted.setdefault(hint, []).append(at)
        labels = sorted({rule.label for rule in rules}, key=len, reverse=True)
        self._placeholder = rf"\[(?:{'|'.join(labels)})(?:_[0-9a-f]{{8,12}})?\]"

    def find(self, text: str) -> list[Taken]:
        """Returns the matches in the order of the text."""
        seen, places = visible(fold(text))
        folded = self._without_placeholders(seen)
        digits = digits_of(folded)
        opened: dict[Gate, bool] = {"open": True, "number": has_number(folded, digits)}
        taken: list[Taken] = []
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

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._finder: Finder | None = None
        self._context: re.Pattern[str] | None = None

    def spans(self, folded: str) -> Iterator[Span]:
        if self._finder is None:
            self._finder = self._compiled()
        end = 0
        for hit in self._finder.finditer(folded):
            start, stop = _value(hit) if isinstance(hit, re.Match) else hit.span()
            if start < end:
                continue
            if self._context and not self._near(self._context, folded, start, stop):
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


def _placed(part: Taken, places: Sequence[int]) -> Taken:
    """Maps a part to its position in the original text with invisible characters."""
    return replace(part, start=places[part.start], stop=places[part.stop - 1] + 1)


def _value(match: re.Match[str]) -> Span:
    return match.span("value") if "value" in match.re.groupindex else match.span()


def _take(prepared: _Prepared, folded: str, taken: list[Taken]) -> None:
    mine: list[Span] = []
    for start, stop in prepared.spans(folded):
        if start < stop and not _overlaps(start, stop, mine[-1:]):
            mine.append((start, stop))
    others = sorted((part.start, part.stop) for part in taken)
    for start, stop in mine:
        if not _overlaps(start, stop, others):
            taken.append(Taken(prepared.rule, folded[start:stop], start, stop))


def _overlaps(start: int, stop: int, others: Sequence[Span]) -> bool:
    """True if the part overlaps one of the sorted, disjoint others."""
    after = bisect_left(others, (stop, 0))
    return after > 0 and others[after - 1][1] > start
