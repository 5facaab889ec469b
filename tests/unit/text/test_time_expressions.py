"""The time that a question names."""

import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from memory_mesh.text.times import MAX_CHARS_READ, Period, read
from tests.effort import effort

NOW = datetime(2026, 6, 17, 21, tzinfo=UTC)  # a Wednesday
SETS = Path(__file__).parents[3] / "bench" / "sets"
EVER = "0001-01-01"


def days(period: Period | None) -> tuple[str, str] | None:
    """The first and the last day."""
    if period is None:
        return None
    last = period.stop - timedelta.resolution
    return period.start.date().isoformat(), last.date().isoformat()


ENGLISH = [
    # dates
    ("what broke on 2026-03-04?", "2026-03-04", "2026-03-04"),
    ("the log of 2026-03-04T10:20:00Z", "2026-03-04", "2026-03-04"),
    ("on 2026/03/04", "2026-03-04", "2026-03-04"),
    ("on 4 March 2026", "2026-03-04", "2026-03-04"),
    ("on the 4th of March, 2026", "2026-03-04", "2026-03-04"),
    ("March 4th", "2026-03-04", "2026-03-04"),
    ("on June 17, 2025", "2025-06-17", "2025-06-17"),
    ("on June 18", "2025-06-18", "2025-06-18"),  # this year's is yet to come
    ("on 04.03.2026", "2026-03-04", "2026-03-04"),
    ("on 13/04/2026", "2026-04-13", "2026-04-13"),
    ("on 04/13/2026", "2026-04-13", "2026-04-13"),
    ("what did we say on the 5th?", "2026-06-05", "2026-06-05"),
    ("29 February", "2024-02-29", "2024-02-29"),
    # months
    ("in March", "2026-03-01", "2026-03-31"),
    ("in june", "2026-06-01", "2026-06-30"),
    ("in July", "2025-07-01", "2025-07-31"),
    ("last October", "2025-10-01", "2025-10-31"),
    ("last June", "2025-06-01", "2025-06-30"),
    ("the offsite of March 2025", "2025-03-01", "2025-03-31"),
    ("in 2025-03", "2025-03-01", "2025-03-31"),
    ("why was the May outage so long?", "2026-05-01", "2026-05-31"),
    ("what did we plan this May?", "2026-05-01", "2026-05-31"),
    ("in March of last year", "2025-03-01", "2025-03-31"),
    ("last year in March", "2025-03-01", "2025-03-31"),
    ("in early March", "2026-03-01", "2026-03-11"),
    ("mid-March 2025", "2025-03-11", "2025-03-21"),
    ("at the end of May", "2026-05-21", "2026-05-31"),
    # seasons, quarters, years
    ("last spring", "2026-03-01", "2026-05-31"),
    ("last summer", "2025-06-01", "2025-08-31"),
    ("this summer", "2026-06-01", "2026-08-31"),
    ("last winter", "2025-12-01", "2026-02-28"),
    ("in the fall", "2025-09-01", "2025-11-30"),
    ("the summer of 2021", "2021-06-01", "2021-08-31"),
    ("winter 2025", "2025-12-01", "2026-02-28"),
    ("winter 2026", "2025-12-01", "2026-02-28"),  # the next one has not begun
    ("in Q2", "2026-04-01", "2026-06-30"),
    ("in Q3", "2025-07-01", "2025-09-30"),
    ("Q4 of last year", "2025-10-01", "2025-12-31"),
    ("Q1/2025", "2025-01-01", "2025-03-31"),
    ("second quarter of 2025", "2025-04-01", "2025-06-30"),
    ("last quarter", "2026-01-01", "2026-03-31"),
    ("H2 2024", "2024-07-01", "2024-12-31"),
    ("in 2025", "2025-01-01", "2025-12-31"),
    ("last year", "2025-01-01", "2025-12-31"),
    ("the year before last", "2024-01-01", "2024-12-31"),
    ("in the second half of 2024", "2024-07-01", "2024-12-31"),
    ("the first half of September 2022", "2022-09-01", "2022-09-15"),
    ("the first three months of 2025", "2025-01-01", "2025-03-31"),
    ("the last week of May", "2026-05-25", "2026-05-31"),
    ("the first Monday in March 2025", "2025-03-03", "2025-03-03"),
    ("the last Friday of May", "2026-05-29", "2026-05-29"),
    # days and weeks
    ("yesterday's outage", "2026-06-16", "2026-06-16"),
    ("the day before yesterday", "2026-06-15", "2026-06-15"),
    ("this morning", "2026-06-17", "2026-06-17"),
    ("last night", "2026-06-16", "2026-06-17"),
    ("3 days ago", "2026-06-14", "2026-06-14"),
    ("ten days ago", "2026-06-06", "2026-06-08"),
    ("two weeks ago", "2026-05-31", "2026-06-06"),
    ("a week ago today", "2026-06-10", "2026-06-10"),
    ("a month ago", "2026-05-07", "2026-05-27"),
    ("a few days ago", "2026-06-12", "2026-06-15"),
    ("half a year ago", "2025-12-02", "2026-01-01"),
    ("four years ago", "2021-12-16", "2022-12-17"),
    ("an hour ago", "2026-06-17", "2026-06-17"),
    ("last week's outage", "2026-06-08", "2026-06-14"),
    ("this week", "2026-06-15", "2026-06-21"),
    ("the week before last", "2026-06-01", "2026-06-07"),
    ("last month", "2026-05-01", "2026-05-31"),
    ("past month", "2026-05-17", "2026-06-17"),
    ("in the last week", "2026-06-10", "2026-06-17"),
    ("in the past two weeks", "2026-06-03", "2026-06-17"),
    ("the last 24 hours", "2026-06-16", "2026-06-17"),
    # weekdays, weekends, feasts
    ("last Friday", "2026-06-12", "2026-06-12"),
    ("last Wednesday", "2026-06-10", "2026-06-10"),
    ("what was released on Tuesday?", "2026-06-16", "2026-06-16"),
    ("Tuesday's release", "2026-06-16", "2026-06-16"),
    ("Tuesday last week", "2026-06-09", "2026-06-09"),
    ("last week on Tuesday", "2026-06-09", "2026-06-09"),
    ("two Fridays ago", "2026-06-05", "2026-06-05"),
    ("over the weekend", "2026-06-13", "2026-06-14"),
    ("the weekend before last", "2026-06-06", "2026-06-07"),
    ("over the last Christmas holidays", "2025-12-20", "2026-01-02"),
    ("on New Year\u2019s Eve", "2025-12-31", "2025-12-31"),
    # ranges and open ends
    ("between May and July 2025", "2025-05-01", "2025-07-31"),
    ("between December and January", "2025-12-01", "2026-01-31"),
    ("from December 2024 to January", "2024-12-01", "2025-01-31"),
    ("from 3 to 9 June", "2026-06-03", "2026-06-09"),
    ("June 3-9", "2026-06-03", "2026-06-09"),
    ("outages May\u2013July 2025", "2025-05-01", "2025-07-31"),
    ("in January and February 2025", "2025-01-01", "2025-02-28"),
    ("since April", "2026-04-01", "2026-06-17"),
    ("from April on", "2026-04-01", "2026-06-17"),
    ("before 2025", EVER, "2024-12-31"),
    ("until July 2024", EVER, "2024-07-31"),
    ("by July 10, 2022", EVER, "2022-07-10"),
    ("after the 5th of May", "2026-05-06", "2026-06-17"),
    ("after last week's release", "2026-06-08", "2026-06-17"),
    ("the Sunday before October 25, 2025", "2025-10-19", "2025-10-19"),
    ("the week before August 3, 2023", "2023-07-27", "2023-08-02"),
    ("two days after Christmas", "2025-12-28", "2025-12-28"),
    # of two times the one with a year
    ("what did she finish last Friday on 23 January, 2022?", "2022-01-23", "2022-01-23"),
]
OTHERS = [
    ("Was haben wir gestern Abend gemacht?", "2026-06-16", "2026-06-16"),
    ("heute vor einer Woche", "2026-06-10", "2026-06-10"),
    ("vor einer Woche", "2026-06-07", "2026-06-13"),
    ("letzten Herbst", "2025-09-01", "2025-11-30"),
    ("im März", "2026-03-01", "2026-03-31"),
    ("Wer kam im August dazu?", "2025-08-01", "2025-08-31"),
    ("seit April", "2026-04-01", "2026-06-17"),
    ("am 4. März 2026", "2026-03-04", "2026-03-04"),
    ("vom 3. bis 9. Juni", "2026-06-03", "2026-06-09"),
    ("in den letzten zwei Wochen", "2026-06-03", "2026-06-17"),
    ("¿Qué vimos ayer?", "2026-06-16", "2026-06-16"),
    ("la semana pasada", "2026-06-08", "2026-06-14"),
    ("hace dos semanas", "2026-05-31", "2026-06-06"),
    ("la clase de enero", "2026-01-01", "2026-01-31"),
    ("entre mayo y julio de 2025", "2025-05-01", "2025-07-31"),
    ("el viernes pasado", "2026-06-12", "2026-06-12"),
    ("Que s'est-il passé hier ?", "2026-06-16", "2026-06-16"),
    ("le mois dernier", "2026-05-01", "2026-05-31"),
    ("l'hiver dernier", "2025-12-01", "2026-02-28"),
    ("il y a trois jours", "2026-06-14", "2026-06-14"),
    ("depuis avril", "2026-04-01", "2026-06-17"),
    ("昨天的会议", "2026-06-16", "2026-06-16"),
    ("上个月的书法课讲了什么?", "2026-05-01", "2026-05-31"),
    ("上周五", "2026-06-12", "2026-06-12"),
    ("两周前", "2026-05-31", "2026-06-06"),
    ("去年秋天", "2025-09-01", "2025-11-30"),
    ("2025年3月4日", "2025-03-04", "2025-03-04"),
    ("先週の料理教室", "2026-06-08", "2026-06-14"),
    ("一昨日", "2026-06-15", "2026-06-15"),
    ("３日前の障害", "2026-06-14", "2026-06-14"),
    ("去年の秋の料理教室", "2025-09-01", "2025-11-30"),
    ("第1四半期", "2026-01-01", "2026-03-31"),
]
NOTHING = [
    "What is Caroline's identity?",
    "which outage was the last one before the move?",
    "what happened after the accident?",
    "what did she paint recently?",
    "What may we do about it?",
    "this may break",
    "why may 5 people fail",
    "can 4 may be wrong?",
    "May I deploy?",
    "who led the march on the capital?",
    "did they march in line?",
    "what did April say to June?",
    "does this fall under the licence?",
    "how did the empire fall in the end?",
    "in the fall of the empire",
    "how is it done in Spring Boot?",
    "who runs the summer camp?",
    "one second please",
    "the second movie script",
    "a quarter of the users",
    "last minute changes",
    "on the last day of the trip",
    "can we deploy on Friday?",
    "who works from home on Fridays?",
    "EOD thursday deadline for what",
    "what do we use today?",
    "on the 5th floor",
    "her 18th birthday",
    "port 2025",
    "tarn archive 2024 dumps",
    "after 2000 requests",
    "version 2.5.2026",
    "release 2.5.2026-rc",
    "left-gutter@2.5.2026",
    "10.0.20.25",
    "id 2024-05-12-0042",
    "CVE-2024-05-12",
    "logs/2026-03-04.log",
    "feature/july-cleanup",
    "the july-cleanup branch",
    "q4_k_m",
    "last_week variable",
    "on 03/04/2026",  # March to some, April to others
    "on 30.02.2026",
    "next week",
    "tomorrow",
    "in 2030",
    "since 2031",
    "what is planned for next July?",
    "what is due before next July?",
    "which channel is archived each January?",
    "what is restarted on Sunday nights?",
    "se renueva en marzo próximo",
    "le contrat finit en mars prochain",
    "Was ist hier passiert?",
    "Il a été malade",
    "¿Qué día entregamos?",
    "青松星期五可以发版吗?",
    "日志要保留几天?",
    "ログはなん日残す?",
    "",
]


