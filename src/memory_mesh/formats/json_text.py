"""Reads JSON that somebody else wrote: of limited depth, with numbers and texts that can be stored.

Python's reader takes any depth up to its own stack, whole numbers of thousands of digits and halves
of surrogate pairs. None of them can be stored, so each is refused here, with a reason in words.
"""

import json

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.model import Json
from memory_mesh.typed import NoReturn

MAX_DEPTH = 64
_INTEGER = 2**63  # SQLite's whole numbers are smaller


class JsonFault(InvalidInput):
    """The text is not JSON that can be stored."""


class HugeNumber(JsonFault):
    """The text is JSON, with a number that cannot be stored."""


def read(text: str | bytes) -> Json:
    """Returns the value that a JSON text holds; JsonFault says in words why there is none."""
    try:
        found: Json = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise JsonFault(f"it is nested more than {MAX_DEPTH} deep") from None
    except ValueError as error:  # also bytes that are not UTF-8
        if "integer string conversion" in str(error):
            raise HugeNumber("it holds a number of too many digits") from None
        raise JsonFault(_reason(error)) from None
    _check(found)
    return found


def _check(found: Json) -> None:
    """Refuses what no store takes, without recursion."""
    level: list[tuple[str, Json]] = [("it", found)]
    for _ in range(MAX_DEPTH):
        following: list[tuple[str, Json]] = []
        for name, value in level:
            if isinstance(value, dict):
                following += [("a name", key) for key in value]
                following += value.items()
            elif isinstance(value, list):
                following += [(name, item) for item in value]
            elif isinstance(value, str):
                _check_text(value)
            elif isinstance(value, int) and not -_INTEGER <= value < _INTEGER:
                raise HugeNumber(f"{shown(name)} is a whole number of more than 64 bits")
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
    return str(error)
