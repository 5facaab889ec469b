"""How wide a text is drawn at most, without a font at hand.

The widths are those of DejaVu Sans and Verdana, the widest of the usual fonts. They are in em, the
size of the font.
"""

import unicodedata

_WIDTHS = (
    dict.fromkeys("ijl'|", 0.3)
    | dict.fromkeys(" .,ft!r", 0.43)
    | dict.fromkeys('I:;()[]/\\-"', 0.47)
    | dict.fromkeys("scvxyzkJ?*_", 0.6)
    | dict.fromkeys("BCEFKLPRSTXYZA", 0.7)
    | dict.fromkeys("w+<>=~^#&", 0.85)
    | dict.fromkeys("mMW@%", 1.08)
    | {" ": 0.36}
)
_SMALL, _CAPITAL, _ANY, _SQUARE = 0.64, 0.8, 0.76, 1.1


def width(text: str) -> float:
    """Returns the width of a text in em."""
    return sum(map(_of, text))


def wrapped(text: str, widest: float, lines: int) -> list[str]:
    """Returns the first words of a text in at most so many lines, the last one cut with a mark."""
    rows: list[str] = []
    rest = text
    while rest and len(rows) < lines:
        row, rest = _row(rest, widest)
        rows.append(row)
    if rest:
        rows[-1] = _marked(rows[-1], widest)
    return rows


def _row(text: str, widest: float) -> tuple[str, str]:
    """Splits what fits off a text, after a word where one ends in the second half."""
    fits = _fitting(text, widest)
    if fits == len(text):
        return text, ""
    space = text.rfind(" ", 0, fits + 1)
    if space * 2 >= fits:
        return text[:space], text[space + 1 :]
    return text[:fits], text[fits:].lstrip()


def _marked(row: str, widest: float) -> str:
    """Returns the row with a mark that says that it goes on."""
    fits = _fitting(row, widest - _SQUARE)
    space = row.rfind(" ", 0, fits + 1)
    end = space if fits < len(row) and space * 2 >= fits else fits
    return row[:end].rstrip(" ,;:.-") + "…"


def _fitting(text: str, widest: float) -> int:
    """Returns how many characters fit, at least one."""
    used = 0.0
    for place, char in enumerate(text):
        used += _of(char)
        if used > widest:
            return max(place, 1)
    return len(text)


def _of(char: str) -> float:
    if char.isascii():
        return _WIDTHS.get(char, _CAPITAL if char.isupper() else _SMALL)
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or not char.isalpha():
        return _SQUARE
    return _CAPITAL if char.isupper() else _ANY
