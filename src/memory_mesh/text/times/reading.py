"""What a whole question says about time: points, parts of them, ranges and open ends.

::

    question -> words -> at each place: range | limit | [preposition] point [to point]
    point    -> part of a time | next to a time | told from now | told by name

Of several times the one with a year is meant, else the first. A time that has not begun holds no
memory and is not meant.
"""

from datetime import datetime

from memory_mesh.base.typed import replace
from memory_mesh.text.times import dates, distances, lexicon, spans
from memory_mesh.text.times.spans import DAY, Found, QuestionWords, Tie, TimeSpan, cut

_TO = frozenset(("to", "until", "till", "through", "-", "\u2013", "\u2014"))
_ONWARDS = frozenset(("on", "onward", "onwards"))
_LIMITS = frozenset(("since", "after", "before", "until", "till", "by"))
_NOT_ONCE = frozenset(("next", "coming", "each", "every"))  # to come, or again and again
_THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_BRIEF = frozenset(("early", "mid", "late"))  # need no `of`
_SHORTEST = 9  # days of which one can say that they begin and end
_OPENING = frozenset(
    {*lexicon.MONTHS, *lexicon.WEEKDAYS, *lexicon.SEASONS, *lexicon.ORDINALS, *lexicon.NUMBERS}
    | {*lexicon.UNITS, *lexicon.VAGUE, *lexicon.LEADS, *lexicon.LAST, *lexicon.THIS, *_THIRDS}
    | {words[0] for words in lexicon.FEASTS}
    | {*_LIMITS, "between", "from", "prior", "up", "the", "a", "an", "half", "weekend"}
    | {"yesterday", "today", "tonight", "h1", "h2", "q1", "q2", "q3", "q4"}
)  # words with which a time can begin; figures are others


def told(text: str, now: datetime) -> tuple[TimeSpan, str] | None:
    """The time an English question names and its words there."""
    asked = cut(text, now)
    best: tuple[TimeSpan, str] | None = None
    at, end = 0, len(asked.words) - asked.words.count("")
    while at < end:
        found = _anything(asked, at)
        if found is None:
            at += 1
            continue
        span, after = found
        if span.start <= now and span.start < span.stop and (best is None or _better(span, best)):
            best = span, text[asked.begins[at] : asked.ends[after - 1]]
        at = max(after, at + 1)
    return best


def whole(phrase: str, now: datetime) -> TimeSpan | None:
    """The time that a phrase names which says nothing else."""
    asked = cut(phrase, now)
    found = _anything(asked, 0)
    if found is None or asked.words[found[1]] or found[0].start > now:
        return None
    return found[0] if found[0].start < found[0].stop else None


def _better(span: TimeSpan, best: tuple[TimeSpan, str]) -> bool:
    return span.tie is Tie.YEAR and best[0].tie is not Tie.YEAR


def _anything(asked: QuestionWords, at: int) -> Found:
    word = asked.words[at]
    if word.partition("/")[0] not in _OPENING and not word[:1].isdecimal():
        return None
    if at and asked.words[at - 1] in _NOT_ONCE:
        return None
    if word in {"between", "from"}:
        return _range(asked, at)
    if word in _LIMITS or asked.words[at : at + 2] in (["prior", "to"], ["up", "to"]):
        found = _limit(asked, at)
        if found is not None:
            return found
    if word in lexicon.LEADS:
        return _run(asked, at + 1, led=True)
    return _run(asked, at, led=False)


def _range(asked: QuestionWords, at: int) -> Found:
    ends = _TO if asked.words[at] == "from" else {"and"}
    found = _days_of_month(asked, at + 1, led=True)
    if found is not None:
        return found
    first = _point(asked, at + 1, led=True)
    if first is None:
        return None
    after = first[1]
    if asked.words[after] in ends:
        return _cover(asked, at + 1, after + 1)
    if asked.words[at] == "from" and asked.words[after] in _ONWARDS:
        return TimeSpan(first[0].start, _tomorrow(asked), first[0].tie), after + 1
    return None


