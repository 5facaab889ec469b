"""Computes the trust of a memory. Stated provenance can be lowered, never raised.

Each channel has a ceiling, and what is derived sinks to its least trusted source. Trust is computed
from the source, from how many distinct origins said it, from votes on its truth and from its age.
Trust weighs claims; what a writer may do is its `authority`.

And who may see a memory within a namespace: its audience, a reader, and the lens of a search.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import product

from memory_mesh.base.typed import TypedDict, replace
from memory_mesh.model import (
    Block,
    Channel,
    InvalidInput,
    Lens,
    Memory,
    Scope,
    Source,
    SourceKind,
    Statement,
    Status,
)
from memory_mesh.model.query import Filter, GivenFilter
from memory_mesh.rules import filter_fields
from memory_mesh.rules.arguments import USER_WORDS, member, moment

OF_THE_USER = frozenset((SourceKind.USER_EXPLICIT, SourceKind.USER_IMPLICIT))
OF_ROWS = (".csv", ".jsonl", ".json")  # ends of files with the words of one person or of many
HELPFUL, HARMFUL = 1.1, 0.5
LEAST_USEFUL, MOST_USEFUL = 0.1, 2.0
_USE = {"helpful": HELPFUL, "harmful": HARMFUL}  # the step of each vote

BASE: Mapping[SourceKind, float] = {
    SourceKind.USER_EXPLICIT: 1.0,
    SourceKind.SYSTEM: 0.95,
    SourceKind.TOOL_OUTPUT: 0.85,
    SourceKind.USER_IMPLICIT: 0.7,
    SourceKind.DOCUMENT: 0.6,
    SourceKind.INFERENCE: 0.5,
}
CORROBORATED, MOST_CORROBORATED = 0.05, 0.2
VOTED = 0.15
AGED, YEAR_DAYS = 0.1, 365
UNSUPPORTED = 3  # disputes without a word in favour that send a memory to review
MEDIUM = 0.5  # the most importance that others than the user and the system can give
_MOST_TRUSTED_FIRST = tuple(SourceKind)
_BROUGHT = frozenset((SourceKind.TOOL_OUTPUT, SourceKind.DOCUMENT))
_CEILINGS = {
    Channel.TOOL: SourceKind.TOOL_OUTPUT,
    Channel.FILE: SourceKind.DOCUMENT,
    Channel.IMPORT: SourceKind.DOCUMENT,
    Channel.WEB: SourceKind.DOCUMENT,
    Channel.MCP: SourceKind.INFERENCE,
    Channel.ASSISTANT: SourceKind.INFERENCE,
    Channel.EXTRACTION: SourceKind.INFERENCE,
}  # library, command line and the hook of a user's prompt speak for the user


def ceiling(channel: Channel) -> SourceKind:
    """Returns the most trusted source kind that a channel can carry."""
    return _CEILINGS.get(channel, SourceKind.USER_EXPLICIT)


def lowered(stated: SourceKind, channel: Channel) -> SourceKind:
    """Returns the stated source kind, or the channel's ceiling if that is lower."""
    return lowest((stated, ceiling(channel)))


def bounded_source(source: Source, channel: Channel) -> Source:
    """A ready source as a view of this channel may state it.

    The channel is the view's own, unless that speaks for the user and the source names a lower one.
    """
    own = source.channel if is_authoritative(ceiling(channel)) else channel
    kind = lowest((source.kind, ceiling(own), ceiling(source.channel)))
    return replace(source, kind=kind, channel=own)


def authority(source: Source) -> SourceKind:
    """Returns what importance, pin, lessons, skills, review and delete go by.

    That is the source kind that the writer stated, else the channel's ceiling: a kind that we read
    from names, or from nothing at all, only weighs claims.
    """
    return source.kind if source.stated else ceiling(source.channel)


def whose_words(source: Source) -> SourceKind:
    """Returns what breaks a tie between two answers: whose words a memory holds.

    That is its authority, or less where it is known to come from a page, a file or a tool.
    """
    return (
        lowest((authority(source), source.kind)) if source.kind in _BROUGHT else authority(source)
    )


def may_change(writer: SourceKind, source: Source) -> bool:
    """True if a writer with this ceiling may change a memory of this source, or dispute it."""
    return lowest((authority(source), writer)) is authority(source)


def dominates(one: Source, other: Source) -> bool:
    """True if neither the channel nor the authority of `other` could have written `one`."""
    return not any(may_change(kind, one) for kind in (ceiling(other.channel), authority(other)))


def outranks(one: Source, other: Source) -> bool:
    """True if a source is trusted more than another: by its channel, else by its kind."""
    if dominates(one, other) or dominates(other, one):
        return dominates(one, other)
    return BASE[one.kind] > BASE[other.kind]


def derived_source(own: Source, sources: Iterable[Source]) -> Source:
    """The source of what is derived: the least trusted kind, and the least authority."""
    others = list(sources)
    if not others:
        return own
    bound = lowest(_whose(authority(source)) for source in (own, *others))
    kind = lowest((own.kind, *(source.kind for source in others)))
    return replace(own, kind=kind, stated=bound is not ceiling(own.channel))


def standing_of(source: Source) -> SourceKind:
    """Returns whose word a source is, for what is made of several: the user's, or one below."""
    return _whose(source.kind)


def _whose(kind: SourceKind) -> SourceKind:
    own = kind in OF_THE_USER or kind is SourceKind.SYSTEM
    return SourceKind.USER_EXPLICIT if own else kind


