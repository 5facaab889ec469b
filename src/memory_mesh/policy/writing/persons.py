"""Who a memory is of: its speaker, and the user that its metadata states.

Memories of different persons are neither twins nor rivals: nothing is merged, superseded, refused
or put on the list of conflicts because of what somebody else said. A memory that states nobody may
meet any other.
"""

from collections.abc import Iterable
from itertools import product

from memory_mesh.model import Statement
from memory_mesh.policy.users import USER_WORDS


def said_by_different(one: Statement, other: Statement) -> bool:
    """True if both state a speaker, or both a user, and it is not the same one."""
    pairs = zip(persons(one), persons(other), strict=True)
    return any(here and there and here != there for here, there in pairs)


def persons(said: Statement) -> tuple[str, str]:
    """Returns the speaker, without regard to case, and the user; each is empty if not stated."""
    stated = (_text(said.extra[key]) for key in USER_WORDS if key in said.extra)
    return (said.speaker or "").strip().casefold(), next(filter(None, stated), "")


def rejected_for(said: Statement) -> list[str]:
    """Returns whose words a rejection of this statement keeps out, as marks of tombstones."""
    return _marks((name, _ANYBODY) if name else ("",) for name in persons(said))


def asked_for(said: Statement) -> list[str]:
    """Returns the marks of all tombstones that keep this statement out."""
    return _marks(("", name or _ANYBODY) for name in persons(said))


_ANYBODY = "\0"  # somebody who is named is meant; no name holds a NUL


def _marks(sides: Iterable[tuple[str, ...]]) -> list[str]:
    """Returns a mark for each pair of speaker and user; nobody named has none."""
    import json

    return [json.dumps(pair) if any(pair) else "" for pair in product(*sides)]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    import json

    return json.dumps(value, sort_keys=True)