@pytest.mark.parametrize(("text", "first", "last"), ENGLISH + OTHERS)
def test_a_question_names_its_time(text: str, first: str, last: str):
    assert days(read(text, NOW)) == (first, last)


@pytest.mark.parametrize("text", NOTHING)
def test_what_only_looks_like_a_time_is_none(text: str):
    assert read(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Why did the login fail in March?", "in March"),
        ("What was LAST WEEK'S outage?", "LAST WEEK'S"),
        ("Was war im März los?", "im März"),
        ("İ先週の料理教室", "先週"),
    ],
)
def test_the_words_are_those_of_the_question(text: str, words: str):
    found = read(text, NOW)
    assert found is not None
    assert found.words == words
    assert words in text


def test_days_are_those_of_the_asker_and_are_told_in_utc():
    tokyo = timezone(timedelta(hours=9))
    found = read("yesterday", datetime(2026, 6, 18, 6, tzinfo=tokyo))
    assert found is not None
    assert found.start == datetime(2026, 6, 16, 15, tzinfo=UTC)
    assert found.stop == datetime(2026, 6, 17, 15, tzinfo=UTC)
    assert found.start.tzinfo is found.stop.tzinfo is UTC


def test_only_the_beginning_of_a_long_text_is_read():
    assert read("x " * MAX_CHARS_READ + "yesterday", NOW) is None
    assert read("yesterday " + "x " * MAX_CHARS_READ, NOW) is not None