def as_stored_before(source: Source, role: str | None, speaker: str | None) -> Source:
    """Returns the source of a row that was stored before role, speaker and source were read.

    The library then called a text user_explicit if nobody said whose it was: that is user_implicit.
    """
    silent = not (role or speaker or source.agent or source.ref)
    if silent and (source.kind, source.channel) == (SourceKind.USER_EXPLICIT, Channel.LIBRARY):
        return replace(source, kind=SourceKind.USER_IMPLICIT, stated=False)
    return source


def lowest(kinds: Iterable[SourceKind]) -> SourceKind:
    """Returns the least trusted of the source kinds."""
    return max(kinds, key=_MOST_TRUSTED_FIRST.index)


def is_authoritative(kind: SourceKind) -> bool:
    """True if lessons and skills of this source need no review."""
    return kind in {SourceKind.USER_EXPLICIT, SourceKind.SYSTEM}


def is_less_trusted(newer: Statement, older: Statement) -> bool:
    """True if the newer of two statements comes from a less trusted source, or is disputed."""
    if outranks(older.source, newer.source):
        return True
    if outranks(newer.source, older.source) or not isinstance(newer, Memory):
        return False
    votes = truth_votes(newer)
    return votes["disputes"] > votes["reinforcements"]


def allowed_importance(kind: SourceKind, importance: float | None) -> float | None:
    """Limits the importance to medium unless the user or the system stated it."""
    if importance is None or is_authoritative(kind):
        return importance
    return min(importance, MEDIUM)


def trust(
    kind: SourceKind,
    *,
    origins: int = 1,
    reinforcements: int = 0,
    disputes: int = 0,
    age_days: float = 0.0,
) -> float:
    """Returns the trust from 0 to 1, computed from source, origins, votes and age as in neolata."""
    parts = trust_parts(
        kind,
        origins=origins,
        reinforcements=reinforcements,
        disputes=disputes,
        age_days=age_days,
    )
    return round(max(0.0, min(1.0, sum(parts.values()))), 6)


def trust_parts(
    kind: SourceKind,
    *,
    origins: int = 1,
    reinforcements: int = 0,
    disputes: int = 0,
    age_days: float = 0.0,
) -> dict[str, float]:
    """Returns what source, origins, votes and age add to the trust; age takes away."""
    votes = reinforcements + disputes
    share = (reinforcements - disputes) / votes if votes else 0.0
    return {
        "source": BASE[kind],
        "origins": min(MOST_CORROBORATED, CORROBORATED * max(0, origins - 1)),
        "votes": share * VOTED * votes / (votes + 1),
        "age": -min(AGED, AGED * max(0.0, age_days) / YEAR_DAYS),
    }


def trust_of(memory: Memory, at: datetime) -> float:
    """Returns the trust of a memory at a time."""
    return trust(memory.source.kind, origins=memory.origins, **_bearing(memory, at))


def trust_parts_of(memory: Memory, at: datetime) -> dict[str, float]:
    """Returns the parts of the trust of a memory at a time, and `trust` itself.

    `limits` is what the bounds 0 and 1 take away or give.
    """
    parts = trust_parts(memory.source.kind, origins=memory.origins, **_bearing(memory, at))
    parts = {name: round(part, 6) for name, part in parts.items()}
    trusted = trust_of(memory, at)
    limits = round(trusted - sum(parts.values()), 6)
    return parts | ({"limits": limits} if limits else {}) | {"trust": trusted}


def _bearing(memory: Memory, at: datetime) -> "_Bearing":
    votes = truth_votes(memory)
    return {
        "reinforcements": votes["reinforcements"],
        "disputes": votes["disputes"],
        "age_days": (at - memory.created).total_seconds() / 86_400,
    }


class _Bearing(TypedDict):
    """What bears on trust beside source and origins."""

    reinforcements: int
    disputes: int
    age_days: float


def truth_votes(memory: Memory) -> dict[str, int]:
    """Returns the votes on a memory's truth that move its trust; others are only counted."""
    return {
        "reinforcements": memory.reinforcements - memory.idle_reinforcements,
        "disputes": memory.disputes - memory.idle_disputes,
    }


def is_unsupported(reinforcements: int, disputes: int) -> bool:
    """True if the memory was disputed several times and never reinforced."""
    return not reinforcements and disputes >= UNSUPPORTED


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
    return [json.dumps(pair) if any(pair) else "" for pair in product(*sides)]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    return json.dumps(value, sort_keys=True)


# The votes of use of an earlier time, which blocks tell.


def usefulness_then(now: float, blocks: Sequence[Block], counts: Callable[[Block], bool]) -> float:
    """The usefulness by those votes that count, of a memory that has a usefulness now.

    What its votes do not explain, such as that of an import, stays.
    """
    votes = [block for block in blocks if block.entry.metadata.get("vote") in _USE]
    gone = {block.entry.metadata.get("takes_back") for block in votes}
    every = _by_votes([one for one in votes if one.entry.id not in gone])
    gone = {one.entry.metadata.get("takes_back") for one in votes if counts(one)}
    return (
        now / every * _by_votes([one for one in votes if counts(one) and one.entry.id not in gone])
    )


def _by_votes(votes: Sequence[Block]) -> float:
    """What these votes make of a usefulness of 1."""
    useful = 1.0
    for said in (block.entry.metadata for block in votes):
        if said.get("moved") and "takes_back" not in said:
            useful = min(MOST_USEFUL, max(LEAST_USEFUL, useful * _USE[str(said["vote"])]))
    return useful
