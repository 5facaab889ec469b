"""Compares two claims about the same subject and predicate."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import TypeVar
from memory_mesh.model import (
    Cardinality,
    Claim,
    ConflictPolicy,
    DedupPolicy,
    InvalidInput,
    PredicateSchema,
)
from memory_mesh.model.errors import shown
from memory_mesh.text.claim_keys import ANYTHING, keyed, stated

_CODES = ("USD", "EUR", "GBP", "JPY", "CAD", "AUD", "INR")
_SIGNS = {
    "us$": "USD",
    "ca$": "CAD",
    "c$": "CAD",
    "au$": "AUD",
    "a$": "AUD",
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "canadian dollars": "CAD",
    "australian dollars": "AUD",
    "us dollars": "USD",
    "dollars": "USD",
    "dollar": "USD",
    "euros": "EUR",
    "euro": "EUR",
    "pounds": "GBP",
    "pound": "GBP",
    "yen": "JPY",
    "rupees": "INR",
    "rupee": "INR",
} | {code.lower(): code for code in _CODES}
_POWERS = {"k": 3, "thousand": 3, "m": 6, "million": 6, "bn": 9, "billion": 9}
_LONGEST_AMOUNT = 64
_GROUP = 3  # digits between two separators of thousands
_NOT = "not "
_QUOTES = "'\"`\u201c\u201d\u2018\u2019"
_ARTICLES = frozenset(("a", "an", "the"))
_KINDS = (
    "ms millisecond s sec second min minute h hr hour day week month year",
    "b byte kb mb gb tb kib mib gib tib",
    "mm cm m meter metre km kilometer kilometre mile foot feet inch",
    "g gram kg kilo kilogram lb pound ton tonne",
)
_MEASURES = {unit: kind for kind in _KINDS for unit in kind.split()}  # told in each other


_HOURS = frozenset(("noon", "midnight", "morning", "afternoon", "evening", "night"))
_figure = lazy_pattern(r"[-$€£~<>]?\d[\d.,:]*[a-zA-Z%°]{0,3}(?: |$)")
_address = lazy_pattern(r"://|@")
_CLOCK = r"\d{1,2}[:.h]\d\d|\d ?(?:am|pm|o'clock)\b|^\d{1,2}(?:st|nd|rd|th)\b"


class ClaimRelation(StrEnum):
    """How a new claim relates to a known one."""

    SAME = "same"
    CONFLICT = "conflict"
    BESIDE = "beside"
    UNSURE = "unsure"


def compare(new: Claim, old: Claim, *, normalize: str = "none") -> ClaimRelation:
    """Returns how a new claim relates to an old one with the same subject and predicate.

    ======================================================  ===================================
    equal values                                            SAME
    a value the newcomer says it replaces                   CONFLICT
    the newcomer tells of a change, values of one kind      CONFLICT
    a caller says either is one of many                     BESIDE
    the newcomer says that it is not so                     CONFLICT
    the old one says what is not, the newcomer that it is   CONFLICT, or UNSURE if either is
    one says what is not, the other something else          BESIDE
    the old is one of many, the newcomer says "now"         UNSURE
    either is one of many                                   BESIDE
    values of different kinds: "Tom", "vegetarian"          BESIDE
    the newcomer is only vaguer                             UNSURE
    they count different things: "3 projects", "10 users"   UNSURE
    either is not certain, and they are no times or counts  UNSURE
    two values                                              CONFLICT
    ======================================================  ===================================
    """
    loose = new.read or old.read
    new_denies, new_value = _said(new, normalize, loose=loose)
    old_denies, old_value = _said(old, normalize, loose=loose)
    if new_value == old_value and new_denies == old_denies:
        return ClaimRelation.SAME
    if not old_denies and _is_replaced(new, old, new_value, old_value):
        return ClaimRelation.CONFLICT
    if not _open(new) or not _open(old):
        return ClaimRelation.BESIDE
    doubt = not (new.certain and old.certain)
    if new_denies or old_denies:
        if new_value != old_value:
            return ClaimRelation.BESIDE
        return ClaimRelation.UNSURE if doubt and not new_denies else ClaimRelation.CONFLICT
    if not (new.exclusive and old.exclusive):
        return ClaimRelation.UNSURE if new.exclusive else ClaimRelation.BESIDE
    if loose and not _of_one_kind(new.value, old.value):
        return ClaimRelation.BESIDE
    vague = loose and (_vaguer(new_value, old_value) or _apart(new_value, old_value))
    if doubt and new.predicate != "is":  # the same words before two times or two counts
        doubt = not (_kind(new_value) == _kind(old_value) in {"time", "amount"})
    return ClaimRelation.UNSURE if vague or doubt else ClaimRelation.CONFLICT


def _open(claim: Claim) -> bool:
    """True if the claim can conflict; a caller may state that it is one of many."""
    return claim.exclusive or claim.read


def _said(claim: Claim, normalize: str, *, loose: bool) -> tuple[bool, str]:
    """Returns whether the claim is a denial, and its value."""
    denies = claim.value[: len(_NOT)].casefold() == _NOT
    value = claim.value[len(_NOT) :] if denies else claim.value
    plain = normalised(value, normalize)
    return denies, _plain(plain) if loose else plain


def _plain(value: str) -> str:
    """Returns a value without quotes, leading article and, if it is only words, capitals.

    Signs stay: `-5` is not `5`, and a code with digits means its capitals.
    """
    words = value.strip().strip(_QUOTES).removesuffix(".").split()
    if len(words) > 1 and words[0].casefold() in _ARTICLES:
        del words[0]
    text = " ".join(words)
    return text if any(map(str.isdigit, text)) else text.casefold()


def _is_replaced(new: Claim, old: Claim, new_value: str, old_value: str) -> bool:
    """True if the newcomer names the old value, or tells of a change to a value of its kind."""
    if new.replaces == ANYTHING:
        one_kind = _of_one_kind(new.value, old.value) and not _apart(new_value, old_value)
        return old.exclusive and one_kind
    return new.replaces is not None and _plain(new.replaces) == _plain(old.value)


def _of_one_kind(new: str, old: str) -> bool:
    """True if both values are times, or both figures, or both names, or both plain words."""
    return _sort(new) == _sort(old) or _kind(new) == _kind(old) == "time"


def _sort(value: str) -> str:
    """What a value looks like: a figure, a name or plain words."""
    from memory_mesh.write.claims.sentences import identifying  # with the first text that is read

    parts = value.split()
    if _figure().match(value):
        return "figure"
    word = (
        len(parts) == 1 and value.islower() and value[0].isalpha() and not _address().search(value)
    )
    return "words" if word or not identifying(parts) else "name"


def _kind(value: str) -> str:
    """Returns what a value is: a time, a day of every week, a number, an amount or a name."""
    from memory_mesh.write.claims import word_lists  # loaded with the first text that is read

    lower = value.casefold()
    parts = [part.strip(".") for part in lower.replace(",", " ").split()]
    if any(part.endswith("days") and part[:-1] in word_lists.TIMES for part in parts):
        return "weekly"  # there may be another one
    if re.search(_CLOCK, lower) or not (word_lists.TIMES | _HOURS).isdisjoint(parts):
        return "time"
    if not parts or not parts[0].lstrip("$€£~<>")[:1].isdigit():
        return "name" if parts else ""
    return "number" if lower.isdecimal() else "amount"


def _vaguer(new: str, old: str) -> bool:
    """True if the new value is less specific: `Postgres` after `Postgres 16`."""
    said, known = (set(value.casefold().replace(",", " ").split()) for value in (new, old))
    return said < known


def _apart(new: str, old: str) -> bool:
    """True if both values count something, but different things."""
    one, other = _unit(new), _unit(old)
    return "" not in {one, other} and _MEASURES.get(one, one) != _MEASURES.get(other, other)


def _unit(value: str) -> str:
    """Returns the unit of a value: `MB` of `10 MB`; empty if there is none."""
    number, _, rest = value.partition(" ")
    if not rest or not number.replace(".", "").replace(",", "").isdecimal():
        return ""
    word = rest.split()[0]
    unit = word.casefold()
    if len(unit) > 1:
        unit = unit.removesuffix("s") if unit != "ms" else unit
    named = not (word.isalpha() and word.islower())  # `12 Elm Street`
    return "" if named and unit not in _MEASURES else unit


# Normalises values, so that two spellings of one value are equal (003 2).


def normalised(value: str, how: str) -> str:
    """Applies the named normalizer; InvalidInput lists the normalizers."""
    try:
        return NORMALIZERS[how](value)
    except KeyError:
        known = ", ".join(NORMALIZERS)
        raise InvalidInput(f"normalize must be one of: {known}; not {how!r}") from None


def _currency(value: str) -> str:
    """Returns an amount as `USD 1234.5`; a value that is not an amount is only trimmed."""
    text = value.strip()
    if len(text) > _LONGEST_AMOUNT:
        return text
    code, amount = _code(text.casefold())
    number = _number(amount)
    return f"{code} {number}" if code and number else text


def _code(text: str) -> tuple[str, str]:
    """Splits an amount into its currency and its number."""
    sign, text = ("-", text[1:].lstrip()) if text.startswith("-") else ("", text)
    for mark, code in _SIGNS.items():
        if text.startswith(mark):
            return code, sign + text.removeprefix(mark).strip()
        if text.endswith(mark):
            return code, sign + text.removesuffix(mark).strip()
    return "", text


def _number(text: str) -> str:
    """Returns a decimal without separators and superfluous zeros; empty if it is not a number."""
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(digits) :].strip()
    if unit and unit not in _POWERS:
        return ""
    whole, fraction = _parts(digits)
    if not (whole + fraction).isdecimal() or not (whole + fraction).isascii():
        return ""
    power = _POWERS.get(unit, 0)
    fraction = fraction.ljust(power, "0")
    whole, fraction = (whole + fraction[:power]).lstrip("0") or "0", fraction[power:].rstrip("0")
    number = f"{whole}.{fraction}" if fraction else whole
    return number if number == "0" else sign + number


def _parts(digits: str) -> tuple[str, str]:
    """Splits a number at its decimal sign: the last of `.` and `,` if both occur."""
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma < 0 and digits.count(".") < 2:  # noqa: PLR2004  # one point is the decimal sign
        whole, _, fraction = digits.partition(".")
        return whole.replace(" ", ""), fraction
    decimal = max(comma, point)
    thousands = min(comma, point) < 0 and len(digits) - decimal - 1 == _GROUP
    if thousands:
        return "".join(sign for sign in digits if sign not in ",. "), ""
    whole, fraction = digits[:decimal], digits[decimal + 1 :]
    return "".join(sign for sign in whole if sign not in ",. "), fraction


NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "none": str,
    "trim": str.strip,
    "lowercase": str.lower,
    "lowercase_trim": lambda value: value.lower().strip(),
    "currency": _currency,
}


# The schemas of predicates that callers register.


Member = TypeVar("Member", bound=StrEnum)
_SPELLINGS = {"conflictPolicy": "conflict_policy", "dedupPolicy": "dedup_policy"}
_FIELDS = ("cardinality", "conflict_policy", "normalize", "dedup_policy")


def schema_of(name: str, given: PredicateSchema | Mapping[str, str]) -> PredicateSchema:
    """Builds a schema from a mapping (snake_case or camelCase); InvalidInput says what is wrong."""
    if isinstance(given, PredicateSchema):
        return given
    said = {_SPELLINGS.get(key, key): value for key, value in given.items()}
    unknown = said.keys() - set(_FIELDS)
    if unknown:
        raise InvalidInput(
            f"the predicate {name!r}: unknown field {min(unknown)!r}; the fields are: {_FIELDS}"
        )
    normalize = said.get("normalize", "none")
    if normalize not in NORMALIZERS:
        raise InvalidInput(f"normalize of {name!r} must be one of: {', '.join(NORMALIZERS)}")
    return PredicateSchema(
        cardinality=_member(name, Cardinality, said.get("cardinality", "single")),
        conflict_policy=_member(name, ConflictPolicy, said.get("conflict_policy", "supersede")),
        normalize=normalize,
        dedup_policy=_member(name, DedupPolicy, said.get("dedup_policy", "corroborate")),
    )


def predicate_key(name: str) -> str:
    """Returns the key under which a predicate's schema is looked up."""
    return keyed(stated("x", name, "x")).predicate


def _member(name: str, kind: type[Member], value: str) -> Member:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(
            f"the predicate {name!r}: {shown(value)} must be one of: {', '.join(kind)}"
        ) from None
