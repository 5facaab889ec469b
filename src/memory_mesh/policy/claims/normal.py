"""Normalises values, so that two spellings of one value are equal (003 §2)."""

from collections.abc import Callable, Mapping

from memory_mesh.errors import InvalidInput

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
