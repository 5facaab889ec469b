"""Estimates whether one hit updates another, so that of two answers the newer one comes first.

Most updates are worded so that no rule can read them: "bedtime is 7", "it's lights out by six now".
What can be counted is counted: how near each text is to the question, which words of the question
only one of them has, whether they are one sentence with another value in it, whether the newer one
speaks of a change, of a guess or of something further. The weights were fitted on the sets of
bench/sets/truth/dev (bench/training/updates.py). Nothing is hidden and nothing is stored: two hits
change places in one answer.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from memory_mesh.fastdataclass import dataclass
from memory_mesh.policy.ranking import _update_weights
from memory_mesh.policy.text import analyze

_WORD = re.compile(r"\w[\w'./:%-]*")
_NAME = re.compile(r"(?<=\S )[A-Z][\w-]+")
_TIME = re.compile(
    r"\d{1,2}[:.h]\d\d|\d ?(?:am|pm)\b|\d(?:st|nd|rd|th)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b|\b(?:19|20)\d\d\b"
    r"|\b(?:noon|midnight|morning|evening|night|tomorrow|today|spring|summer|autumn|winter)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|half|twice)\b"
)
_ASKED = (
    (re.compile(r"\b(?:when|what time|what day|which day|until when|by when|what date)\b"), _TIME),
    (re.compile(r"\bhow (?:many|much|long|often|big|old|far|high|wide)\b"), _NUMBER),
    (re.compile(r"\b(?:who|whom|whose)\b"), re.compile(r"(?:^|\s)[A-Z][a-z]+")),
)
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What is counted of the question."""

    text: str
    terms: frozenset[str]
    names: frozenset[str]


def asked(question: str) -> Asked:
    """Returns what is counted of a question."""
    names = " ".join(_NAME.findall(question))
    return Asked(question, frozenset(_terms(question)), frozenset(_terms(names)))


def answer(question: Asked, text: str, parts: Mapping[str, float]) -> Answer:
    """Returns what is counted of a hit."""
    start = text[:_LOOKED_AT]
    terms = _terms(start)
    return Answer(
        words=tuple(_WORD.findall(start.casefold())),
        terms=terms,
        held=frozenset(terms),
        cosine=parts.get("cosine", 0.0),
        in_time=parts.get("in_period", 0.0) + parts.get("dated", 0.0),
        fits=_fits(question.text, start),
        cues=_cues(start),
    )


def likely(question: Asked, older: Answer, newer: Answer) -> bool:
    """True if the newer of two hits is likely to update the older one."""
    shared = older.held & newer.held
    if len(shared) < _TOPIC and question.terms.isdisjoint(shared):
        return False
    if older.in_time > newer.in_time:
        return False
    found = features(question, older, newer)
    if _asks_for(question, older, newer, same=bool(found["same but a value"])):
        return False
    weights = _update_weights.WEIGHTS
    odds = math.fsum(weights[name] * value for name, value in found.items())
    return _update_weights.BIAS + odds > LEAST_ODDS


def _asks_for(question: Asked, older: Answer, newer: Answer, *, same: bool) -> bool:
    """True if the question names a value that only the older one has."""
    named = question.terms & older.held - newer.held
    return bool(named) and (same or any(any(map(str.isdigit, term)) for term in named))


def features(question: Asked, older: Answer, newer: Answer) -> dict[str, float]:
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
    return tuple(analyze.terms(text))


def _fits(question: str, text: str) -> bool:
    """True if the text holds what the question asks for: a time, a number, a name."""
    lower = question.casefold()
    for opening, pattern in _ASKED:
        if opening.search(lower):
            return pattern.search(text) is not None
    return True


@lru_cache(maxsize=512)
def _cues(text: str) -> dict[str, bool]:
    """Which kinds of words a text has."""
    found = {name: pattern().search(text) is not None for name, pattern in _PATTERNS.items()}
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


def _pattern(phrases: str) -> Callable[[], re.Pattern[str]]:
    """A pattern that is made when it is first needed."""

    @lru_cache(maxsize=1)
    def made() -> re.Pattern[str]:
        words = "|".join(phrase.strip() for phrase in phrases.split("|"))
        return re.compile(rf"(?<![\w'-])(?:{words})(?![\w-])", re.IGNORECASE)

    return made


_CHANGES = _pattern(
    r"no longer|any ?more|any longer|no more|instead|switch(?:ed|ing|es)?|moved|changed|"
    r"replac(?:ed|es)|renamed|raised|lowered|bumped|increased|reduced|dropped|extended|postponed|"
    r"pushed|brought forward|rescheduled|cancell?ed|call(?:ed)? off|joined|quit|resigned|"
    r"stepped down|t(?:ook|akes|aken) over|fell through|fell out|split up|broke up|handed|retired|"
    r"removed|deleted|decommissioned|discontinued|shut down|gone|gave up|sold|correction|turns out|"
    r"after all|these days|nowadays|from now on|as of|upgraded|migrated|transferred|swapped|"
    r"reopened|forget|stop(?:ped)?|rewr\w+|is out|is off|over to|back to|went (?:back|for|with)|"
    r"ended|abandoned|has become|dropped|now"
)
_MIGHT_CHANGE = _pattern(
    r"moving|cut|left|since|starting|finally|rather|turned (?:on|off)|became|update|new|actually|"
    r"just|fixed|up to|down to|not|off|got|early|later|already|so it's|done"
)
_ADDS = _pattern(
    r"also|too|as well|another|second|besides|in addition|plus|both|other|additional\w*"
)
_GUESSES = _pattern(
    r"if|might|may|maybe|perhaps|would|could|suggest(?:s|ed)?|thinks?|believes?|claims?|says|said|"
    r"swears|rumou?r|according to|heard|asked|considering|thinking|propos\w+|wants?|wish\w*|"
    r"probably|supposedly|reckons|tells|told|wonder\w*|not sure|unless"
)
_RESTRICTS = _pattern(
    r"except\w*|only|otherwise|usually|normally|sometimes|exempt|this (?:once|week|one|time)|"
    r"during|overnight|when|whenever|for|on (?:\w+days|weekends|nights)"
)
_PAST = _pattern(
    r"used to|was|were|before|until|original\w*|last (?:year|month|week|summer|winter|spring)|"
    r"back in|former\w*|previous\w*|in (?:19|20)\d\d|old|ago"
)
_PATTERNS = {
    "changes": _CHANGES,
    "might change": _MIGHT_CHANGE,
    "adds": _ADDS,
    "guesses": _GUESSES,
    "restricts": _RESTRICTS,
    "past": _PAST,
}
_OF_NEWER = ("changes", "might change", "adds", "guesses", "restricts")
