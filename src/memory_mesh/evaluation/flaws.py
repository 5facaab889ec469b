"""What is wrong in a list of memories, as far as their own words and times tell it. No I/O.

::

    same words                          ──▶ duplicate
    other words of its own around them  ──▶ echo: recalled text that was stored again
    nearly the same terms, the same names and figures, the same yes or no ──▶ near duplicate
    a time that is over, a path that is not there ──▶ stale

What a rule is not sure of is no finding: a list of wrong ones helps nobody.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import combinations
from math import ceil

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import dataclass
from memory_mesh.learn.rules.reflected_beliefs import clash, figures
from memory_mesh.text import analyzer, recited

NEAR = 0.6  # share of their terms that two near duplicates have in common
OPPOSED = 0.8  # share from which a "not" in one of them makes a contradiction
_FEWEST, _MOST = 3, 60  # terms of a text that is compared
_ECHOED = 4  # words that a text must have to be told from chance inside of another


class FlawKind(StrEnum):
    """What may be wrong with memories."""

    DUPLICATE = "duplicate"
    NEAR_DUPLICATE = "near duplicate"
    SECRET = "secret"  # noqa: S105  # secrets and personal data
    ECHO = "echo"
    CONTRADICTION = "contradiction"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    PATH_GONE = "path gone"


@dataclass(frozen=True, slots=True)
class InspectedMemory:
    """One memory of a store that is looked at."""

    place: str  # where it stands there: a line, an id
    text: str
    whose: tuple[str | None, str | None] = (
        None,
        None,
    )  # its user and project: others are not compared with it
    at: datetime | None = None
    until: datetime | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw: its kind, the numbers of the memories that make it up, and what tells it."""

    kind: FlawKind
    entries: tuple[int, ...]
    why: str


def duplicates(entries: Sequence[InspectedMemory]) -> Iterator[Flaw]:
    """Memories with the same words, whatever their case, spaces and marks."""
    for group in _grouped(entries, lambda each: recited.wording(each.text)).values():
        if len(group) > 1:
            yield Flaw(FlawKind.DUPLICATE, tuple(group), f"the same words {len(group)} times")


def echoes(entries: Sequence[InspectedMemory]) -> Iterator[Flaw]:
    """Memories that repeat an earlier one word for word, behind words of their own.

    What an assistant said needs no words before it.
    """
    said = [recited.wording(each.text).split() for each in entries]
    begun = defaultdict[tuple[object, ...], list[int]](list)
    for number, own in enumerate(said):
        if len(own) >= _ECHOED:
            begun[(entries[number].whose, *own[:_ECHOED])].append(number)
    for number, own in enumerate(said):
        first = 0 if entries[number].role == "assistant" else 1
        inside = {
            known: None
            for at in range(first, len(own) - _ECHOED + 1)
            for known in begun.get((entries[number].whose, *own[at : at + _ECHOED]), ())
            if len(said[known]) < len(own)
            and own[at : at + len(said[known])] == said[known]
            and _not_after(entries[known], entries[number])
        }
        if inside:
            yield Flaw(FlawKind.ECHO, (number, *inside), "it repeats another word for word")


def near_duplicates(entries: Sequence[InspectedMemory], least: float = NEAR) -> Iterator[Flaw]:
    """Pairs that say the same in nearly the same words, or its opposite."""
    said = [frozenset(analyzer.terms(each.text)) for each in entries]
    counts = Counter(term for terms in said for term in terms)
    by_term = defaultdict[tuple[object, ...], list[int]](list)
    for number, terms in enumerate(said):
        if not _FEWEST <= len(terms) <= _MOST:
            continue
        rarest = sorted(terms, key=lambda term: (counts[term], term))
        found: set[int] = set()
        for term in rarest[: len(terms) - ceil(least * len(terms)) + 1]:
            found.update(by_term[(entries[number].whose, term)])
            by_term[(entries[number].whose, term)].append(number)
        for known in sorted(found):
            share = len(terms & said[known]) / len(terms | said[known])
            texts = entries[known].text, entries[number].text
            if share < least or not _of_the_same(*texts):
                continue
            shown = f"{share:.0%} of their words are the same"
            if not clash(*texts):
                yield Flaw(FlawKind.NEAR_DUPLICATE, (known, number), shown)
            elif share >= OPPOSED and figures(texts[0]) == figures(texts[1]):
                yield Flaw(FlawKind.CONTRADICTION, (known, number), f"{shown}, and one says not")


def expired(entries: Sequence[InspectedMemory], now: datetime) -> Iterator[Flaw]:
    """Memories whose time is over."""
    for number, each in enumerate(entries):
        if each.until is not None and each.until <= now:
            yield Flaw(FlawKind.EXPIRED, (number,), f"it was valid until {each.until:%Y-%m-%d}")


def lost_paths(
    entries: Sequence[InspectedMemory], is_gone: Callable[[str], bool]
) -> Iterator[Flaw]:
    """Memories that name a file which is not there."""
    for number, each in enumerate(entries):
        gone = [path for path in _paths().findall(each.text) if is_gone(path)]
        if gone:
            yield Flaw(FlawKind.PATH_GONE, (number,), f"{gone[0]} is not there")


def without_repeats(found: Sequence[Flaw]) -> list[Flaw]:
    """The findings without pairs that a clearer kind names already; the clearest comes first."""
    known: set[frozenset[int]] = set()
    kept = []
    for finding in found:
        pairs = {frozenset(pair) for pair in combinations(finding.entries, 2)}
        if pairs and pairs <= known:
            continue
        known |= pairs
        kept.append(finding)
    return kept


def words(text: str) -> list[str]:
    """The words of a text as they are written."""
    return _words().findall(text)


def names(text: str) -> set[str]:
    """Words that are no plain ones, in small letters: capitals inside of a sentence, digits."""
    return {name.casefold() for name in _named().findall(text)}


def _grouped(
    entries: Sequence[InspectedMemory], key: Callable[[InspectedMemory], str]
) -> dict[tuple[object, str], list[int]]:
    groups: dict[tuple[object, str], list[int]] = {}
    for number, each in enumerate(entries):
        groups.setdefault((each.whose, key(each)), []).append(number)
    return groups


def _not_after(known: InspectedMemory, echo: InspectedMemory) -> bool:
    return known.at is None or echo.at is None or known.at <= echo.at


def _of_the_same(one: str, other: str) -> bool:
    """True if neither goes on from the other, has a name of its own, or another word in a place."""
    shorter, longer = sorted((recited.wording(one), recited.wording(other)), key=len)
    if longer.startswith(shorter):
        return False
    if _differ_in_place(analyzer.terms(one), analyzer.terms(other)):
        return False
    own, others = (set(words(text.casefold())) for text in (one, other))
    return {*filter(str.isalpha, names(one))} <= others and {
        *filter(str.isalpha, names(other))
    } <= own


def _differ_in_place(one: Sequence[str], other: Sequence[str]) -> bool:
    """True if the same sentence has another word somewhere: a red gate, a blue gate."""
    apart = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    found = len(one) == len(other) and all(a not in other and b not in one for a, b in apart)
    return found and bool(apart)


_words = lazy_pattern(r"\w+")
_named = lazy_pattern(r"(?<=[^\s.!?:]\s)[A-Z]\w+|\b\w*\d\w*\b|\b[a-z]+[A-Z]\w*")
_paths = lazy_pattern(r"(?<![\w/:.-])(?:~?/)?[\w.-]+(?:/[\w.-]+)+\.\w{1,8}\b(?!/)", re.ASCII)
