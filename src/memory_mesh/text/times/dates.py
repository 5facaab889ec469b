"""Days that a question gives by their date: 2026-03-04, 04.03.2026, 4 March, March 4th, the 5th."""

import re
from collections.abc import Callable
from functools import partial

from memory_mesh.base.typed import replace
from memory_mesh.text.times import lexicon, spans
from memory_mesh.text.times.spans import Found, QuestionWords, Tie, TimeSpan

YEARS = range(1900, 2100)
_LAST_MONTH = 12
_SUFFIXES = ("st", "nd", "rd", "th")
_DAY_FIRST = r"(\d{1,2})\.(\d{1,2})\.(\d{4})"
_YEAR_FIRST = r"(\d{4})([./])(\d{1,2})\2(\d{1,2})"
_SLASHED = r"(\d{1,2})/(\d{1,2})/(\d{4})"
_OF_A_VERSION = frozenset(("version", "ver", "v", "build", "tag"))
_ENDS = frozenset(("", ".", "?", "!", ",", ";", ")"))


def dated(asked: QuestionWords, at: int, *, led: bool) -> Found:
    """The date that is given here."""
    return (
        _iso(asked, at, led=led)
        or _in_figures(asked, at)
        or _day_and_month(asked, at, led=led)
        or _month_and_day(asked, at, led=led)
        or _day_of_month(asked, at, led=led)
    )


def day_number(word: str) -> int | None:
    """The day of a month, as in `4`, `04` and `4th`."""
    digits = word[:-2] if word.endswith(_SUFFIXES) else word
    return int(digits) if digits.isdecimal() and len(digits) <= len("31") else None


def is_month(asked: QuestionWords, at: int, *, led: bool) -> bool:
    """The name of the month is no verb and nobody's name here."""
    return (
        led
        or asked.words[at] in lexicon.CERTAIN
        or asked.capital(at)
        or (asked.words[at] not in {"may", "march"} and asked.upper(at))
    )


def hangs(asked: QuestionWords, at: int) -> bool:
    """A hyphen or another sign of an id ties the word here to the one before."""
    return asked.joined(at) and (
        "-" in {asked.words[at], asked.words[at - 1]} or asked.words[at] in {"/", "_"}
    )


def year_said(asked: QuestionWords, at: int) -> tuple[int | None, int]:
    """The year that follows a name, and where it ends."""
    after = at + 1 if asked.words[at] in {",", "of", "in"} else at
    year = a_year(asked, after)
    if year is not None:
        return year, after + 1
    after += asked.words[after] == "the"
    head = asked.words[after]
    if asked.words[after + 1] == "year" and head in lexicon.LAST | lexicon.THIS:
        return asked.now.year - (head in lexicon.LAST), asked.past(after + 2)
    return None, at


def a_year(asked: QuestionWords, at: int) -> int | None:
    """The year that is written here in four digits."""
    word = asked.words[at]
    if len(word) != len("2026") or not word.isdecimal() or int(word) not in YEARS:
        return None
    if asked.words[at + 1] in lexicon.COUNTED or _part_of_more(asked, at):
        return None
    return int(word)


def _part_of_more(asked: QuestionWords, at: int) -> bool:
    """Hyphens make this number a part of an id or a version."""
    before = asked.words[at - 1] == "-" and asked.joined(at) and asked.joined(at - 1)
    after = asked.words[at + 1] == "-" and asked.joined(at + 1) and asked.joined(at + 2)
    return (before and asked.words[at - 2] != "mid") or after


def _iso(asked: QuestionWords, at: int, *, led: bool) -> Found:
    year, dash, month, second, day = asked.words[at : at + 5]
    if not (len(year) == len("2026") and year.isdecimal() and dash == "-" and month.isdecimal()):
        return None
    if not (asked.joined(at + 1) and asked.joined(at + 2)) or hangs(asked, at):
        return None
    if int(year) not in YEARS or len(month) > len("12"):
        return None
    if second == "-" and asked.joined(at + 3) and asked.joined(at + 4):
        digits = day.partition("t")[0]  # the time of the day may follow
        if not digits.isdecimal() or len(digits) > len("31") or hangs(asked, at + 5):
            return None
        span = spans.date(int(year), int(month), int(digits))
        return (span, at + 5) if span else None
    if led and not hangs(asked, at + 3) and 1 <= int(month) <= _LAST_MONTH:
        return spans.months(int(year), int(month)), at + 3
    return None


