"""Write formats/_look_alikes.py: letters that look like one of a to z, from Unicode's own list.

The list is the file `confusables.json` of the package confusable_homoglyphs, which holds Unicode's
confusables.txt (UTS 39). It is only needed to write the table anew::

    pip download --no-deps confusable_homoglyphs && unzip confusable_homoglyphs-*.whl
    python tools/look_alikes.py confusable_homoglyphs/confusables.json

Not taken: what NFKC makes plain anyway (wide and mathematical letters), letters that are written
from right to left, and letters that look like two. Added: small capitals, and letters in a filled
circle or square, and the f with a hook. `NEARLY` holds letters of which only the other case is in
the list, and `BEFORE_NFKC` those that NFKC turns into a letter of another look.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "src/memory_mesh/formats/_look_alikes.py"
DRAWN = re.compile(
    r"(?:LATIN LETTER SMALL CAPITAL|NEGATIVE (?:CIRCLED|SQUARED) LATIN CAPITAL LETTER) ([A-Z])"
)
ADDED = {"\u0192": "f"}  # Unicode's list has it as an f with a comma below
RIGHT_TO_LEFT = ("R", "AL", "AN")
ONE_AND_L = "l"  # Unicode's list takes I, l, 1 and | for one letter
SEEN_AS = {ONE_AND_L: "i"}
WIDTH = 96


def main(arguments: list[str]) -> int:
    """Read the list and write the table."""
    if len(arguments) != 1:
        print("usage: python tools/look_alikes.py CONFUSABLES_JSON", file=sys.stderr)
        return 2
    listed = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    looks, nearly = tables(listed)
    lines = [
        '"""Letters that look like those of ASCII. Written by tools/look_alikes.py."""',
        "",
        *_source("LOOK_ALIKES", looks),
        *_source("NEARLY", nearly),
        *_source("BEFORE_NFKC", changed(listed, nearly | looks)),
    ]
    TABLE.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return 0


def tables(listed: dict[str, list[dict[str, str]]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return which ASCII letter each letter looks like, and which its other case looks like."""
    found = {char: letter for char, letter in _listed(listed) if _is_asked(char)} | ADDED
    for code in range(0x80, 0x110000):
        drawn = DRAWN.fullmatch(unicodedata.name(chr(code), ""))
        if drawn is not None and _is_asked(chr(code)):
            found[chr(code)] = drawn[1].lower()
    for char, letter in found.items():
        if letter == ONE_AND_L and found.get(char.lower()) == "i":
            found[char] = "i"
    nearly = {
        other: letter
        for char, letter in found.items()
        for other in (char.lower(), char.upper())
        if len(other) == 1 and other not in found and _is_asked(other)
    }
    return _cased(found), _cased(nearly)


def changed(listed: dict[str, list[dict[str, str]]], known: dict[str, str]) -> dict[str, str]:
    """Return the listed letters whose NFKC form does not look like the same ASCII letter."""
    found: dict[str, str] = {}
    for char, letter in _listed(listed):
        normal = unicodedata.normalize("NFKC", char)
        seen = known.get(normal, "").lower()
        if normal != char and not normal.isascii() and seen not in (letter, SEEN_AS.get(letter)):
            found[char] = letter
    return _cased({char: letter for char, letter in found.items() if _is_visible(char)})


def _cased(found: dict[str, str]) -> dict[str, str]:
    return {
        char: letter.upper() if char.isupper() else letter for char, letter in sorted(found.items())
    }


def _source(name: str, found: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a table: what looks like each letter."""
    yield f"{name} = {{"
    for letter in sorted(set(found.values())):
        codes = [_escaped(char) for char, looks in found.items() if looks == letter]
        yield from (f'    "{letter}": (', *_rows(codes), "    ),")
    yield "}"


def _listed(listed: dict[str, list[dict[str, str]]]) -> Iterator[tuple[str, str]]:
    for char, others in listed.items():
        letters = [other["c"].lower() for other in others if _is_letter(other["c"])]
        if len(char) == 1 and letters:
            yield char, letters[0]


def _is_letter(char: str) -> bool:
    return len(char) == 1 and char.isascii() and char.isalpha()


def _is_asked(char: str) -> bool:
    """True for a visible character that only its looks make an ASCII letter."""
    if char.isascii() or unicodedata.normalize("NFKC", char) != char:
        return False
    return _is_visible(char)


def _is_visible(char: str) -> bool:
    if unicodedata.bidirectional(char) in RIGHT_TO_LEFT:
        return False
    category = unicodedata.category(char)
    return category[0] in "LS" or category == "No"


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _rows(codes: list[str]) -> Iterator[str]:
    row = ""
    for code in codes:
        if len(row) + len(code) > WIDTH - 12:
            yield f'        "{row}"'
            row = ""
        row += code
    yield f'        "{row}"'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
