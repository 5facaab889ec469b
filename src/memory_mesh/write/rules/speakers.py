"""Decides who said a text: the source kind from its role, speaker and source, and its channel.

::

    source_kind stated ▶ that kind
    role, speaker, source_agent (metadata `source`), source_ref ▶ the least trusted that they name:
        the user, the system, a tool, a page or file, else an agent
    nothing stated ▶ user_implicit in a library call, else what the channel's ceiling allows

None of them passes the channel's ceiling. The kind weighs claims against each other. What a writer
may do (importance, pin, lessons, skills, review, delete) is `trust.authority`.
"""

import re
from collections.abc import Mapping
from functools import cache

from memory_mesh.base.typed import replace
from memory_mesh.model import Channel, Claim, Draft, Source, SourceKind, Statement
from memory_mesh.rules.trust import (
    OF_ROWS,
    OF_THE_USER,
    bounded_source,
    ceiling,
    is_authoritative,
    lowered,
    lowest,
)

_USER, _SYSTEM = SourceKind.USER_EXPLICIT, SourceKind.SYSTEM
_MODEL, _TOOL = SourceKind.INFERENCE, SourceKind.TOOL_OUTPUT
ROLES: Mapping[str, SourceKind] = {
    "user": _USER, "human": _USER,
    "assistant": _MODEL, "agent": _MODEL, "ai": _MODEL, "model": _MODEL, "bot": _MODEL,
    "chatgpt": _MODEL, "gpt": _MODEL, "claude": _MODEL, "codex": _MODEL, "copilot": _MODEL,
    "gemini": _MODEL, "llm": _MODEL,
    "tool": _TOOL, "function": _TOOL,
    "system": _SYSTEM, "developer": _SYSTEM,
}  # fmt: skip
_TOOL_NAMES = ("tool:", "tool/", "function:", "mcp__")


def with_kind(
    draft: Draft,
    channel: Channel,
    *,
    stated: SourceKind | None = None,
    at_most: SourceKind = SourceKind.USER_EXPLICIT,
) -> Draft:
    """Returns the draft with the source kind of its writer, never above the channel's ceiling.

    `at_most` is what its arguments named, where metadata replaces the name of the source.
    """
    kind = lowest((_kind_of(draft, channel), at_most)) if stated is None else stated
    own = draft.source
    source = Source(lowered(kind, channel), channel, own.agent, own.ref, stated is not None)
    return draft if source == own else replace(draft, source=source)


def bounded(draft: Draft, channel: Channel) -> Draft:
    """A ready draft as a view of this channel may say it; one without a kind gets its writer's."""
    source = bounded_source(draft.source, channel)
    if draft.source.kind is SourceKind.USER_IMPLICIT:
        spoken = lowered(_kind_of(draft, source.channel), source.channel)
        kind = lowest((spoken, ceiling(draft.source.channel)))
        source = Source(kind, source.channel, source.agent, source.ref, stated=False)
    claim = stated_through(draft.claim, channel)
    if source == draft.source and claim is draft.claim:
        return draft
    return replace(draft, source=source, claim=claim)


def stated_through(claim: Claim | None, channel: Channel) -> Claim | None:
    """A ready claim; one that does not come from the user is a stated one, with its own keys.

    A caller cannot say that its claim was only read from a text, or that it is not certain.
    """
    if claim is None or is_authoritative(ceiling(channel)):
        return claim
    from memory_mesh.write import claims

    return claims.stated(claim.subject, claim.predicate, claim.value, exclusive=claim.exclusive)


def kind_said(role: str | None, speaker: str | None) -> SourceKind | None:
    """Returns the source kind that role and speaker name; None if they name none.

    A speaker whose name is not the word for a role is a person.
    """
    found = [ROLES.get(_word(role))] if role else []
    if speaker:
        found.append(ROLES.get(_word(speaker), SourceKind.USER_EXPLICIT))
    known = [kind for kind in found if kind is not None]
    return lowest(known) if known else None


def first_person(said: Statement) -> tuple[str | None, bool]:
    """Returns who says "I" in a text, and whether its "we" is the user's team.

    "I" is the speaker, else the user where the user speaks, else the page, file or agent that the
    text comes from; a file of rows is nobody, as they may be of several people. None: nobody
    knows, and the text makes no claim about whoever wrote it.
    """
    from memory_mesh.write.claims import USER  # few drafts are asked

    by_user = said.source.kind in OF_THE_USER or ROLES.get(_word(said.role or "")) is _USER
    if said.speaker:
        return said.speaker, by_user
    ref = said.source.ref or ""
    place = None if ref.lower().endswith(OF_ROWS) else ref
    return (USER if by_user else place or said.source.agent), by_user


def _kind_of(said: Statement, channel: Channel) -> SourceKind:
    """Returns the least trusted source kind that the statement names, or that of its channel."""
    spoken = kind_said(said.role, said.speaker)
    found = [spoken] if spoken is not None else []
    if said.source.agent:
        named = _kind_of_name(said.source.agent, channel)
        found += [named] if named is not None else []
    if said.source.ref:
        place = _kind_of_place(said.source.ref)
        if place is None and not found:  # a reference of an unknown form, and nobody who speaks
            place = SourceKind.DOCUMENT
        found += [place] if place is not None else []
    if found:
        return lowest(found)
    return SourceKind.USER_IMPLICIT if channel is Channel.LIBRARY else ceiling(channel)


def _kind_of_name(name: str, channel: Channel) -> SourceKind | None:
    """Returns the kind that a stated source names; None if it names none.

    A source can lower the trust, not raise it to the user's or the system's: it often comes with
    the text. On a channel that does not speak for the user, the channel says what a name is.
    """
    word = _word(name)
    if word in ROLES or word in set(SourceKind):
        kind = ROLES.get(word) or SourceKind(word)
        return None if is_authoritative(kind) else kind
    place = _kind_of_place(name)
    if place is None and is_authoritative(ceiling(channel)):
        return SourceKind.INFERENCE  # an agent
    return place


def _kind_of_place(name: str) -> SourceKind | None:
    """Returns tool_output for the name of a tool, document for a page or file, else None."""
    if name.strip().lower().startswith(_TOOL_NAMES):
        return SourceKind.TOOL_OUTPUT
    return SourceKind.DOCUMENT if _places().search(name.strip()) else None


def _word(name: str) -> str:
    return name.strip().casefold()


@cache
def _places() -> re.Pattern[str]:
    """A URL, a domain, an absolute or relative path, or a file name with an ending."""
    url = r"^[A-Za-z][A-Za-z0-9+.-]*://|^(?:mailto|urn|doi):|^www\."
    path = r"^(?:~|\.{1,2})?[/\\]|^[A-Za-z]:[/\\]"
    ending = r"\.[A-Za-z]\w{0,7}(?:[#?:]\S*)?$"
    return re.compile(f"{url}|{path}|{ending}")
