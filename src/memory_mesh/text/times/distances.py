"""Times that a question tells by their distance from now: yesterday, two weeks ago, last spring."""

from datetime import datetime, timedelta

from memory_mesh.base.typed import replace
from memory_mesh.text.times import dates, lexicon, spans
from memory_mesh.text.times.spans import DAY, WEEK, Found, QuestionWords, Tie, TimeSpan

_SOON, _LONG_AGO = 7, 21  # days: nearly counted, and no longer counted
_LENGTHS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": WEEK,
    "fortnight": 2 * WEEK,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_SLACK = {
    "minute": timedelta(minutes=15),
    "hour": timedelta(hours=1),
    "week": 3 * DAY,
    "fortnight": 3 * DAY,
    "month": 10 * DAY,
    "quarter": 45 * DAY,
    "year": 183 * DAY,
}
_ROLLING = frozenset(("in", "over", "within", "during", "for"))


def distant(asked: QuestionWords, at: int, *, led: bool) -> Found:
    """The time that is told by its distance from now here."""
    if led and asked.words[at] == "weekend" and not asked.habitual:
        return _latest_weekend(asked), asked.past(at + 1)
    for reader in (_day, _ago, _before_last, _last, _this):
        found = reader(asked, at)
        if found is not None:
            return found
    return None


def counted(asked: QuestionWords, at: int) -> tuple[int, int, int] | None:
    """How many at least and at most, and where the number ends."""
    word = asked.words[at]
    if word in {"a", "an"} and asked.words[at + 1] in lexicon.VAGUE:
        at, word = at + 1, asked.words[at + 1]
    if word in lexicon.VAGUE:
        return *lexicon.VAGUE[word], at + 1 + (asked.words[at + 1] == "of")
    if word in {"a", "an"}:
        return 1, 1, at + 1
    if word.isdecimal() and len(word) <= len("999"):
        return int(word), int(word), at + 1
    number = lexicon.NUMBERS.get(word)
    return (number, number, at + 1) if number else None


def moved(moment: datetime, count: int, unit: str) -> datetime:
    """The moment so many units later or earlier."""
    if unit in _MONTHS:
        return spans.later(moment, count * _MONTHS[unit])
    return moment + count * _LENGTHS[unit]


def slack(unit: str, count: int) -> timedelta:
    """How far off the one who says so many units may be."""
    if unit == "day":
        return DAY * ((count >= _SOON) + 2 * (count >= _LONG_AGO))
    return _SLACK[unit] if count == 1 or unit != "month" else 15 * DAY


def _day(asked: QuestionWords, at: int) -> Found:
    today, word = spans.midnight(asked.now), asked.words[at]
    if asked.words[at : at + 3] == ["day", "before", "yesterday"]:
        return spans.days(today - 2 * DAY), asked.past(at + 3)
    if word == "yesterday":
        end = asked.past(at + 1)
        return spans.days(today - DAY), end + (asked.words[end] in lexicon.PARTS_OF_DAY)
    if word in {"today", "tonight"} and not asked.habitual:
        return spans.days(today), asked.past(at + 1)
    return None


def _ago(asked: QuestionWords, at: int) -> Found:
    if asked.words[at : at + 4] == ["half", "a", "year", "ago"]:
        return _around(asked, 6, 6, "month"), at + 4
    number = counted(asked, at)
    if number is None:
        return None
    least, most, end = number
    word = asked.words[end]
    if asked.words[end + 1] not in {"ago", "back"}:
        return None
    unit, weekday = lexicon.UNITS.get(word), lexicon.WEEKDAYS.get(word.removesuffix("s"))
    if unit is not None and asked.words[end + 2] == "today":
        return spans.days(moved(spans.midnight(asked.now), -most, unit)), end + 3
    if unit is not None:
        return _around(asked, least, most, unit), end + 2
    if weekday is not None and least == most:
        return spans.days(_weekday_before(asked, weekday).start - (most - 1) * WEEK), end + 2
    return None


def _around(asked: QuestionWords, least: int, most: int, unit: str) -> TimeSpan:
    """So many units ago, give or take; hours are not rounded to days."""
    small = unit in {"minute", "hour"}
    now = asked.now if small else spans.midnight(asked.now)
    off = slack(unit, most)
    first, last = moved(now, -most, unit) - off, moved(now, -least, unit) + off
    return TimeSpan(first, last if small else min(last, now - DAY) + DAY)


def _before_last(asked: QuestionWords, at: int) -> Found:
    word, unit = asked.words[at], lexicon.UNITS.get(asked.words[at])
    if asked.words[at + 1 : at + 3] != ["before", "last"]:
        return None
    if unit in {"week", "month", "quarter", "year"}:
        return _whole(asked, unit, -2), asked.past(at + 3)
    if word == "weekend":
        span = _weekend_before(asked)
    elif word in lexicon.WEEKDAYS:
        span = _weekday_before(asked, lexicon.WEEKDAYS[word])
    else:
        return None
    return TimeSpan(span.start - WEEK, span.stop - WEEK), asked.past(at + 3)


