r"""What may be shown on a terminal: printable characters, spaces and line ends, nothing that acts.

Stored text comes from anywhere, and an escape sequence in it could move the cursor, rename the
window or hide words. Whatever is not plainly visible is shown as its code: `\x1b`, `\u202e`.
"""

import re
import unicodedata

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.formats.looks import as_seen

ESCAPE = "\\"
_plain = lazy_pattern(r"[\w.:/@#?=&%+~'-]{1,60}(?: [\w.'-]{1,60}){0,5}\Z")
_acting = lazy_pattern(  # sequences that a terminal obeys, also without their first sign
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\[[\d;]*m|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"
)
_PARTING = str.maketrans({
    "|": "/", "\u00a6": "/", "\u2223": "/", "\u2502": "/", "\u2503": "/", "\u01c0": "/",
    "\u00b7": ".", "\u2022": ".", "\u2027": ".", "\u2219": ".", "\u22c5": ".", "\u30fb": ".",
    ",": ";", '"': "'", "(": "[", ")": "]", "<": "[", ">": "]",
})  # fmt: skip

_TAB = "    "
_JOINERS = frozenset("\u200c\u200d")  # emoji families, Persian, Indic scripts
# Counted as printable, yet drawn as nothing: they hide text or split words that look whole.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_SELECTORS = ("\ufe00", "\ufe0d")  # variation selectors can smuggle bytes; emoji need the last two
_LINE_ENDS = dict.fromkeys(map(ord, "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
_MORE_SELECTORS = ("\U000e0100", "\U000e01ef")


def safe_text(text: str, *, keep_newlines: bool = True) -> str:
    """Returns the text with control characters made visible; idempotent."""
    text = text.replace("\r\n", "\n").replace("\t", _TAB)
    if not keep_newlines:
        text = text.replace("\n", " ")
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    shown: list[str] = []
    before = ""
    for char in text:
        shown.append(char if char == "\n" or _joins(char, before) else _visible(char))
        before = char
    return "".join(shown)


def without_hidden(text: str) -> str:
    """Returns the text without what is not plainly visible; any line end is a newline.

    A prompt takes it: a code in the place of each hidden character would still say what was hidden.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    text = text.replace("\t", _TAB).replace("\r\n", "\n").translate(_LINE_ENDS)
    shown: list[str] = []
    before = ""
    for char in text:
        if char == "\n" or _joins(char, before) or (char.isprintable() and not _hides(char)):
            shown.append(char)
        elif char.isspace():
            shown.append(" ")
        before = char
    return "".join(shown)


def _joins(char: str, before: str) -> bool:
    """True for a joiner after a non-ASCII letter or an emoji, where scripts need it."""
    return char in _JOINERS and not before.isascii() and before.isprintable()


def _visible(char: str) -> str:
    """Returns the character, a plain space for any space, or the code of an invisible one."""
    if char.isprintable() and not _hides(char):
        return char
    if char.isspace() and char > "\x9f" and char not in "\u2028\u2029":
        return " "
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - the widths of Python's own escapes
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def _hides(char: str) -> bool:
    """True for characters that are printable by category but invisible."""
    return (
        char in _INVISIBLE
        or _SELECTORS[0] <= char <= _SELECTORS[1]
        or _MORE_SELECTORS[0] <= char <= _MORE_SELECTORS[1]
    )


# Keeps what is stored from passing for what a format says itself.
#
# A line of a text that looks like a line of the format gets a backslash in front of it. A name, a
# type or a source stands in a line of ours: what is more than a plain word there is quoted, without
# the signs that part the fields of such a line. Looks are what counts: hidden characters and
# letters
# that only look alike help nobody, nor do control characters before or inside of a line.


def escaped(text: str, ours: re.Pattern[str]) -> str:
    """Returns the text with a backslash before each line that looks like one of ours.

    `ours` is matched against the beginning of `looks`; every kind of line end ends a line.
    """
    return "".join(
        ESCAPE + line if imitates(line, ours) else line for line in text.splitlines(keepends=True)
    )


def imitates(line: str, ours: re.Pattern[str]) -> bool:
    """True if the line looks like one of ours, as a whole or after what a terminal obeys."""
    if ours.match(looks(line)):
        return True
    parts = _acting().split(line)
    return len(parts) > 1 and any(ours.match(looks(part)) for part in ("".join(parts), *parts))


def looks(line: str) -> str:
    """Returns what a reader makes of a line: small letters, single spaces, no marks before them."""
    seen = as_seen(line).casefold()
    if not seen.isascii():
        seen = "".join(["-" if unicodedata.category(char) == "Pd" else char for char in seen])
    start = next((at for at, char in enumerate(seen) if char.isalnum()), len(seen))
    return " ".join(seen[start:].split())


def word(text: str, most: int = 60) -> str:
    """Returns a name for a line of ours: as it is if it is plain words, else quoted."""
    line = " ".join(without_hidden(text).split())
    if _plain().match(line) and "trust" not in looks(line):
        return line[:most]
    return f'"{unicodedata.normalize("NFKC", line).translate(_PARTING)[:most]}"'