def _limit(asked: QuestionWords, at: int) -> Found:
    """Everything before or after a time."""
    word = asked.words[at]
    found = _point(asked, at + 1 + (word in {"prior", "up"}), led=True)
    if found is None:
        return None
    (span, end), tomorrow = found, _tomorrow(asked)
    of_event = asked.words[end - 2 : end] == ["'", "s"]  # as in `after last week's release`
    first = datetime.min  # noqa: DTZ901  # no zone here
    if word == "since" or (word == "after" and of_event):
        return TimeSpan(span.start, tomorrow, span.tie), end
    if word == "after":
        return TimeSpan(span.stop, tomorrow, span.tie), end
    if word in {"before", "prior"} and not of_event:
        return TimeSpan(first, span.start, span.tie), end
    if word == "by" and span.tie is not Tie.YEAR:
        return None
    return TimeSpan(first, span.stop, span.tie), end


def _tomorrow(asked: QuestionWords) -> datetime:
    return spans.midnight(asked.now) + DAY


def _run(asked: QuestionWords, at: int, *, led: bool) -> Found:
    """One time, or two with all that lies between them."""
    led = led or _between_months(asked, at)
    first = _days_of_month(asked, at, led=led) or _point(asked, at, led=led)
    if first is None or first[0].tie is Tie.NOW:
        return first
    joint = asked.words[first[1]]
    if joint in _TO or joint == "and":
        second = _point(asked, first[1] + 1, led=joint != "and")
        if second is not None and second[0].tie is not Tie.NOW:
            return _cover(asked, at, first[1] + 1) or first
    return first


def _between_months(asked: QuestionWords, at: int) -> bool:
    """As in `May to July`: neither can be a verb."""
    first, joint, second = asked.words[at : at + 3]
    return first in lexicon.MONTHS and joint in _TO and second in lexicon.MONTHS


def _cover(asked: QuestionWords, first_at: int, second_at: int) -> Found:
    """From the one time to the end of the other; a name without a year follows the other's."""
    first = _point(asked, first_at, led=True)
    second = _point(asked, second_at, led=True)
    if first is None or second is None:
        return None
    if first[0].tie is Tie.NAME:
        first = _point(replace(asked, now=second[0].start), first_at, led=True)
    elif first[0].tie is Tie.YEAR and second[0].tie is Tie.NAME:
        until = min(asked.now, spans.later(first[0].start, 12))
        second = _point(replace(asked, now=until), second_at, led=True)
    if first is None or second is None or first[0].start >= second[0].stop:
        return None
    tie = Tie.YEAR if Tie.YEAR in {first[0].tie, second[0].tie} else second[0].tie
    return TimeSpan(first[0].start, second[0].stop, tie), second[1]


def _days_of_month(asked: QuestionWords, at: int, *, led: bool) -> Found:
    """As in `3 to 9 June` and `June 3-9`."""
    month = lexicon.MONTHS.get(asked.words[at])
    days_at = at if month is None else at + 1
    month_at = at + 3 if month is None else at
    month = lexicon.MONTHS.get(asked.words[month_at])
    first, last = (dates.day_number(asked.words[days_at + step]) for step in (0, 2))
    if month is None or first is None or last is None or not first < last:
        return None
    if asked.words[days_at + 1] not in _TO | {"and"}:
        return None
    year, end = dates.year_said(asked, max(month_at, days_at + 2) + 1)
    if year is None and not dates.is_month(asked, month_at, led=led):
        return None
    since = year or (asked.now.year - ((month, first) > (asked.now.month, asked.now.day)))
    start, stop = spans.date(since, month, first), spans.date(since, month, last)
    return (TimeSpan(start.start, stop.stop, Tie.YEAR), end) if start and stop else None


def _point(asked: QuestionWords, at: int, *, led: bool) -> Found:
    at += asked.words[at] == "the"
    return _part(asked, at) or _beside(asked, at) or _simple(asked, at, led=led)


def _simple(asked: QuestionWords, at: int, *, led: bool) -> Found:
    at += asked.words[at] == "the"
    return distances.distant(asked, at, led=led) or dates.named(asked, at, led=led)


def _part(asked: QuestionWords, at: int) -> Found:
    word = asked.words[at]
    third = _THIRDS.get(word)
    if third is not None:
        inner = at + 1 + (asked.words[at + 1] == ("-" if word in _BRIEF else "of"))
        if word not in _BRIEF and inner == at + 1:
            return None
        found = _simple(asked, inner, led=True)
        return found and _third(found, third)
    if word == "week" and asked.words[at + 1] == "of":
        found = _simple(asked, at + 2, led=True)
        return found and (replace(spans.week(found[0].start), tie=found[0].tie), found[1])
    return _piece(asked, at)


