"""Estimates whether one hit updates another, so that of two answers the newer one comes first.

Most updates are worded so that no rule can read them: "bedtime is 7", "it's lights out by six now".
What can be counted is counted: how near each text is to the question, which words of the question
only one of them has, whether they are one sentence with another value in it, whether the newer one
speaks of a change, of a guess or of something further. The weights were fitted on the sets of
bench/sets/truth/dev (bench/training/updates.py). Nothing is hidden and nothing is stored: two hits
change places in one answer.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from memory_mesh.base.typed import dataclass
from memory_mesh.search.ranking import _update_weights
from memory_mesh.text import analyzer

_DAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HOURS = ("noon", "midnight", "morning", "evening", "night", "tomorrow", "today")
_SEASONS = ("spring", "summer", "autumn", "winter")
_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = (*_SMALL, "twelve", "half", "twice")
_WHEN = ("when", "what time", "what day", "which day", "what date")
_HOW = ("many", "much", "long", "often", "big", "old", "far", "high", "wide")
_WHO = frozenset(("who", "whom", "whose"))
LEAST_ODDS = 0.25  # as a logarithm
_LOOKED_AT = 600  # characters of a text
_MOST = 3  # words of a kind that are counted
_TOPIC = 2  # words that two texts share if they are about the same, unless one is asked for
_REPLACED = 6  # words of a value that is replaced
_SAME = 0.5  # of the shorter text that both have in common


@dataclass(frozen=True, slots=True)
class Answer:
    """What is counted of one hit, whatever it stands beside."""

    words: tuple[str, ...]
    terms: tuple[str, ...]
    held: frozenset[str]
    cosine: float
    in_time: float
    fits: bool
    cues: Mapping[str, bool]
    begins: tuple[str, ...]  # "Project", "Saltmarsh": a kind and a name; else nothing


@dataclass(frozen=True, slots=True)
class QuestionCounts:
    """What is counted of the question."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]


def asked(question: str) -> QuestionCounts:
    """Returns what is counted of a question."""
    names = " ".join(word for word in question.split()[1:] if word[:1].isupper())
    return QuestionCounts(
        question.casefold(), frozenset(_terms(question)), frozenset(_terms(names))
    )


def answer(question: QuestionCounts, text: str, parts: Mapping[str, float]) -> Answer:
    """Returns what is counted of a hit."""
    start = text[:_LOOKED_AT]
    terms = _terms(start)
    return Answer(
        words=_words(start),
        terms=terms,
        held=frozenset(terms),
        cosine=parts.get("cosine", 0.0),
        in_time=parts.get("in_period", 0.0) + parts.get("dated", 0.0),
        fits=_fits(question.text, start),
        cues=_cues(start),
        begins=_named_thing(start),
    )


def likely(question: QuestionCounts, older: Answer, newer: Answer) -> bool:
    """True if the newer of two hits is likely to update the older one."""
    shared = older.held & newer.held
    if older.in_time > newer.in_time:
        return False
    if len(shared) < _TOPIC and question.terms.isdisjoint(shared):
        return False
    if older.begins and older.begins[0] in newer.begins[:1] and older.begins != newer.begins:
        return False  # two things of one kind
    found = features(question, older, newer)
    if _asks_for(question, older, newer, same=bool(found["same but a value"])):
        return False
    weights = _update_weights.WEIGHTS
    odds = math.fsum(weights[name] * value for name, value in found.items())
    return _update_weights.BIAS + odds > LEAST_ODDS


def _asks_for(question: QuestionCounts, older: Answer, newer: Answer, *, same: bool) -> bool:
    """True if the question names a value that only the older one has."""
    named = question.terms & older.held - newer.held
    return bool(named) and (same or any(any(map(str.isdigit, term)) for term in named))


def features(question: QuestionCounts, older: Answer, newer: Answer) -> dict[str, float]:
    """Returns what is counted, by name."""
    wanted, had, has = question.terms, older.held, newer.held
    many = max(1, len(wanted))
    return {
        "cosine": older.cosine - newer.cosine,
        "asked of older": len(wanted & had - has) / many,
        "asked of newer": len(wanted & has - had) / many,
        "asked of both": float(min(_MOST, len(wanted & had & has))),
        "name of older": float(bool(question.names & had - has)),
        "name of newer": float(bool(question.names & has - had)),
        "fits the question": float(newer.fits) - float(older.fits),
        "longer": min(2.0, len(newer.terms) / max(1, len(older.terms))),
        "shared": float(min(_MOST + 1, len(had & has))),
        "same beginning": float(bool(older.terms) and older.terms[0] in has),
        "same but a value": float(_same_but_a_value(older.words, newer.words)),
        **{name: float(newer.cues[name]) for name in _OF_NEWER},
        "was past": float(older.cues["past"]),
        "was a guess": float(older.cues["guesses"]),
    }


