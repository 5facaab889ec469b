"""Decides who may see a memory within a namespace."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.model import (
    Lens,
    Scope,
    Status,
)
from memory_mesh.policy.arguments import member, moment
from memory_mesh.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.model.filter import Filter, GivenFilter


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
    from memory_mesh.policy.filters import parse  # most reads have none

    return parse(filter)


def filter_text(lens: Lens) -> str | None:
    """Returns the filter of a lens as canonical text, or None."""
    if lens.where is None:
        return None
    from memory_mesh.policy import filters

    return filters.canonical(lens.where)