def _third(found: tuple[TimeSpan, int], number: int) -> Found:
    span, end = found
    length = (span.stop - span.start).days
    if length < _SHORTEST:
        return None
    first = span.start + number * length // 3 * DAY
    last = span.stop if number == len("12") else span.start + -(-(number + 1) * length // 3) * DAY
    return TimeSpan(first, last, span.tie), end


def _piece(asked: QuestionWords, at: int) -> Found:
    """As in `second half of 2024`, `first three months of 2025`, `last Friday of May`."""
    word = asked.words[at]
    nth = -1 if word == "last" else lexicon.ORDINALS.get(word, 0)
    if not nth:
        return None
    number = distances.counted(asked, at + 1) if nth in {1, -1} else None
    count, what = (number[1], number[2]) if number else (1, at + 1)
    inside = {"of"} if nth < 0 else {"of", "in"}  # `last year in March` is no part of March
    if asked.words[what + 1] not in inside:
        return None
    found = _simple(asked, what + 2, led=True)
    span = found and _within(found[0], asked.words[what], nth, count)
    return (span, found[1]) if span and found else None


def _within(whole: TimeSpan, word: str, nth: int, count: int) -> TimeSpan | None:
    """The nth piece of a time, counted from its end where nth is negative."""
    unit = lexicon.UNITS.get(word)
    if word == "half" and nth in {1, 2}:
        middle = whole.start + (whole.stop - whole.start).days // 2 * DAY
        if whole.stop.month == whole.start.month:  # half a year is six months, not 182 days
            middle = spans.later(whole.start, 6)
        return replace(whole, stop=middle) if nth == 1 else replace(whole, start=middle)
    if word in lexicon.WEEKDAYS:
        edge = whole.start if nth > 0 else whole.stop - spans.WEEK
        ahead = (lexicon.WEEKDAYS[word] - edge.weekday()) % 7 * DAY
        return spans.days(edge + ahead + max(nth - 1, 0) * spans.WEEK, tie=whole.tie)
    if unit is None or unit in {"minute", "hour"}:
        return None
    if nth < 0:
        return TimeSpan(distances.moved(whole.stop, -count, unit), whole.stop, whole.tie)
    first = distances.moved(whole.start, nth - 1, unit)
    return TimeSpan(first, distances.moved(first, count, unit), whole.tie)


def _beside(asked: QuestionWords, at: int) -> Found:
    """As in `the Sunday before 25 October` and `two days after Christmas`."""
    number = distances.counted(asked, at)
    what = number[2] if number else at + (asked.words[at] == "last")
    word, side = asked.words[what], asked.words[what + 1]
    unit = lexicon.UNITS.get(word)
    if side not in {"before", "after"} or unit in {"minute", "hour"}:
        return None
    if unit is None and (number or word not in {*lexicon.WEEKDAYS, "weekend"}):
        return None
    found = _simple(asked, what + 2, led=True)
    if found is None:
        return None
    edge = found[0].start if side == "before" else found[0].stop
    span = _next_to(edge, side, word) if unit is None else _away(edge, side, unit, number)
    return replace(span, tie=found[0].tie), found[1]


def _next_to(edge: datetime, side: str, word: str) -> TimeSpan:
    """The nearest such day, or weekend, on one side of a moment."""
    number, length = (5, 2) if word == "weekend" else (lexicon.WEEKDAYS[word], 1)
    if side == "after":
        return spans.days(edge + (number - edge.weekday()) % 7 * DAY, length)
    last = edge - length * DAY
    return spans.days(last - (last.weekday() - number) % 7 * DAY, length)


def _away(edge: datetime, side: str, unit: str, number: tuple[int, int, int] | None) -> TimeSpan:
    """So many units on one side of a moment, or the one that touches it."""
    sign = -1 if side == "before" else 1
    if number is None:
        first, last = sorted((edge, distances.moved(edge, sign, unit)))
        return TimeSpan(first, last)
    least, most, _ = number
    day = edge if side == "before" else edge - DAY
    first, last = sorted(distances.moved(day, sign * count, unit) for count in (least, most))
    off = distances.slack(unit, most)
    return TimeSpan(first - off, last + off + DAY)
