"""The English words of time, and what they stand for."""

from collections.abc import Mapping, Sequence

_NAMES = "january february march april may june july august september october november december"
_SHORT = "jan feb mar apr may jun jul aug sep oct nov dec"
_WEEK = "monday tuesday wednesday thursday friday saturday sunday"


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _numbered(names: str, first: int = 1) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


MONTHS = {**_numbered(_NAMES), **_numbered(_SHORT), "sept": 9}
CERTAIN = _set(
    "january february july september october november december"
)  # neither a verb nor a person's name
WEEKDAYS = {
    **_numbered(_WEEK, 0),
    "mon": 0,
    "tue": 1,
    "tues": 1,
    "wed": 2,
    "thu": 3,
    "thurs": 3,
    "fri": 4,
}
SEASONS = {
    "spring": "spring",
    "summer": "summer",
    "autumn": "autumn",
    "fall": "autumn",
    "winter": "winter",
}
NOT_A_SEASON = _set("""
    academy apart back beans behind bean boot break camp cleaning cloud coat data down dress
    festival for framework games house in integration internship into job mvc off olympics on out
    outside program rolls sale school security short term through time tires to under webflow within
    """)  # what follows it tells that "summer camp" and "spring boot" are no times of the year
ORDINALS = {
    **_numbered("first second third fourth fifth"),
    **_numbered("1st 2nd 3rd 4th 5th"),
}
UNITS = {
    "minute": "minute",
    "hour": "hour",
    "day": "day",
    "week": "week",
    "fortnight": "fortnight",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
}
UNITS |= {f"{unit}s": unit for unit in UNITS}
NUMBERS = _numbered(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
NUMBERS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
VAGUE = {"few": (2, 5), "several": (3, 8), "couple": (2, 3)}
PARTS_OF_DAY = _set("morning afternoon evening night noon lunchtime")
LAST = _set("last past previous")
THIS = _set("this current")
LEADS = _set("in during of on at over throughout around within since")
FEASTS: Mapping[Sequence[str], tuple[int, int, int]] = {
    ("christmas", "holidays"): (12, 20, 14),
    ("christmas", "break"): (12, 20, 14),
    ("christmas", "eve"): (12, 24, 1),
    ("christmas", "day"): (12, 25, 1),
    ("christmas",): (12, 24, 3),
    ("new", "year", "'", "s", "eve"): (12, 31, 1),
    ("new", "year", "'", "s", "day"): (1, 1, 1),
    ("halloween",): (10, 31, 1),
}  # month, day, how many days
COUNTED = _set("""
    bytes calls characters chars customers dollars entries errors eur euros events files items kb
    lines mb messages milliseconds ms orders people pieces pixels px queries records requests rows
    samples seconds steps times tokens units usd users words
    """)  # "after 2000 requests" is no year
HABITS = _set("""
    allowed always can do does each ever every if may must need never normally often shall should
    typically usually want whenever will
    """)
PAST = _set("did didn had happened has have was wasn went were weren been came said told made got")
