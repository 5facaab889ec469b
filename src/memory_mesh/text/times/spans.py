"""The calendar: days, weeks, months, quarters, seasons and years as spans.

Moments here have no zone: they are read off the asker's own calendar. Weeks begin on Monday,
seasons on the first of March, June, September and December.

A question cut into words, with the moment at which it is asked.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import Enum

from memory_mesh.base.typed import TypeAlias, dataclass, replace
from memory_mesh.text.times.lexicon import HABITS, PAST

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
SEASONS = ("spring", "summer", "autumn", "winter")
_MONTHS = 12
_BACK = 9  # years: 29 February comes at least once in them
_FROM_SPRING = 3  # the month in which the first of the seasons begins
# A path, a version or an address is one word: nothing within it is a date unless all of it is.
_WORD = r"[^\W_]+(?:[_/@:.#\\=+]+[^\W_]+)*|\S"
_AHEAD = 8  # how far a reader may look past the end
_APOSTROPHES = ("'", "\u2019")


class Tie(Enum):
    """What a span is told by."""

    YEAR = "its year is said"
    NAME = "its name alone, which comes again every week or year"
    NOW = "its distance from now"


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """From its first moment to the one after its last."""

    start: datetime
    stop: datetime
    tie: Tie = Tie.NOW


Found: TypeAlias = tuple[TimeSpan, int] | None  # with the place at which its words end


def midnight(moment: datetime) -> datetime:
    """The first moment of a day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def days(first: datetime, count: int = 1, *, tie: Tie = Tie.NOW) -> TimeSpan:
    """Some whole days from a midnight on."""
    return TimeSpan(first, first + count * DAY, tie)


def date(year: int, month: int, day: int) -> TimeSpan | None:
    """One day; None where the calendar has no such day."""
    try:
        return days(datetime(year, month, day), tie=Tie.YEAR)  # noqa: DTZ001  # no zone here
    except ValueError:
        return None


def months(year: int, first: int, count: int = 1) -> TimeSpan:
    """Some whole months; the first may lie beyond December."""
    start = datetime(year, 1, 1)  # noqa: DTZ001  # no zone here
    return TimeSpan(later(start, first - 1), later(start, first - 1 + count), Tie.YEAR)


def quarter(year: int, number: int) -> TimeSpan:
    """Three months, the first quarter from January."""
    return months(year, number * 3 - 2, 3)


def season(year: int, name: str) -> TimeSpan:
    """The season that begins in a year."""
    return months(year, _FROM_SPRING + 3 * SEASONS.index(name), 3)


def week(moment: datetime) -> TimeSpan:
    """The week of a moment."""
    return days(midnight(moment) - moment.weekday() * DAY, 7)


def weekend(moment: datetime) -> TimeSpan:
    """The Saturday and Sunday of a moment's week."""
    return days(week(moment).start + 5 * DAY, 2)


def later(moment: datetime, count: int) -> datetime:
    """The same day so many months later or earlier, or the last one of a shorter month."""
    index = moment.year * _MONTHS + moment.month - 1 + count
    year, month = divmod(index, _MONTHS)
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month + 1, day=min(moment.day, 28))


def latest(made: Callable[[int], TimeSpan | None], now: datetime) -> TimeSpan | None:
    """Of what comes once a year, the last that has begun."""
    return _back(made, now, lambda span: span.start <= now)


def ended(made: Callable[[int], TimeSpan | None], now: datetime) -> TimeSpan | None:
    """Of what comes once a year, the last that is over."""
    return _back(made, now, lambda span: span.stop <= now)


def _back(
    made: Callable[[int], TimeSpan | None], now: datetime, fits: Callable[[TimeSpan], bool]
) -> TimeSpan | None:
    for year in range(now.year, max(now.year - _BACK, 0), -1):
        span = made(year)
        if span is not None and fits(span):
            return replace(span, tie=Tie.NAME)
    return None


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words in small letters, where each begins and ends in the text, and when it is now."""

    text: str
    words: Sequence[str]
    begins: Sequence[int]
    ends: Sequence[int]
    now: datetime

    def joined(self, at: int) -> bool:
        """Nothing stands between this word and the one before it."""
        return at > 0 and self.ends[at - 1] == self.begins[at]

    def capital(self, at: int) -> bool:
        """The word has a capital letter that no sentence gave it."""
        return (
            at > 0 and self.words[at - 1] not in {".", "?", "!", ":", "\u00bf"} and self.upper(at)
        )

    def upper(self, at: int) -> bool:
        """The word has a capital letter, be it that of a sentence."""
        return self.text[self.begins[at]].isupper()

    def past(self, at: int) -> int:
        """Where it goes on after a possessive s."""
        return at + 2 if self.words[at : at + 2] == ["'", "s"] and self.joined(at) else at

    @property
    def habitual(self) -> bool:
        """It asks for what is done on such a day, not for what was done on the last one."""
        said = set(self.words)
        return not said.isdisjoint(HABITS) and said.isdisjoint(PAST)


def cut(text: str, now: datetime) -> QuestionWords:
    """The question in words."""
    words, begins, ends = [], [], []
    for found in re.finditer(_WORD, text):
        word = found[0].lower()
        words.append("'" if word in _APOSTROPHES else word)
        begins.append(found.start())
        ends.append(found.end())
    beyond = [len(text) + 1 + 2 * step for step in range(_AHEAD)]  # joined to nothing
    return QuestionWords(text, words + [""] * _AHEAD, begins + beyond, ends + beyond, now)