@pytest.mark.parametrize("name", ["aliases", "languages"])
def test_questions_without_time_name_none(name: str):
    lines = (SETS / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    told = [text for text in texts if read(text, NOW)]
    assert told == [text for text in texts if "this year" in text]


def test_the_set_of_times_is_read_but_for_its_events():
    lines = (SETS / "temporal" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    for asked in map(json.loads, lines):
        found = read(asked["text"], datetime.fromisoformat(asked["question_date"]))
        if " move" in asked["text"]:  # before the move, since we moved
            assert found is None
            continue
        assert found is not None, asked["text"]
        first, last = map(date.fromisoformat, asked["period"])
        assert found.start.date() <= first, asked["text"]
        assert (found.stop - timedelta.resolution).date() >= last, asked["text"]
        assert found.stop - found.start <= last - first + timedelta(days=21), asked["text"]


PIECES = """
    last this past in on of the since before after between and from to - until may march fall May
    spring winter week weeks month year day days weekend monday quarter q2 h1 2025 2026 1900 2099 03
    04 31 5th two a few ago half first second early mid-june end of christmas ' s yesterday today
    2026-02-30 30.02.2026 im vor einer Woche letzten März hace dos semanas mayo en mars dernier 上周
    三月 2025年 13月 99日 先週 去年の 秋 2주 전 지난 قبل أسبوعين مارس İ ² ٣ 𝟛 999
"""
MOMENTS = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-11))]))


