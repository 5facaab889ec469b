"""Decides who may see a memory within a namespace."""

from collections.abc import Iterable
from datetime import datetime
from itertools import product

from memory_mesh.model import InvalidInput, Lens, Scope, Statement, Status
from memory_mesh.model.query import Filter, GivenFilter
from memory_mesh.rules import filter_fields
from memory_mesh.rules.arguments import USER_WORDS, member, moment

_ANYBODY = "\0"  # somebody who is named is meant; no name holds a NUL


def sees(reader: Scope, audience: Scope) -> bool:
    """True if each part of the audience is empty or equal to the reader's."""
    return (
        audience.project in {None, reader.project, *reader.names}
        and audience.agent in {None, reader.agent}
        and audience.session in {None, reader.session}
    )


def seen_through(lens: Lens, audience: Scope) -> bool:
    """True if the reader of a lens belongs to an audience, but for the parts it ignores."""
    return all(
        part in lens.across or getattr(audience, part) in read_by(lens.scope, part)
        for part in AUDIENCE
    )


def read_by(reader: Scope, part: str) -> set[str | None]:
    """Returns the values that a part of an audience may have for a reader to belong to it."""
    named = reader.names if part == "project" else ()
    return {None, getattr(reader, part), *named}


AUDIENCE = frozenset({"project", "agent", "session"})


def lens_of(
    now: datetime,
    reader: Scope,
    *,
    where: "Filter | None" = None,
    across: Iterable[str] = (),
    include: Iterable[Status | str] = (),
    as_of: datetime | str | None = None,
    valid_at: datetime | str | None = None,
    any_validity: bool = False,
    session_days: int = 0,
) -> Lens:
    """Builds the lens of a read from the options of `search`, `get` and `get_all`."""
    left_out = frozenset(across)
    if not left_out <= AUDIENCE:
        raise InvalidInput(f"across must name parts of the audience: {', '.join(sorted(AUDIENCE))}")
    statuses = {Status.ACTIVE} | {member("include", Status, status) for status in include}
    return Lens(
        now=now,
        scope=reader,
        across=left_out,
        statuses=frozenset(statuses),
        where=where,
        as_of=moment("as_of", as_of),
        valid_at=moment("valid_at", valid_at),
        any_validity=any_validity,
        session_days=session_days,
    )


def parsed_filter(filter: "GivenFilter") -> "Filter | None":
    """Parses a filter into its tree; an empty one is none."""
    if not filter:
        return None
    from memory_mesh.rules.filters import parse  # most reads have none

    return parse(filter)


def filter_text(lens: Lens) -> str | None:
    """Returns the filter of a lens as canonical text, or None."""
    return None if lens.where is None else filter_fields.canonical(lens.where)


# Who a memory is of: its speaker, and the user that its metadata states.
#
# Memories of different persons are neither twins nor rivals: nothing is merged, superseded, refused
# or put on the list of conflicts because of what somebody else said. A memory that states nobody
# may
# meet any other.


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
