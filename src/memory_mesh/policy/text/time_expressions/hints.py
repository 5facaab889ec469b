"""Words and signs without which no text names a time, so that nothing more is looked at."""

import re


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


def languages(text: str) -> list[str]:
    """The languages in which a text may name a time; none for nearly every text."""
    words = re.findall(r"[^\W_]+", text.lower())
    spoken = [name for name, own in _OWN.items() if not own.isdisjoint(words)]
    for name, (shared, beside) in _SHARED.items():
        if name not in spoken and not (shared.isdisjoint(words) or beside.isdisjoint(words)):
            spoken.append(name)
    if not text.isascii() and re.search(_SIGNS, text):
        spoken += ["japanese"] if re.search("[ぁ-ヿ]", text) else ["chinese", "japanese"]
    return spoken