def _in_figures(asked: QuestionWords, at: int) -> Found:
    word = asked.words[at]
    if not word[:1].isdecimal() or hangs(asked, at) or hangs(asked, at + 1):
        return None
    if at and asked.words[at - 1] in _OF_A_VERSION:
        return None
    day, month, year = _numbers(word)
    span = spans.date(year, month, day) if year in YEARS else None
    return (span, at + 1) if span else None


def _numbers(word: str) -> tuple[int, int, int]:
    """Day, month and year of a date in figures; zeros where it cannot be told."""
    if found := re.fullmatch(_DAY_FIRST, word):
        return int(found[1]), int(found[2]), int(found[3])
    if found := re.fullmatch(_YEAR_FIRST, word):
        return int(found[4]), int(found[3]), int(found[1])
    if found := re.fullmatch(_SLASHED, word):
        first, second, year = int(found[1]), int(found[2]), int(found[3])
        if second > _LAST_MONTH or first == second:
            return second, first, year
        if first > _LAST_MONTH:
            return first, second, year
    return 0, 0, 0  # 03/04/2026 is March to some and April to others


def _day_and_month(asked: QuestionWords, at: int, *, led: bool) -> Found:
    word = asked.words[at]
    day, month_at = day_number(word) or lexicon.ORDINALS.get(word), at + 1
    of = asked.words[month_at] == "of" and not word.isdecimal()
    month_at += of
    month = lexicon.MONTHS.get(asked.words[month_at])
    if day is None or month is None or (word.isalpha() and not of):
        return None
    year, end = year_said(asked, month_at + 1)
    if year is None and not of and not is_month(asked, month_at, led=led):
        return None
    return _on(asked, (year, month, day), end)


def _month_and_day(asked: QuestionWords, at: int, *, led: bool) -> Found:
    month = lexicon.MONTHS.get(asked.words[at])
    if month is None:
        return None
    day_at = at + 1 + (asked.words[at + 1] == "the")
    word = asked.words[day_at]
    day = day_number(word)
    if day is None or asked.words[day_at + 1] in lexicon.COUNTED:
        return None
    year, end = year_said(asked, day_at + 1)
    bare = year is None and word.isdecimal()
    if bare and (asked.words[at - 1] == "in" or not is_month(asked, at, led=led)):
        return None
    return _on(asked, (year, month, day), end)


def _on(asked: QuestionWords, said: tuple[int | None, int, int], end: int) -> Found:
    year, month, day = said
    span = (
        spans.latest(lambda some: spans.date(some, month, day), asked.now)
        if year is None
        else spans.date(year, month, day)
    )
    return (span, asked.past(end)) if span else None


def _day_of_month(asked: QuestionWords, at: int, *, led: bool) -> Found:
    word = asked.words[at]
    day = day_number(word)
    if not led or day is None or word.isdecimal() or asked.words[at + 1] not in _ENDS:
        return None
    for back in range(3):  # of three months in a row one has thirty-one days and has begun
        month = spans.later(asked.now.replace(day=1), -back)
        span = spans.date(month.year, month.month, day)
        if span is not None and span.start <= asked.now:
            return replace(span, tie=Tie.NAME), at + 1
    return None


# Times that a question calls by their name: months, seasons, quarters, years, weekdays, feasts.
#
# Each reader looks at one place of the question and answers what it found there and where that
# ends. A name that could be something else (a verb, a person) counts only when it is led: by a
# preposition, by a range, or by the word of another language that can mean nothing else.


def named(asked: QuestionWords, at: int, *, led: bool) -> Found:
    """The time that is called by its name here."""
    for reader in (dated, _month, _season, _quarter, _half, _year, _weekday, _feast):
        found = reader(asked, at, led=led)
        if found is not None:
            return found
    return None


def season_of(asked: QuestionWords, name: str, year: int) -> TimeSpan:
    """A season of a year; a winter that is yet to come stands for the one before."""
    span = spans.season(year, name)
    return span if span.start <= asked.now or name != "winter" else spans.season(year - 1, name)


def on_weekday(asked: QuestionWords, number: int) -> TimeSpan:
    """The latest such day of the week, today included."""
    today = spans.midnight(asked.now)
    return spans.days(today - (today.weekday() - number) % 7 * spans.DAY, tie=Tie.NAME)


def feast_at(asked: QuestionWords, at: int) -> tuple[Callable[[int], TimeSpan | None], int] | None:
    """The feast that begins here, as a day of any year."""
    for words, days in lexicon.FEASTS.items():
        if list(words) == asked.words[at : at + len(words)]:
            return partial(_feast_of, days), at + len(words)
    return None


def _feast_of(days: tuple[int, int, int], year: int) -> TimeSpan | None:
    month, day, count = days
    first = spans.date(year, month, day)
    return spans.days(first.start, count, tie=Tie.YEAR) if first else None