def _last(asked: QuestionWords, at: int) -> Found:
    head, what = asked.words[at], at + 1
    if head == "this" and asked.words[what] == "past":
        head, what = "past", what + 1
    if head not in lexicon.LAST:
        return None
    word, unit = asked.words[what], lexicon.UNITS.get(asked.words[what])
    number = counted(asked, what)
    if number is not None:
        return _rolling(asked, number)
    if unit in {"week", "month", "quarter", "year"} and not word.endswith("s"):
        if head == "past" or _within_the(asked, at):
            return _rolling(asked, (1, 1, what))
        return _inside(asked, _whole(asked, unit, -1), what + 1)
    if word in {"night", "evening"}:
        noon = spans.midnight(asked.now) - DAY / 2
        return TimeSpan(noon, noon + DAY), asked.past(what + 1)
    return _last_name(asked, what)


def _within_the(asked: QuestionWords, at: int) -> bool:
    """`In the last week` counts back from now; `last week` ended on Sunday."""
    return at > 1 and asked.words[at - 1] == "the" and asked.words[at - 2] in _ROLLING


def _rolling(asked: QuestionWords, number: tuple[int, int, int]) -> Found:
    _, most, at = number
    unit = lexicon.UNITS.get(asked.words[at])
    if unit is None or unit == "minute":
        return None
    today = spans.midnight(asked.now)
    if unit == "hour":
        return TimeSpan(moved(asked.now, -most, unit), asked.now + timedelta.resolution), at + 1
    return TimeSpan(moved(today, -most, unit), today + DAY), at + 1


def _last_name(asked: QuestionWords, at: int) -> Found:
    """The last of what has a name and is over."""
    word, now, end = asked.words[at], asked.now, asked.past(at + 1)
    month, season = lexicon.MONTHS.get(word), lexicon.SEASONS.get(word)
    feast = dates.feast_at(asked, at)
    if word in lexicon.WEEKDAYS:
        after = end + (asked.words[end] in lexicon.PARTS_OF_DAY)
        return _weekday_before(asked, lexicon.WEEKDAYS[word]), after
    if word == "weekend":
        return _weekend_before(asked), end
    if month is not None:
        span = spans.ended(lambda year: spans.months(year, month), now)
    elif season is not None and asked.words[at + 1] not in lexicon.NOT_A_SEASON - {"in", "on"}:
        span = spans.ended(lambda year: spans.season(year, season), now)
    elif feast is not None:
        span, end = spans.ended(feast[0], now), feast[1]
    else:
        return None
    return (span, end) if span else None


def _this(asked: QuestionWords, at: int) -> Found:
    word, what, end = asked.words[at + 1], at + 1, asked.past(at + 2)
    if asked.words[at] not in lexicon.THIS:
        return None
    unit, season = lexicon.UNITS.get(word), lexicon.SEASONS.get(word)
    if unit in {"week", "month", "quarter", "year"} and not word.endswith("s"):
        return _inside(asked, _whole(asked, unit, 0), what + 1)
    if word in lexicon.PARTS_OF_DAY:
        return spans.days(spans.midnight(asked.now)), end
    if word == "weekend":
        return _latest_weekend(asked), end
    if word in lexicon.WEEKDAYS and not asked.habitual:
        return dates.on_weekday(asked, lexicon.WEEKDAYS[word]), end
    if word in lexicon.MONTHS and dates.is_month(asked, what, led=False):
        return spans.months(asked.now.year, lexicon.MONTHS[word]), end
    if season is not None and asked.words[what + 1] not in lexicon.NOT_A_SEASON:
        return _this_season(asked, season), end
    return None


def _this_season(asked: QuestionWords, name: str) -> TimeSpan:
    running = spans.latest(lambda year: spans.season(year, name), asked.now)
    if running is not None and asked.now < spans.later(running.stop, 6):
        return running
    return spans.season(asked.now.year, name)


def _whole(asked: QuestionWords, unit: str, offset: int) -> TimeSpan:
    """The week, month, quarter or year so many before this one."""
    now = asked.now
    if unit == "week":
        return spans.week(now + offset * WEEK)
    if unit == "month":
        span = spans.months(now.year, now.month + offset)
    elif unit == "quarter":
        span = spans.quarter(now.year, (now.month + 2) // 3 + offset)
    else:
        span = spans.months(now.year + offset, 1, 12)
    return replace(span, tie=Tie.NOW)


def _inside(asked: QuestionWords, whole: TimeSpan, at: int) -> Found:
    """What is named within a week or a year, as in `last year in March`, or all of it."""
    end = asked.past(at)
    inner = end + (asked.words[end] in {"in", "on", ","})
    inner += asked.words[inner] == "the"
    word = asked.words[inner]
    if whole.stop - whole.start == WEEK:
        if word in lexicon.WEEKDAYS:
            return spans.days(whole.start + lexicon.WEEKDAYS[word] * DAY), inner + 1
    elif whole.stop - whole.start > 300 * DAY:
        if word in lexicon.MONTHS and dates.is_month(asked, inner, led=inner > at):
            return spans.months(whole.start.year, lexicon.MONTHS[word]), inner + 1
        if word in lexicon.SEASONS and inner > at:
            return dates.season_of(asked, lexicon.SEASONS[word], whole.start.year), inner + 1
    return whole, end


def _weekday_before(asked: QuestionWords, number: int) -> TimeSpan:
    today = spans.midnight(asked.now)
    return spans.days(today - ((today.weekday() - number - 1) % 7 + 1) * DAY)


def _latest_weekend(asked: QuestionWords) -> TimeSpan:
    span = spans.weekend(asked.now)
    return span if span.start <= asked.now else spans.weekend(asked.now - WEEK)


def _weekend_before(asked: QuestionWords) -> TimeSpan:
    return spans.weekend(asked.now - WEEK)
