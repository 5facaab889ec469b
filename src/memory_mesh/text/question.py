"""Analyses a question: its terms, the names in it, and whether it asks for a time.

Words that are structure, the name of somebody who speaks in the store above all, say who and not
what. A turn addressed to Ann holds her name and Ann's own turns do not, so a vector of the whole
question would find what was said to her. They leave the text that is embedded and count on their
own instead.
"""

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import lru_cache

from memory_mesh.base.typed import dataclass, field, replace
from memory_mesh.text import analyzer, times

MAX_WORDS = 64  # of a question that are looked up as names
MAX_IDENTIFIERS = 16
MAX_TERMS = 256  # that candidates are weighed by: whoever pastes a page asks about its beginning
_LONGEST = 80  # characters of an identifier
_AROUND = ".,;:!?()[]{}<>\"'`"  # what stands around a word and does not belong to it
_OPENING = 6  # words in which a question says what it asks for
_WHEN = frozenset(("when", "date", "day", "month", "year", "long", "since", "wann", "cuando"))


@dataclass(frozen=True, slots=True)
class Reading:
    """The analysed question."""

    text: str  # what is embedded
    terms: tuple[str, ...]  # what it is about
    names: frozenset[str] = frozenset()  # who it names, lowercase
    about_time: bool = False
    period: times.Period | None = None  # the time it names
    identifiers: tuple[str, ...] = ()  # terms of each identifier and quoted string in it
    forms: Mapping[str, tuple[tuple[str, float], ...]] = field(
        default_factory=dict
    )  # other words for a term, and what each counts beside it
    asked: tuple[str, ...] = ()  # what keyword search asks for: all terms of the text, names too


def words(text: str) -> list[str]:
    """Returns the words of a question that could be a name."""
    found = (word for word in _word_pattern().findall(text) if len(word) > 1)
    if text != text.lower():  # who writes capitals writes names with them: a rose is not Rose
        found = (word for word in found if not word[0].islower())
    kept = (word for word in found if word.lower() not in analyzer.STOP_WORDS)
    return list(dict.fromkeys(kept))[:MAX_WORDS]


def read(text: str, names: Collection[str], now: datetime) -> Reading:
    """Removes the names of known speakers from a question, unless nothing else is left."""
    terms = tuple(analyzer.query_terms(text))
    about_time = not _WHEN.isdisjoint(text.lower().split()[:_OPENING])
    period = times.read(text, now)
    found = Reading(
        text,
        terms[:MAX_TERMS],
        about_time=about_time,
        period=period,
        identifiers=identifiers(text),
        asked=terms,
    )
    return without_names(found, names)


def identifiers(text: str) -> tuple[str, ...]:
    """Returns the terms of each identifier, number and quoted string, for an exact comparison."""
    quoted = [next(filter(None, groups)) for groups in _quoted_pattern().findall(text)]
    words = (word.strip(_AROUND) for word in text.split()[:MAX_TERMS])
    written = [
        word for word in words if len(word) <= _LONGEST and _identifier_pattern().search(word)
    ]
    named = (" ".join(analyzer.terms(name)) for name in (*quoted, *written))
    return tuple(dict.fromkeys(filter(None, named)))[:MAX_IDENTIFIERS]


def without_names(reading: Reading, names: Collection[str]) -> Reading:
    """The question without the names of those who speak here, unless nothing else is left."""
    if not names:
        return reading
    called = {term for name in names for term in analyzer.query_terms(name)}
    kept = tuple(term for term in reading.terms if term not in called)
    return replace(
        reading,
        text=_without(reading.text, names) if kept else reading.text,
        terms=kept or reading.terms,
        names=frozenset(name.lower() for name in names),
    )


def names_speaker(names: Collection[str], speaker: str | None) -> bool:
    """True if the question names this speaker, by the whole name or its first word."""
    if not speaker or not names:
        return False
    lower = speaker.lower()
    return lower in names or lower.split(" ", 1)[0] in names


def _without(text: str, names: Collection[str]) -> str:
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = rf"(?<!\w)(?:{alternatives})(?:['\u2019]s)?(?!\w)"
    left = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return re.sub(r"(?<!\s)\s++(?=[?.,!;:])", "", re.sub(r"\s+", " ", left)).strip() or text


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    return re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@lru_cache(maxsize=1)
def _quoted_pattern() -> re.Pattern[str]:
    return re.compile(r"\"([^\"\n]{1,80})\"|`([^`\n]{1,80})`|(?<!\w)'([^'\s][^'\n]{1,79})'(?!\w)")


@lru_cache(maxsize=1)
def _identifier_pattern() -> re.Pattern[str]:
    """A digit beside a letter, an underscore, a capital or a dot inside, a flag, a number."""
    return re.compile(
        r"[A-Za-z]\d|\d[A-Za-z]|\w_\w|[a-z][A-Z]|\w\.\w|\w/\w|::|^--?\w|^\d\d+$|^[A-Z]{2,}$"
    )
