"""Reads JSON that somebody else wrote: of limited depth, with numbers and texts that can be stored.

Python's reader takes any depth up to its own stack, whole numbers of thousands of digits and halves
of surrogate pairs. None of them can be stored, so each is refused here, with a reason in words.
"""

import json
import re
from collections.abc import Sequence

from memory_mesh.base.typed import NoReturn, dataclass
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput, shown

_DECODER = json.JSONDecoder()
_MARK = "\ufeff"
_STEP = re.compile(r"\n([ \t]+)\S")
_DEFAULT_STEP = "  "

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
    return "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


# Changes single members of a JSON object in its text, and keeps every other byte as it was.
#
# Settings files belong to people: reading one and writing it anew would reorder, re-indent and
# re-escape what they wrote. Only the text of the member itself is replaced, added or removed.


@dataclass(frozen=True, slots=True)
class _Member:
    """Where one member of an object stands in the text."""

    name: str
    start: int
    value: int
    end: int


@dataclass(frozen=True, slots=True)
class _Object:
    """Where an object and its members stand in the text."""

    start: int
    end: int  # of its closing brace
    members: tuple[_Member, ...]

    def named(self, name: str) -> _Member | None:
        """Returns the member that counts: the last one of this name."""
        return next((each for each in reversed(self.members) if each.name == name), None)


def read_object(text: str) -> dict[str, Json]:
    """Returns the object that the text holds; InvalidInput says where it is not valid."""
    body = text.removeprefix(_MARK)
    if not body.strip():
        return {}
    try:
        value = json.loads(body)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise InvalidInput("its values are nested too deeply") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"it holds {type(value).__name__}, not an object in braces")
    return value


def value_at(text: str, path: Sequence[str]) -> tuple[Json] | None:
    """Returns the value at a path of names, in a tuple; None if there is none."""
    value: Json = read_object(text)
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return None
        value = value[name]
    return (value,)


def with_member(text: str, path: Sequence[str], *, value: Json) -> str:
    """Returns the text with this value at a path of names; missing objects on the way are added."""
    read_object(text)
    if not text.removeprefix(_MARK).strip():
        text = f"{text}{{}}\n"
    here = _object(text, len(text) - len(text.removeprefix(_MARK)))
    for depth, name in enumerate(path):
        found, last = here.named(name), depth == len(path) - 1
        if found is None:
            return _added(text, here, depth, name, _nested(path[depth + 1 :], value))
        if last:
            return text[: found.value] + _dumped(value, text, depth + 1) + text[found.end :]
        if text[found.value] != "{":
            raise InvalidInput(f"{'.'.join(path[: depth + 1])} is not an object in braces")
        here = _object(text, found.value)
    raise InvalidInput("the path of a member needs at least one name")


def without_member(text: str, path: Sequence[str]) -> str:
    """Returns the text without the member at a path of names; the same text if there is none."""
    if value_at(text, path) is None:
        return text
    here = _object(text, len(text) - len(text.removeprefix(_MARK)))
    for name in path[:-1]:
        found = here.named(name)
        if found is None:
            return text
        here = _object(text, found.value)
    while (found := here.named(path[-1])) is not None:
        text = _removed(text, here, found)
        here = _object(text, here.start)
    return text


def _nested(names: Sequence[str], value: Json) -> Json:
    for name in reversed(names):
        value = {name: value}
    return value


def _added(text: str, here: _Object, depth: int, name: str, value: Json) -> str:
    """Returns the text with a new last member in an object."""
    shown = f"{json.dumps(name, ensure_ascii=False)}: {_dumped(value, text, depth + 1)}"
    line = _line_end(text)
    if not here.members:
        inside = f"{line}{_step(text) * (depth + 1)}{shown}{line}{_step(text) * depth}"
        return text[: here.start + 1] + inside + text[here.end - 1 :]
    end = here.members[-1].end
    between = text[_after_comma(text, here) : here.members[-1].start]
    if "\n" not in between and len(here.members) == 1 and "\n" not in text[here.start : here.end]:
        between = " "  # the object stands on one line, and so does what is added
    return f"{text[:end]},{between}{shown}{text[end:]}"


def _after_comma(text: str, here: _Object) -> int:
    """Returns where the blank space before the last member begins."""
    before = here.members[-2].end if len(here.members) > 1 else here.start
    return text.index(",", before) + 1 if len(here.members) > 1 else before + 1


def _removed(text: str, here: _Object, gone: _Member) -> str:
    """Returns the text without one member and the comma that set it apart."""
    place = here.members.index(gone)
    if len(here.members) == 1:
        return text[: here.start + 1] + text[here.end - 1 :]
    if place == 0:
        return text[: gone.start] + text[here.members[1].start :]
    return text[: here.members[place - 1].end] + text[gone.end :]


def _dumped(value: Json, text: str, depth: int) -> str:
    """Returns a value as JSON, laid out like the text around it."""
    if "\n" not in text.strip() and text.strip(f"{_MARK}{{}} \t\r\n"):
        return json.dumps(value, ensure_ascii=False)  # everything stands on one line
    step = _step(text)
    lines = json.dumps(value, ensure_ascii=False, indent=step).split("\n")
    return (_line_end(text) + step * depth).join(lines)


def _step(text: str) -> str:
    """Returns what the text indents its first member by."""
    found = _STEP.search(text)
    return found[1] if found else _DEFAULT_STEP


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _object(text: str, start: int) -> _Object:
    """Finds the members of the object that begins at or after a place in a valid text."""
    start = _skip(text, start)
    members: list[_Member] = []
    here = _skip(text, start + 1)
    while text[here] != "}":
        name, after = _DECODER.raw_decode(text, here)
        value = _skip(text, _skip(text, after) + 1)
        _, end = _DECODER.raw_decode(text, value)
        members.append(_Member(name, here, value, end))
        here = _skip(text, end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return _Object(start, here + 1, tuple(members))


def _skip(text: str, here: int) -> int:
    """Returns the next place that is not blank."""
    while text[here] in " \t\r\n":
        here += 1
    return here