@lru_cache(maxsize=512)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(analyzer.terms(text))


def _fits(question: str, text: str) -> bool:
    """True if the text holds what the question asks for: a time, a number, a name."""
    asked = question.split()
    if any(opening in question for opening in _WHEN):
        return any(map(_is_time, _words(text)))
    if any(word == "how" and following in _HOW for word, following in pairwise(asked)):
        return any(word[0].isdigit() or word in _NUMBERS for word in _words(text))
    if not _WHO.isdisjoint(asked):
        return any(word[:1].isupper() and word[1:2].islower() for word in text.split())
    return True


def _is_time(word: str) -> bool:
    if word[0].isdigit():
        year = word.isdigit() and len(word) == 4 and word[:2] in {"19", "20"}  # noqa: PLR2004
        return year or ":" in word or word.endswith(("am", "pm", "st", "nd", "rd", "th"))
    day = "day" in word and word.startswith(_DAYS)
    named = word in _HOURS or word in _SEASONS
    return day or named or (word[:3] in _MONTHS and len(word) > 2)  # noqa: PLR2004


@lru_cache(maxsize=512)
def _words(text: str) -> tuple[str, ...]:
    """Returns the words of a text in lower case, without the punctuation around them."""
    found = (
        word.strip(".,;:!?()[]{}'\"`\u2018\u2019\u201c\u201d") for word in text.casefold().split()
    )
    return tuple(word for word in found if word)


def _named_thing(text: str) -> tuple[str, ...]:
    """Returns the first two words of a text if the second is a name."""
    first = text.split(maxsplit=2)[:2]
    return tuple(first) if len(first) > 1 and first[1][0].isupper() else ()


@lru_cache(maxsize=512)
def _cues(text: str) -> dict[str, bool]:
    """Which kinds of words a text has."""
    held = _words(text)
    line = f" {' '.join(held)} "
    found = {
        name: not cue.words.isdisjoint(held) or any(f" {phrase} " in line for phrase in cue.phrases)
        for name, cue in _CUES.items()
    }
    found["guesses"] = found["guesses"] or "?" in text
    return found


def _same_but_a_value(one: Sequence[str], other: Sequence[str]) -> bool:
    """True if the texts have one beginning and one end, and between them another few words."""
    shorter = min(len(one), len(other))
    start = 0
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    replaced = len(one) - start - end, len(other) - start - end
    return bool(
        start and all(replaced) and max(replaced) <= _REPLACED and start + end >= _SAME * shorter
    )


class _Cue:
    """Words and phrases that tell something about the text that has them."""

    def __init__(self, words: str, *phrases: str) -> None:
        self.words, self.phrases = frozenset(words.split()), phrases


_CUES = {
    "changes": _Cue(
        """
        anymore instead switch switched switches switching moved changed replaced replaces renamed
        raised lowered bumped increased reduced dropped extended postponed pushed rescheduled
        cancelled canceled joined quit resigned handed retired removed deleted decommissioned
        discontinued gone sold correction nowadays upgraded migrated transferred swapped reopened
        forget stop stopped rewrote rewritten rewrite ended abandoned now
        """,
        "no longer", "any more", "any longer", "no more", "brought forward", "called off",
        "call off", "stepped down", "took over", "takes over", "taken over", "fell through",
        "fell out", "split up", "broke up", "shut down", "gave up", "turns out", "after all",
        "these days", "from now on", "as of", "is out", "is off", "over to", "back to",
        "went back", "went for", "went with", "has become",
    ),
    "might change": _Cue(
        """
        moving cut left since starting finally rather became update new actually just fixed not off
        got early later already done
        """,
        "turned on", "turned off", "up to", "down to", "so it's",
    ),
    "adds": _Cue("also too another second besides plus both other additional additionally",
                 "as well", "in addition"),
    "guesses": _Cue(
        """
        if might may maybe perhaps would could suggest suggests suggested think thinks believe
        believes claim claims says said swears rumour rumor heard asked considering thinking
        proposed proposes proposal want wants wish wishes wished probably supposedly
        reckons tells told wonder wonders wondering unless
        """,
        "according to", "not sure",
    ),
    "restricts": _Cue(
        """
        except excepted exception only otherwise usually normally sometimes exempt during overnight
        when whenever for
        """,
        "this once", "this week", "this one", "this time", "on weekends", "on nights",
        *(f"on {day}days" for day in _DAYS),
    ),
    "past": _Cue(
        """
        was were before until original originally former formerly previous previously old ago
        """,
        "used to", "back in", "last year", "last month", "last week", "last summer", "last winter",
        "last spring",
    ),
}  # fmt: skip
_OF_NEWER = ("changes", "might change", "adds", "guesses", "restricts")