@given(st.lists(st.sampled_from(PIECES.split()), max_size=12).map(" ".join) | st.text(), MOMENTS)
def test_a_period_has_begun_and_ends_after_it_starts(text: str, now: datetime):
    found = read(text, now)
    if found is not None:
        assert found.start < found.stop
        assert found.start <= now
        assert found.words in text


@pytest.mark.parametrize(
    "piece",
    [
        "may ", "last ", "1 week ", "between may and ", "from 1 to ", "first half of ", "2026-",
        "week before ", "the 1st of ", "q1 ", "'s today", "vor 1 Woche ", "de mayo ", "en mars ",
        "1月", "2025年", "一月", "1월 ", "قبل مارس ", "İmay ", "1.", "a" * 50 + " may ",
    ],
)  # fmt: skip
def test_hostile_text_costs_time_in_proportion_to_its_length(piece: str):
    def cost(length: int) -> float:
        text = (piece * length)[:length] + " today"
        read(text, NOW)
        return min(effort(lambda: read(text, NOW)) for _ in range(3))

    short, long = cost(MAX_CHARS_READ // 16), cost(MAX_CHARS_READ - 10)
    assert long < 100 * short + 2  # with the square of its length: 256 times as much
    assert long < 70


def test_a_question_without_a_word_of_time_is_told_at_once():
    asked = "What did the team decide about the gateway and its certificates?"
    read(asked, NOW)
    assert effort(lambda: [read(asked, NOW) for _ in range(1_000)]) < 20


def test_nothing_is_loaded_for_a_question_without_a_word_of_time():
    program = """
import sys
from datetime import UTC, datetime
from memory_mesh.text import times as time_expressions
time_expressions.read("What does the gateway do?", datetime.now(UTC))
package = time_expressions.__name__
print(sorted(name for name in sys.modules if name.startswith(package)))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "['memory_mesh.text.times']"
