"""Reads the rule from a note: one that it states, or one that follows from the fix it tells of.

::

    note ── without log lines ──▶ sentences
               ├─ stated: `always …`, `next time …`, `… must …`, `I should have …`
               └─ drawn:  what was changed before it worked, in the imperative

Proposals that were rejected, hedged remarks, errands, comfort, praise and questions are no rules.
A fix is drawn only if the note tells what broke and that the change helped, or why it was needed.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules import rule_phrases as phrases
from memory_mesh.learn.rules.instructions import (
    DUTY,
    ENOUGH_WORDS,
    ORDER,
    STRONG,
    announced_rule,
    events,
    instruction,
    uncapitalized,
)
from memory_mesh.learn.rules.note import Sentence, read_note
from memory_mesh.learn.rules.rules_from_fixes import drawn_from
from memory_mesh.text import analyzer
from memory_mesh.text.sentences import asks

_MOST_CLAUSES = 24  # of one sentence
_NEAR = 200  # characters before a clause that are looked at
_MAX_RULE_CHARS = 400
_MAX_REASON_CHARS = 240
_FEW_TERMS, _SOME_TERMS = 4, 8  # a rule of fewer terms is told with its reason


@dataclass(frozen=True, slots=True)
class LearnedRule:
    """A rule in the imperative; `stated` if the note says it, else it was drawn from a fix."""

    text: str
    stated: bool
    strength: int = 0


def read_rule(text: str, *, failed: bool) -> LearnedRule | None:
    """Returns the rule of a note, or None; `failed` if the memory is marked as a failure."""
    note = read_note(text)
    found = _stated_in(note)
    if found is not None and (failed or _learned(found, note)):
        return found
    drawn = drawn_from(note, failed=failed)
    return LearnedRule(_shortened(drawn), stated=False) if drawn else None


def _learned(rule: LearnedRule, note: Sequence[Sentence]) -> bool:
    """True if a note that is not marked as a failure tells of one beside its rule."""
    if phrases.errands().search(rule.text) or _today().search(rule.text):
        return False
    told = [one.plain for one in note if not rule.text.startswith(one.text.rstrip(" .!"))]
    if rule.strength >= STRONG and any(events().search(one) for one in told):
        return True
    return any(phrases.troubles().search(one.plain) for one in note) and rule.strength >= DUTY


@dataclass(frozen=True, slots=True)
class _Found:
    place: int
    text: str
    strength: int
    reason: str = ""


def _stated_in(note: Sequence[Sentence]) -> LearnedRule | None:
    """Returns the plainest stated rule with those that stand next to it."""
    found = {
        place: one
        for place, sentence in enumerate(note)
        if (one := _stated(place, sentence, note)) is not None
    }
    if not found:
        return None
    best = max(found.values(), key=lambda one: (one.strength, -one.place))
    first = last = best.place
    while first - 1 in found:
        first -= 1
    while last + 1 in found:
        last += 1
    texts = [found[place].text for place in range(first, last + 1)]
    reason = next((found[place].reason for place in range(first, last + 1)), "")
    before = first - 1
    if before >= 0 and note[before].exclaims and _is_ban(note[before]):
        texts.insert(0, note[before].text)
    told = " ".join(_closed(text) for text in texts)
    if len(told) > _MAX_RULE_CHARS:
        told = _closed(best.text)
    bare = len(set(analyzer.terms(told))) < (_FEW_TERMS if best.strength == STRONG else _SOME_TERMS)
    if not reason and (bare or _refers().search(" ".join(told.split()[:6]))):
        reason = next((one.text for one in reversed(note[:first]) if not one.log), "")
    return LearnedRule(_shortened(with_reason(told, reason)), stated=True, strength=best.strength)


def with_reason(rule: str, reason: str) -> str:
    """Returns a rule with the sentence that says why."""
    plain = " ".join(reason.split()).rstrip(" .,;:")
    if not plain or len(plain) > _MAX_REASON_CHARS:
        return _closed(rule)
    return f"{_closed(rule)} Why: {plain}."


def _stated(place: int, sentence: Sentence, note: Sequence[Sentence]) -> _Found | None:
    if sentence.log or asks(sentence.text) or phrases.denials().search(sentence.plain):
        return None
    after = note[place + 1] if place + 1 < len(note) else None
    if after is not None and _taken_back().search(after.plain):
        return None
    for start in _clauses(sentence.plain):
        rest, plain = sentence.text[start:], sentence.plain[start:]
        told = announced_rule(rest, plain) or instruction(
            rest, plain, first=not place and not start
        )
        if told is not None:
            before = sentence.text[:start].rstrip(" ,;:-—–")  # noqa: RUF001
            before = re.sub(r"(?<![,\s])[,\s]++(?:so|and|but|hence|therefore)$", "", before)
            reason = before if len(before.split()) >= ENOUGH_WORDS else ""
            return _Found(place, told[0], told[1], reason)
    if (
        place
        and _contrasts().search(sentence.plain)
        and not events().search(_contrasts().split(sentence.plain)[0])
    ):
        return _Found(place, f"Make sure that {uncapitalized(sentence.text)}", DUTY)
    if place and sentence.exclaims and _is_ban(sentence):
        return _Found(place, sentence.text, ORDER)
    return None


def _is_ban(sentence: Sentence) -> bool:
    """True for a short sentence such as `No unwrap() on env vars!`."""
    words = sentence.plain.split()
    if len(words) > 10 or not words or words[0].casefold() != "no" or sentence.log:  # noqa: PLR2004
        return False
    return bool(_bans().match(sentence.plain)) and not phrases.finite().search(sentence.plain)


def _clauses(plain: str) -> Iterator[int]:
    """Yields where a clause begins that could be an instruction of its own."""
    yield 0
    for found in islice(_joints().finditer(plain), _MOST_CLAUSES):
        if not _complaining().search(plain, max(0, found.start() - _NEAR), found.start()):
            yield found.end()


def _closed(text: str) -> str:
    plain = " ".join(text.split()).rstrip(" ,;:-")
    return plain if plain.endswith((".", "!", "?")) else f"{plain}."


def _shortened(text: str) -> str:
    limit = _MAX_RULE_CHARS + _MAX_REASON_CHARS
    return text if len(text) <= limit else f"{text[:limit].rstrip()}…"


@cache
def _joints() -> re.Pattern[str]:
    own = (
        r"always|never|next\s+time|from\s+now\s+on|make\s+sure|please|don't|do\s+not|avoid|"
        r"ensure|remember\s+to|"
        r"(?:we|you|i)\s+(?:must|should|need\s+to|have\s+to)|better"
    )
    return re.compile(
        rf"(?:;|:|—|–|\s-+)\s+(?:so\s+|and\s+)?|,\s+(?:so|therefore|hence|thus)\s+(?:now\s+)?|"  # noqa: RUF001
        rf"(?:,|(?:,|(?<![\s,]))\s++(?:so|and|but|hence))\s+(?=(?:{own})\b)|"
        rf",\s+(?:so\s+)?(?=(?:use|check|keep|"
        rf"pin|prefer|verify|quote|escape|"
        r"validate|test|treat|wrap|run|call|add|set|close|guard|give|store|read|look|ask)\s)|"
        r"\b(?:asked|told|instructed|reminded|wants|wanted)\s+(?:me|us|everyone|everybody|"
        r"the\s+team)\s+(?:to\s+)?(?=(?:always|never)\s)|"
        r"\bthat's\s+why\s+|(?<!\s)\s++(?:→|->)\s+",
        re.IGNORECASE,
    )


# Pattern of the start of an error message, whose advice is not the note's.
_complaining = lazy_pattern(
    r"(?:\b(?:error|exception|failed|failure|fatal|warning|warn|hint|panic|err!?|message|log|"
    r"says?|said|reads?)|"
    r"(?:Error|Exception|Warning))\W*$",
    re.IGNORECASE,
)


_taken_back = lazy_pattern(
    r"\b(?:voted|vetoed|overruled|outvoted|decided\s+against|turned\s+(?:it|that|this|him|"
    r"her)\s+down|"
    r"rejected\s+(?:it|that|this|the\s+(?:idea|proposal|rule))|(?:was|got|were)\s+rejected|"
    r"said\s+no|no\s+consensus|"
    r"didn't\s+(?:agree|stick|pass)|we\s+(?:won't|don't|will\s+not)\s+do\s+(?:it|that|this)|"
    r"(?:that|this|it)(?:'s|\s+is|\s+was)\s+(?:outdated|nonsense|obsolete|wrong|a\s+joke|"
    r"no\s+longer)|"
    r"(?:scrap|forget|ignore)\s+(?:that|it|this)|just\s+kidding|nobody\s+agreed)\b",
    re.IGNORECASE,
)


# Pattern of `…, never renamed` at the end of a statement.
_contrasts = lazy_pattern(
    r"\s(?:get|gets|go|goes|stay|stays|is|are)\s[^,;]{2,60},\s+never\s+\w", re.IGNORECASE
)


_bans = lazy_pattern(
    r"no\s+(?!(?:idea|luck|exceptions?|answer|repro|reply|response|news|clue|problem|"
    r"problems|worries|need|one|"
    r"doubles?|duplicates?|errors?|complaints?|change|effect|longer|more\s+(?:errors?|"
    r"problems?))\b)"
    r"\S.*\b(?:on|in|for|without|unless|before|after|with|to|from|inside|outside|during)\b",
    re.IGNORECASE,
)


_today = lazy_pattern(r"\b(?:today|tonight|this\s+(?:morning|week|time))\b", re.IGNORECASE)


_refers = lazy_pattern(r"\b(?:it|them|this|that|these|those|there|its|their)\b", re.IGNORECASE)
