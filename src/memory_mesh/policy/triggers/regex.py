"""Regular expressions of triggers: RE2, and never more work than a hundredth of a second allows.

RE2 needs a time that grows with the text and with the size of the expression. Patterns may come
from a language model or a stranger's repository, so both are limited: an expression of more than
`MAX_SIZE` instructions is refused, and a larger one reads less of a long text.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from memory_mesh.policy.privacy.rule import Finder
from memory_mesh.typed import Protocol

COMPILED = 512  # expressions that are kept ready
MAX_SIZE = 400  # instructions of an expression; `implement.*auth` has 34
WORK = 4_000_000  # characters times instructions that one search may take
_FIRST_MEMORY = 1 << 17  # bytes: an expression that does not compile in them is too large
_MEMORY = 1 << 19
_TRIES = 4  # matches that are looked at for the best one
_HINTS = {
    "(?=": "RE2 has no lookahead",
    "(?!": "RE2 has no lookahead",
    "(?<": "RE2 has no lookbehind",
    "(?>": "RE2 has no atomic groups",
}


class _Sized(Finder, Protocol):
    """A compiled expression that knows its size."""

    @property
    def programsize(self) -> int:
        """Its number of instructions."""


def spans(source: str, text: str) -> Iterator[tuple[int, int]]:
    """Yields where an expression meets a text, the first few places; one with a fault nowhere."""
    made = compiled(source)
    if isinstance(made, str):
        return
    read = text[: WORK // max(1, made.programsize)]
    yield from (met.span() for met in islice(made.finditer(read), _TRIES))


@lru_cache(maxsize=COMPILED)
def compiled(source: str) -> "_Sized | str":
    """Returns the compiled expression, or why there is none."""
    import re2  # type: ignore[import-untyped]  # it ships none

    options = re2.Options()
    options.log_errors, options.case_sensitive = False, False
    options.dot_nl = options.never_capture = True
    options.max_mem = _FIRST_MEMORY
    try:
        re2.compile(source, options=options)
        options.max_mem = _MEMORY
        made: _Sized = re2.compile(source, options=options)
    except re2.error as error:
        return _reason(source, error.args[0])
    if made.programsize > MAX_SIZE:
        return "it is too large; use fewer or smaller repetitions"
    return made


def fault(source: str) -> str | None:
    """Returns why an expression cannot be used, in words; None if it can."""
    made = compiled(source)
    return made if isinstance(made, str) else None


def meets_everything(source: str) -> bool:
    """True if the expression meets even an empty text."""
    return any(True for _ in spans(source, ""))


def needed(source: str) -> str:
    """Returns the longest run of letters that every match holds; empty if none is certain."""
    runs, depth, position = [""], 0, 0
    while position < len(source):
        char, after = source[position], source[position + 1 : position + 2]
        position += 1
        if char == "\\":
            position = _after_escape(source, position)
        elif char == "[":
            position = _after_class(source, position)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif depth == 0 and (char.isalnum() or char in " _-/@#") and after not in {"*", "?", "{"}:
            runs[-1] += char
            continue
        elif char == "{":
            position = source.find("}", position) + 1 or len(source)
        runs.append("")
    return max(runs, key=len)


def _after_escape(source: str, position: int) -> int:
    if source[position : position + 2] in {"p{", "P{", "x{"}:
        return source.find("}", position) + 1 or len(source)
    return position + 1


def _after_class(source: str, position: int) -> int:
    """The position behind a class that was just opened; ] in the first place belongs to it."""
    if source[position : position + 1] == "^":
        position += 1
    end = position + 1
    while end < len(source) and source[end] != "]":
        end += 2 if source[end] == "\\" else 1
    return end + 1


def _reason(source: str, given: object) -> str:
    for sign, hint in _HINTS.items():
        if sign in source:
            return hint
    if any(f"\\{digit}" in source for digit in "123456789"):
        return "RE2 has no backreferences"
    said = given.decode(errors="replace") if isinstance(given, bytes) else str(given)
    if "too large" in said or "repetition size" in said:
        return "it is too large; use fewer or smaller repetitions"
    return said
