"""What an item's value says to a search, and whether it meets a filter of LangGraph's."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import ge, gt, le, lt

from langgraph.store.base import get_text_at_path, tokenize_path

from memory_mesh.errors import InvalidInput
from memory_mesh.typed import Any

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_MARKUP = re.compile(r"<[^<>]*>")
_OPERATORS = ("$eq", "$ne", *_ORDERS)


def searched_text(value: Mapping[str, Any], paths: Sequence[str] | None) -> str:
    """The text that a search finds an item by: of these paths, or all of it; empty for none."""
    found = [
        text
        for path in (["$"] if paths is None else paths)
        for text in (
            _lines(value, "") if path == "$" else get_text_at_path(value, tokenize_path(path))
        )
    ]
    whole = "\n".join(found)
    says_something = any(char.isalnum() for char in _MARKUP.sub("", whole))
    return whole if says_something else ""


def _lines(value: object, name: str) -> Iterator[str]:
    """Each value at the end of a path, behind the name of its key."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(inner, str(key).replace("_", " "))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _lines(inner, name)
    elif value is not None and value != "":
        yield f"{name}: {value}" if name else str(value)


def meets(value: Mapping[str, Any], filter_: Mapping[str, Any] | None) -> bool:
    """True if every field of the filter fits."""
    return all(_fits(value.get(name), wanted) for name, wanted in (filter_ or {}).items())


def _fits(value: object, wanted: object) -> bool:
    """Compares as LangGraph's own stores do: objects by the keys named, lists item by item."""
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_passes(value, sign, than) for sign, than in wanted.items())
        return isinstance(value, Mapping) and all(
            _fits(value.get(key), inner) for key, inner in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(map(_fits, value, wanted))
        )
    return value == wanted


def _passes(value: object, sign: str, than: object) -> bool:
    if sign not in _OPERATORS:
        raise InvalidInput(f"a filter has no operator {sign!r}; it has {', '.join(_OPERATORS)}")
    if sign in {"$eq", "$ne"}:
        return (value == than) is (sign == "$eq")
    numbers = isinstance(value, int | float) and isinstance(than, int | float)
    texts = isinstance(value, str) and isinstance(than, str)
    return (numbers or texts) and _ORDERS[sign](value, than)
