"""Reads a pattern: lowercase, trimmed, taken apart at its pipes, each part in one form.

::

    auth|login|security                 three plain parts
    exploring|navigate|find.*file       two plain parts and a regular expression
    implement *auth                     a wildcard: a bare * is anything
    When implementing security          words: one key word, `secur`

A part is a regular expression where it has signs that plain language has not. One that RE2 refuses
is read as plain text.
"""

import re
from functools import lru_cache

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model.trigger import Form
from memory_mesh.policy.text import analyze
from memory_mesh.policy.triggers import regex, words

KNOWN_PATTERNS = 32_768  # patterns whose reading is remembered
MAX_PARTS = 50  # alternatives of a pattern; what follows is not read
MAX_CHARS = 1_000  # of a pattern; what follows is not read
_CLOSERS = ")]}."  # after these a * repeats, it does not stand for anything
_ESCAPED = re.compile(r"\\[pP]\{?\^?\w+\}?|\\.", re.DOTALL)
_SIGNS = re.compile(
    r"""
    \\[^\s]                          # an escape: \b, \d, \.
  | [.)\]][*+?{]                     # a repeated dot, group or class
  | \*                               # anything
  | \w\{\d+(?:,\d*)?\}               # counted
  | \w\?\w | ^\S*\w\?$               # optional; at the end of a sentence it asks
  | \w\.\w                           # any one character
  | \(\?[:imsUP=!<>] | \([^()|]*+\|[^()]*+\)  # groups
  | \w\[[^\[\]]++\] | \[[^\[\]]++\]\w | \[(?=[^\[\]]*+\])[^\[\]]*?(?:\w-\w|\^)
  | ^\^ | \$$
    """,
    re.VERBOSE,
)
_NESTING = frozenset("\\([")
_ONLY_STARS = re.compile(r"[^\\.\[\](){}+?^$]*")


@dataclass(frozen=True, slots=True)
class Part:
    """One alternative of a pattern."""

    text: str
    form: Form
    keys: tuple[str, ...] = ()  # the stems of its key words
    source: str | None = None  # of what looks like a regular expression
    needed: str = ""  # letters that stand in every text which it meets


@lru_cache(maxsize=KNOWN_PATTERNS)
def read(pattern: str) -> tuple[Part, ...]:
    """Returns the parts of a pattern; empty ones are left out."""
    found = [piece.strip() for piece in split(lowered(pattern[:MAX_CHARS]))]
    alone = len(found) == 1
    return tuple(_part(text, alone=alone) for text in found if text)[:MAX_PARTS]


def lowered(pattern: str) -> str:
    r"""Returns the pattern trimmed and in lower case, but for escapes: \S is not \s."""
    kept, done = [], 0
    text = pattern.strip()
    for escape in _ESCAPED.finditer(text):
        kept += [text[done : escape.start()].lower(), escape[0]]
        done = escape.end()
    return "".join([*kept, text[done:].lower()])


def split(pattern: str) -> list[str]:
    """Splits at the pipes that stand in no group, class or escape."""
    if "|" not in pattern or _NESTING.isdisjoint(pattern):
        return pattern.split("|")
    parts, depth, inside, escaped = [""], 0, False, False
    closes = pattern.count("]")
    for char in pattern:
        if escaped or char == "\\":
            escaped = not escaped
        elif inside:
            inside = char != "]"
        elif char == "[" and closes:
            inside = True
        elif char in "()":
            depth = max(0, depth + (1 if char == "(" else -1))
        elif char == "|" and not depth:
            parts.append("")
            continue
        closes -= char == "]"
        parts[-1] += char
    return parts if not (depth or inside) else pattern.split("|")


def is_regex(text: str) -> bool:
    """True if the text has signs of a regular expression or a wildcard."""
    return _SIGNS.search(text) is not None


def source_of(text: str) -> str:
    """Returns the regular expression of a part: a bare * becomes .*, and so does **.

    `te?t` means both an optional letter and any one character, as in a file name.
    """
    made, escaped = "", False
    for char in text:
        bare = char == "*" and not escaped and (not made or made[-1] not in _CLOSERS)
        if bare and not made.endswith(".*") and not _ends_in_escape(made):
            made += ".*"
        elif not (char == "*" and made.endswith(".*")):
            made += char
        escaped = char == "\\" and not escaped
    return re.sub(r"(?<=[a-z0-9])\?(?=[a-z0-9])", "?.?", made)


def _part(text: str, *, alone: bool) -> Part:
    if is_regex(text):
        source = source_of(text)
        form = Form.WILDCARD if _ONLY_STARS.fullmatch(text) else Form.REGEX
        return Part(text, form, source=source, needed=regex.needed(source))
    natural = alone and " " in text
    keys = words.keys(text) if natural else tuple(analyze.query_terms(text))
    return Part(text, Form.WORDS if natural else Form.PLAIN, keys)


def _ends_in_escape(made: str) -> bool:
    r"""True after `\w`: a star there repeats."""
    return re.search(r"(?<!\\)(?:\\\\)*\\[^\\]$", made) is not None
