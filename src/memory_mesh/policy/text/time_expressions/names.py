"""Times that a question calls by their name: months, seasons, quarters, years, weekdays, feasts.

Each reader looks at one place of the question and answers what it found there and where that ends.
A name that could be something else (a verb, a person) counts only when it is led: by a preposition,
by a range, or by the word of another language that can mean nothing else.
"""

import re
from collections.abc import Callable
from functools import partial

from memory_mesh.policy.text.time_expressions import lexicon, spans
from memory_mesh.policy.text.time_expressions.asking import Asking
from memory_mesh.policy.text.time_expressions.dates import a_year, dated, hangs, year_said
from memory_mesh.policy.text.time_expressions.spans import Found, Span, Tie


def named(asked: Asking, at: int, *, led: bool) -> Found:
    """The time that is called by its name here."""
    for reader in (dated, _month, _season, _quarter, _half, _year, _weekday, _feast):
        found = reader(asked, at, led=led)
        if found is not None:
            return found
    return None


def season_of(asked: Asking, name: str, year: int) -> Span:
    """A season of a year; a winter that is yet to come stands for the one before."""
    span = spans.season(year, name)
    return span if span.start <= asked.now or name != "winter" else spans.season(year - 1, name)


def on_weekday(asked: Asking, number: int) -> Span:
    """The latest such day of the week, today included."""
    today = spans.midnight(asked.now)
    return spans.days(today - (today.weekday() - number) % 7 * spans.DAY, tie=Tie.NAME)


def feast_at(asked: Asking, at: int) -> tuple[Callable[[int], Span | None], int] | None:
    """The feast that begins here, as a day of any year."""
    for words, days in lexicon.FEASTS.items():
        if list(words) == asked.words[at : at + len(words)]:
            return partial(_feast_of, days), at + len(words)
    return None


def _feast_of(days: tuple[int, int, int], year: int) -> Span | None:
    month, day, count = days
    first = spans.date(year, month, day)
    return spans.days(first.start, count, tie=Tie.YEAR) if first else None


def _month(asked: Asking, at: int, *, led: bool) -> Found:
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


def _as_adjective(asked: Asking, at: int) -> bool:
    """As in `the May outage`."""
    after = asked.words[at + 1]
    return (
        at > 0
        and asked.words[at - 1] in {"the", "our"}
        and asked.capital(at)
        and after.isalpha()
        and not asked.capital(at + 1)
    )


def _season(asked: Asking, at: int, *, led: bool) -> Found:
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


def _quarter(asked: Asking, at: int, *, led: bool) -> Found:
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


def _which_quarter(asked: Asking, at: int) -> tuple[int | None, int]:
    word = asked.words[at]
    if len(word) == len("q1") and word[0] == "q" and word[1] in "1234":
        return int(word[1]), at + 1
    number = lexicon.ORDINALS.get(word, 9)
    if asked.words[at + 1] == "quarter" and number <= len("1234"):
        return number, at + 2
    return None, at


def _half(asked: Asking, at: int, *, led: bool) -> Found:  # noqa: ARG001  # asked like the others
    first = {"h1": 1, "h2": 7}.get(asked.words[at])
    year, end = year_said(asked, at + 1)
    return (spans.months(year, first, 6), end) if first and year else None


def _year(asked: Asking, at: int, *, led: bool) -> Found:
    said = asked.words[at] == "year"
    year = a_year(asked, at + said)
    if year is None or not (led or said):
        return None
    return spans.months(year, 1, 12), asked.past(at + 1 + said)


def _weekday(asked: Asking, at: int, *, led: bool) -> Found:
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


def _feast(asked: Asking, at: int, *, led: bool) -> Found:
    found = feast_at(asked, at)
    if found is None:
        return None
    feast, end = found
    year, after = year_said(asked, end)
    span = feast(year) if year else spans.latest(feast, asked.now)
    return (span, after) if span and (year or led) else None
