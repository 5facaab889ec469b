"""Reads JSON that somebody else wrote: of limited depth, with numbers and texts that can be stored.

Python's reader takes any depth up to its own stack, whole numbers of thousands of digits and halves
of surrogate pairs. None of them can be stored, so each is refused here, with a reason in words.
"""

import json

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Json
from memory_mesh.typed import NoReturn

MAX_DEPTH = 64
_INTEGER = 2**63  # SQLite's whole numbers are smaller


class JsonFault(InvalidInput):
    """The text is not JSON that can be stored."""


def read(text: str | bytes) -> Json:
    """Returns the value that a JSON text holds; JsonFault says in words why there is none."""
    try:
        found: Json = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise JsonFault(f"it is nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:  # also a number of too many digits, and bytes that are not UTF-8
        raise JsonFault(_reason(error)) from None
    _check(found)
    return found


def _check(found: Json) -> None:
    """Refuses what no store takes, without recursion."""
    level: list[Json] = [found]
    for _ in range(MAX_DEPTH):
        following: list[Json] = []
        for value in level:
            if isinstance(value, dict):
                following += [*value, *value.values()]
            elif isinstance(value, list):
                following += value
            elif isinstance(value, str):
                _check_text(value)
            elif isinstance(value, int) and not -_INTEGER <= value < _INTEGER:
                raise JsonFault("it holds a whole number that needs more than 64 bits")
        level = following
        if not level:
            return
    raise JsonFault(f"it is nested more than {MAX_DEPTH} deep")


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise JsonFault("it holds half a surrogate pair, which is no character") from None


def _refuse_constant(word: str) -> NoReturn:
    raise JsonFault(f"{word} is no number of JSON")


def _reason(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    said = str(error)
    return "it holds a number of too many digits" if "integer string conversion" in said else said
