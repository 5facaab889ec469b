r"""Keeps what is stored from passing for what a format says itself.

A line of a text that looks like a line of the format gets a backslash in front of it. A name, a
type or a source stands in a line of ours: what is more than a plain word there is quoted, without
the signs that part the fields of such a line. Looks are what counts: hidden characters and letters
that only look alike help nobody, nor do control characters before or inside of a line.
"""

import re
import unicodedata

from memory_mesh.formats.looks import as_seen
from memory_mesh.formats.terminal import without_hidden

ESCAPE = "\\"
_PLAIN = re.compile(r"[\w.:/@#?=&%+~'-]{1,60}(?: [\w.'-]{1,60}){0,5}\Z")
_ACTING = re.compile(  # sequences that a terminal obeys, also without their first sign
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\[[\d;]*m|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"
)
_PARTING = str.maketrans({
    "|": "/", "\u00a6": "/", "\u2223": "/", "\u2502": "/", "\u2503": "/", "\u01c0": "/",
    "\u00b7": ".", "\u2022": ".", "\u2027": ".", "\u2219": ".", "\u22c5": ".", "\u30fb": ".",
    ",": ";", '"': "'", "(": "[", ")": "]", "<": "[", ">": "]",
})  # fmt: skip


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
    parts = _ACTING.split(line)
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
    if _PLAIN.match(line) and "trust" not in looks(line):
        return line[:most]
    return f'"{unicodedata.normalize("NFKC", line).translate(_PARTING)[:most]}"'