def _month(asked: QuestionWords, at: int, *, led: bool) -> Found:
    month = lexicon.MONTHS.get(asked.words[at])
    if month is None:
        return None
    year, end = year_said(asked, at + 1)
    if year is not None:
        return spans.months(year, month), end
    if not led and (hangs(asked, at) or hangs(asked, at + 1)):
        return None
    if not (led or asked.words[at] in lexicon.CERTAIN or _as_adjective(asked, at)):
        return None
    span = spans.latest(lambda some: spans.months(some, month), asked.now)
    return (span, asked.past(at + 1)) if span else None


def _as_adjective(asked: QuestionWords, at: int) -> bool:
    """As in `the May outage`."""
    after = asked.words[at + 1]
    return (
        at > 0
        and asked.words[at - 1] in {"the", "our"}
        and asked.capital(at)
        and after.isalpha()
        and not asked.capital(at + 1)
    )


def _season(asked: QuestionWords, at: int, *, led: bool) -> Found:
    name = lexicon.SEASONS.get(asked.words[at])
    if name is None:
        return None
    year, end = year_said(asked, at + 1)
    if year is not None:
        return season_of(asked, name, year), end
    other = asked.words[at + 1] in lexicon.NOT_A_SEASON or asked.words[at + 1] == "of"
    if not led or other or asked.words[at - 1] == "of":
        return None
    span = spans.latest(lambda some: spans.season(some, name), asked.now)
    return (span, at + 1) if span else None


def _quarter(asked: QuestionWords, at: int, *, led: bool) -> Found:
    if found := re.fullmatch(r"q([1-4])/(\d{4})", asked.words[at]):
        return spans.quarter(int(found[2]), int(found[1])), at + 1
    early = a_year(asked, at)
    name = at + (early is not None)
    number, end = _which_quarter(asked, name)
    if number is None:
        return None
    year, end = (early, end) if early is not None else year_said(asked, end)
    if year is not None:
        return spans.quarter(year, number), end
    spelled = asked.words[name + 1] == "quarter"
    if not (spelled or led or asked.words[at - 1] in {"the", "our"}) or hangs(asked, end):
        return None
    span = spans.latest(lambda some: spans.quarter(some, number), asked.now)
    return (span, asked.past(end)) if span else None


def _which_quarter(asked: QuestionWords, at: int) -> tuple[int | None, int]:
    word = asked.words[at]
    if len(word) == len("q1") and word[0] == "q" and word[1] in "1234":
        return int(word[1]), at + 1
    number = lexicon.ORDINALS.get(word, 9)
    if asked.words[at + 1] == "quarter" and number <= len("1234"):
        return number, at + 2
    return None, at


def _half(asked: QuestionWords, at: int, *, led: bool) -> Found:  # noqa: ARG001  # asked like the others
    first = {"h1": 1, "h2": 7}.get(asked.words[at])
    year, end = year_said(asked, at + 1)
    return (spans.months(year, first, 6), end) if first and year else None


def _year(asked: QuestionWords, at: int, *, led: bool) -> Found:
    said = asked.words[at] == "year"
    year = a_year(asked, at + said)
    if year is None or not (led or said):
        return None
    return spans.months(year, 1, 12), asked.past(at + 1 + said)


def _weekday(asked: QuestionWords, at: int, *, led: bool) -> Found:
    number = lexicon.WEEKDAYS.get(asked.words[at])
    if number is None:
        return None
    end = asked.past(at + 1)
    of_day = asked.words[end] in lexicon.PARTS_OF_DAY
    whole = asked.words[at].endswith("day")
    week_at = end + (asked.words[end] in {"of", "in"})
    if asked.words[week_at + 1] == "week" and asked.words[week_at] in lexicon.LAST | lexicon.THIS:
        back = asked.words[week_at] in lexicon.LAST
        first = spans.week(asked.now).start - back * spans.WEEK
        return spans.days(first + number * spans.DAY), asked.past(week_at + 2)
    again = asked.words[end].removesuffix("s") in lexicon.PARTS_OF_DAY and not of_day
    if again or asked.habitual or not (led or (whole and (of_day or end > at + 1))):
        return None
    return on_weekday(asked, number), end + of_day


def _feast(asked: QuestionWords, at: int, *, led: bool) -> Found:
    found = feast_at(asked, at)
    if found is None:
        return None
    feast, end = found
    year, after = year_said(asked, end)
    span = feast(year) if year else spans.latest(feast, asked.now)
    return (span, after) if span and (year or led) else None
