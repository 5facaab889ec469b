"""The time a question asks about: `last spring`, `between May and July`, `vor zwei Wochen`.

What is read is what people mean, which a calendar alone does not tell: "in March" is the latest
March that has begun, "two weeks ago" some days around that day, and "before the move" no time at
all. Nearly every question has no word of time; that is seen before anything else is loaded.
"""

import re
from datetime import UTC, datetime, tzinfo

from memory_mesh.base.typed import TYPE_CHECKING, dataclass

if TYPE_CHECKING:
    from memory_mesh.text.times.spans import TimeSpan

__all__ = ["MAX_CHARS_READ", "Period", "read"]

MAX_CHARS_READ = 2_000  # characters that are read


@dataclass(frozen=True, slots=True)
class Period:
    """From its first moment to the one after its last, both UTC, and the words that said so."""

    start: datetime
    stop: datetime
    words: str


def read(text: str, now: datetime) -> Period | None:
    """The span of time that a question names when it is asked at `now`, on the calendar there."""
    text = text[:MAX_CHARS_READ]
    languages = _languages(text)
    if not languages:
        return None
    zone, here = now.tzinfo or UTC, now.replace(tzinfo=None)
    try:
        best = _meant(text, here, languages)
        return (
            Period(_utc(best[0].start, zone), _utc(best[0].stop, zone), best[1]) if best else None
        )
    except (OverflowError, ValueError):  # further back or ahead than the calendar goes
        return None


def _meant(text: str, now: datetime, languages: list[str]) -> "tuple[TimeSpan, str] | None":
    """Of all that the languages find, what has a year, else what has the most words."""
    from memory_mesh.text.times import reading, spans

    english = reading.told(text, now) if "english" in languages else None
    found = [english] if english else []
    others = [name for name in languages if name != "english"]
    if others:
        from memory_mesh.text.times import languages as time_expressions_languages

        found += time_expressions_languages.told(text, now, languages=others)
    dated = spans.Tie.YEAR
    return max(found, key=lambda one: (one[0].tie is dated, len(one[1])), default=None)


def _utc(moment: datetime, zone: tzinfo) -> datetime:
    if moment == datetime.min:  # noqa: DTZ901  # since ever, whatever the zone
        return moment.replace(tzinfo=UTC)
    return moment.replace(tzinfo=zone).astimezone(UTC)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_YEARS = frozenset(map(str, range(1900, 2100)))
_ENGLISH = _YEARS | _set(
    """
    january february march april may june july august september october november december jan feb
    mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday
    sunday mon tue tues wed thu thurs fri mondays tuesdays wednesdays thursdays fridays saturdays
    sundays spring summer autumn fall winter yesterday today tonight ago morning afternoon evening
    night minutes hour hours day days week weeks fortnight fortnights weekend month months quarter
    quarters year years christmas halloween q1 q2 q3 q4 h1 h2 1st 2nd 3rd 4th 5th 6th 7th 8th 9th
    10th 11th 12th 13th 14th 15th 16th 17th 18th 19th 20th 21st 22nd 23rd 24th 25th 26th 27th 28th
    29th 30th 31st
    """
)
_GERMAN = _set(
    """
    januar jänner februar märz mai juni juli oktober dezember frühling frühjahr sommer herbst
    gestern vorgestern heute nacht stunden tagen woche wochen wochenende monat monate monaten
    quartal jahr jahre jahren jahres montag dienstag mittwoch donnerstag freitag samstag sonnabend
    sonntag weihnachten
    """
)
_SPANISH = _set(
    """
    enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre
    diciembre primavera verano otoño invierno ayer anteayer anoche hoy horas día días semana semanas
    mes meses trimestre año años lunes martes miércoles jueves viernes sábado domingo navidad
    """
)
_FRENCH = _set(
    """
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre printemps
    été automne hiver aujourd matin nuit heures jours semaine semaines mois trimestre ans année
    dernier dernière lundi mardi mercredi jeudi vendredi samedi dimanche noël
    """
)
# Words that another language has as well count as its own beside a small word of it.
_SHARED = {
    "german": (
        _set("april august september november winter") | _YEARS,
        _set("im seit vor nach bis ab am vom letzten vergangenen diesen anfang ende"),
    ),
    "spanish": (_YEARS, _set("en desde antes después hasta")),
    "french": (
        _set("hier an") | _YEARS,
        _set("le la les est que qu nous je il elle avons ai et pour sur en depuis avant après"),
    ),
}
_OWN = {"english": _ENGLISH, "german": _GERMAN, "spanish": _SPANISH, "french": _FRENCH}
_SIGNS = (
    "[昨今去曜季春夏秋冬周週年月天]|日前|先々?[週月]|四半期|星期|礼拜|おととい|きのう|きょう|ゆうべ"
)


def _languages(text: str) -> list[str]:
    """The languages in which a text may name a time; none for nearly every text."""
    words = re.findall(r"[^\W_]+", text.lower())
    spoken = [name for name, own in _OWN.items() if not own.isdisjoint(words)]
    for name, (shared, beside) in _SHARED.items():
        if name not in spoken and not (shared.isdisjoint(words) or beside.isdisjoint(words)):
            spoken.append(name)
    if not text.isascii() and re.search(_SIGNS, text):
        spoken += ["japanese"] if re.search("[ぁ-ヿ]", text) else ["chinese", "japanese"]
    return spoken
