"""What callers hand in, checked at the edge and turned into the values the core trusts."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from itertools import islice

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.fastdataclass import replace
from memory_mesh.formats import rfc11
from memory_mesh.model import (
    Channel,
    Claim,
    Draft,
    Kind,
    Memory,
    Scope,
    Source,
    SourceKind,
    Statement,
    Tier,
    record,
)
from memory_mesh.policy.arguments import check_share, check_text, member, moment
from memory_mesh.policy.users import refuse_user_option
from memory_mesh.policy.writing.limits import (
    INTEGER,
    MAX_TRIGGER_CHARS,
    MAX_TRIGGERS,
    NAME_CHARS,
    SOURCES,
    TAGS,
)
from memory_mesh.policy.writing.metadata import check_metadata
from memory_mesh.policy.writing.speakers import stated_through, with_kind
from memory_mesh.policy.writing.trust import dominates, lowered
from memory_mesh.typed import Any

IMPORTANCE = {"low": 0.2, "medium": 0.5, "high": 0.8, "critical": 1.0}
_KINDS = frozenset(Kind)


DETAILS = {  # type and description of each detail (tools/generate_options.py)
    "scope": ("Scope", "the project, agent and session that may see it"),
    "kind": (
        "Kind | str",
        "the sort of knowledge, such as decision; any other word becomes a label",
    ),
    "speaker": ("str", "who said it"),
    "role": ("str", "the role of the speaker: user, assistant, tool or system"),
    "order": ("int", "its position in the session"),
    "occurred_at": ("datetime | str", "when it happened"),
    "valid_from": ("datetime | str | None", "start of the time in which it is true"),
    "valid_until": ("datetime | str | None", "end of the time in which it is true"),
    "importance": ("float | str", "0 to 1, or low, medium, high or critical"),
    "confidence": ("float", "how certain it is, 0 to 1"),
    "tags": ("Iterable[str]", "words to group it by"),
    "tier": ("Tier | str", "how long it is meant to live: short_term, long_term or system"),
    "pinned": ("bool", "mark it as always wanted"),
    "source_kind": (
        "SourceKind | str",
        "where it comes from, such as document; else read from role, source",
    ),
    "source_agent": ("str", "the agent or system that it comes from"),
    "source_ref": ("str", "the file, page or message that it comes from"),
    "source_skill": ("str", "the id of the skill that it comes from"),
    "claim": (
        "Claim | Mapping[str, object]",
        "what it states: a mapping with subject, predicate and value",
    ),
    "triggers": (
        "str | Iterable[str]",
        "patterns that call it up: a regular expression, alternatives, or plain words",
    ),
    "quarantine": ("str", "keep it for review, for the reason given here"),
    "keep_active": ("bool", "keep it active beside a more trusted memory that contradicts it"),
    "derived_from": ("Iterable[str]", "the ids of the memories that it was made from"),
    "key": ("str", "an idempotency key: what is added again with the same key is stored once"),
    "allow_duplicate": ("bool", "store it although the same text is stored already"),
}


def draft_of(
    content: object,
    metadata: object,
    details: Mapping[str, object],
    *,
    agent_id: str,
    channel: Channel,
) -> Draft:
    """A draft from what `add` was given; raises InvalidInput and names the field."""
    _known(details)
    if metadata is None and not details:
        return Draft(text=check_text(content, "content"), source=_plain_source(channel))
    draft = Draft(
        text=check_text(content, "content"),
        source=Source(channel=channel),
        key=_name("key", details.get("key")),
        allow_duplicate=bool(details.get("allow_duplicate")),
    )
    if details:
        draft = _detailed(draft, details)
    stated = draft.source.kind if "source_kind" in details else None
    draft = with_kind(draft, channel, stated=stated)
    notes: list[str] = []
    if metadata is not None:
        options = draft
        argued = draft.source.kind if draft.source.agent else SourceKind.USER_EXPLICIT
        draft = rfc11.promote(draft, check_metadata(metadata), agent_id)
        if draft.source is not options.source:  # else its kind is known
            draft = with_kind(draft, channel, stated=stated, at_most=argued)
        notes += _overruled(options, draft)
    _check_validity(draft.valid_from, draft.valid_until)
    if stated is not None and draft.source.kind is not stated:
        notes.append(
            f"source_kind {stated} was lowered to {draft.source.kind}, the most that the channel "
            f"{channel} may state"
        )
    return replace(draft, notes=tuple(notes)) if notes else draft


@cache
def _plain_source(channel: Channel) -> Source:
    """The source of a text of which nothing else is said."""
    return with_kind(Draft(text="", source=Source(channel=channel)), channel).source


def alteration(
    content: object | None,
    metadata: object | None,
    details: Mapping[str, object],
    *,
    channel: Channel,
    merge: bool = False,
) -> Callable[[Memory], Memory]:
    """How `update` changes a memory: what is given replaces, what is not stays.

    Metadata is replaced as a whole, or with `merge` key by key, inside the transaction. Who says it
    is decided again if the change states a source kind or another role, speaker or source. What
    says something else from now on is believed no further than the channel it came by.
    """
    _known(details)
    text = None if content is None else check_text(content, "content")
    if text is not None and not text.strip():
        raise InvalidInput("a memory cannot be updated to an empty text; delete it instead")
    given = None if metadata is None else check_metadata(metadata)

    def alter(memory: Memory) -> Memory:
        draft = Draft(text=memory.text, **{name: getattr(memory, name) for name in _CARRIED})
        draft = _detailed(draft, details)
        if given is not None:
            whole = record.given_metadata(memory) | given if merge else given
            draft = rfc11.promote(replace(draft, extra={}), whole, memory.scope.agent or "")
        _check_validity(draft.valid_from, draft.valid_until)
        draft = _spoken_again(draft, memory, details)
        if text is not None or details.keys() & {"claim", "source_kind"}:
            draft = _through(draft, channel, anew="source_kind" not in details)
        carried = {name: getattr(draft, name) for name in _CARRIED}
        return replace(memory, text=memory.text if text is None else text, **carried)

    return alter


def check_change(content: object | None, details: Mapping[str, object]) -> None:
    """Raises InvalidInput if `update` would refuse this text or one of these details."""
    alteration(content, None, details, channel=Channel.LIBRARY)
    _detailed(Draft(text=""), details)


def importance(value: object) -> float:
    """A weight from 0 to 1, or one of low, medium, high, critical."""
    if isinstance(value, str) and value in IMPORTANCE:
        return IMPORTANCE[value]
    if isinstance(value, str):
        words = ", ".join(IMPORTANCE)
        raise InvalidInput(f"importance must be 0 to 1, or one of {words}, not {shown(value)}")
    try:
        return check_share(value, "importance")
    except InvalidInput as error:
        raise InvalidInput(f"{error}; or one of {', '.join(IMPORTANCE)}") from None


_CARRIED = (
    "scope", "source", "kind", "label", "speaker", "role", "order", "occurred_at", "valid_from",
    "valid_until", "importance", "confidence", "tier", "pinned", "tags", "extra", "lesson",
    "heritage", "skill", "claim", "triggers",
)  # fmt: skip


def _spoken_again(draft: Draft, memory: Memory, details: Mapping[str, object]) -> Draft:
    """The changed memory with the kind of its writer, if the change says anything about that."""
    if "source_kind" in details:
        return replace(draft, source=replace(draft.source, stated=True))
    named = _named(draft)
    if named == _named(memory) or not any(named):
        return draft
    return with_kind(draft, memory.source.channel)


def _through(draft: Draft, channel: Channel, *, anew: bool) -> Draft:
    """What says something else now, believed no further than its channel.

    Words that come by a channel above that of the memory are that channel's from now on.
    """
    words = Source(channel=channel, agent=draft.source.agent, ref=draft.source.ref, stated=False)
    if anew and dominates(words, draft.source):
        return with_kind(replace(draft, source=words), channel)
    kind = lowered(draft.source.kind, channel)
    return replace(draft, source=replace(draft.source, kind=kind))


def _overruled(stated: Draft, draft: Draft) -> list[str]:
    """Options that metadata of the same meaning overruled, in words."""
    pairs = {
        "tags": (stated.tags or None, draft.tags),
        "importance": (stated.importance, draft.importance),
        "session": (stated.scope.session, draft.scope.session),
        "source_agent": (stated.source.agent, draft.source.agent),
        "kind": (stated.label, draft.label),
    }
    return [
        f"{name} was given twice: {taken!r} of the metadata was taken, not {shown(given)}"
        for name, (given, taken) in pairs.items()
        if given is not None and given != taken
    ]


def _named(said: Statement) -> tuple[str | None, ...]:
    return (said.role, said.speaker, said.source.agent, said.source.ref)


def _detailed(draft: Draft, details: Mapping[str, object]) -> Draft:
    """The draft with every given detail put in its place."""
    fitted: dict[str, Any] = {
        name: fit(name, details[name]) for name, fit in _FITTERS.items() if name in details
    }
    if "source_skill" in details:
        fitted["skill"] = _name("source_skill", details["source_skill"])
    if details.get("claim") is not None:
        fitted |= _claimed(draft, fitted, details["claim"])
    origin: dict[str, Any] = {
        field: fit(name, details[name])
        for name, (field, fit) in _SOURCE_FITTERS.items()
        if name in details
    }
    if isinstance(fitted.get("kind"), tuple):
        fitted["kind"], fitted["label"] = fitted["kind"]
    if origin:
        fitted["source"] = replace(draft.source, **origin)
    return replace(draft, **fitted) if fitted else draft


def _claimed(draft: Draft, fitted: Mapping[str, Any], given: object) -> dict[str, Any]:
    """A stated claim, and the times and session that neolata writes into it."""
    from memory_mesh.policy import claims

    if isinstance(given, Claim):
        return {"claim": stated_through(given, draft.source.channel)}
    if not isinstance(given, Mapping):
        raise InvalidInput("claim must be a Claim, or a mapping with subject, predicate and value")
    said = {_CLAIM_WORDS.get(str(key), str(key)): value for key, value in given.items()}
    unknown = said.keys() - _CLAIM_FIELDS
    if unknown:
        raise InvalidInput(
            f"a claim has no {min(unknown)}; it has {', '.join(sorted(_CLAIM_FIELDS))}"
        )
    if said.get("scope") not in _CLAIM_SCOPES:
        raise InvalidInput("the scope of a claim is global, session or temporal")
    exclusive = said.get("exclusive", True)
    parts = (said.get("subject"), said.get("predicate"), said.get("value"))
    subject, predicate, value = (check_text(part, "a part of the claim") for part in parts)
    found: dict[str, Any] = {
        "claim": claims.stated(
            subject, predicate, value, exclusive=_flag("exclusive of the claim", exclusive)
        )
    }
    for name in ("valid_from", "valid_until"):
        if said.get(name) is not None:
            found[name] = moment(name, said[name])
    scope = fitted.get("scope", draft.scope)
    if said.get("scope") == "session" or said.get("session_id") is not None:
        session = _name("session_id of the claim", said.get("session_id")) or scope.session
        if session is None:
            raise InvalidInput("a claim with scope session needs a sessionId")
        found["scope"] = replace(scope, session=session)
    return found


def _kind(_name: str, value: object) -> Kind | tuple[Kind, str]:
    """One of our kinds, or any other word, kept as a label."""
    word = check_text(value, "kind")
    return Kind(word) if word in _KINDS else (Kind.FACT, word)


def _scope(_name: str, value: object) -> Scope:
    if not isinstance(value, Scope):
        raise InvalidInput("scope must be a Scope(project, agent, session)")
    return Scope(
        *(_name_or_none(part, getattr(value, part)) for part in ("project", "agent", "session"))
    )


def _name(name: str, value: object) -> str | None:
    """A short text, or nothing."""
    if value is None:
        return None
    text = check_text(value, name)
    if not text or len(text) > NAME_CHARS:
        raise InvalidInput(f"{name} must have 1 to {NAME_CHARS} characters")
    return text


def _name_or_none(name: str, value: object) -> str | None:
    return None if value == "" else _name(name, value)


def _order(name: str, value: object) -> int | None:
    if value is None or (type(value) is int and abs(value) <= INTEGER):
        return value
    raise InvalidInput(f"{name} must be a whole number below 2**63")


def _tags(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of texts")
    found = tuple(check_text(tag, "a tag") for tag in islice(value, TAGS + 1))
    if len(found) > TAGS:
        raise InvalidInput(f"a memory has at most {TAGS} tags; put the others into its metadata")
    return found


def _sources(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} must be a list of ids")
    found = tuple(check_text(each, "id") for each in islice(value, SOURCES + 1))
    if len(found) > SOURCES:
        raise InvalidInput(f"{name} has more than {SOURCES} ids")
    return found


def _triggers(name: str, value: object) -> tuple[str, ...]:
    """Patterns without empty ones; one alone may be given as a text."""
    if value is None:
        return ()
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, Iterable):
        raise InvalidInput(f"{name} must be a pattern or a list of patterns")
    patterns = [check_text(pattern, "a trigger").strip() for pattern in given]
    if len(patterns) > MAX_TRIGGERS or any(len(each) > MAX_TRIGGER_CHARS for each in patterns):
        raise InvalidInput(
            f"a memory has at most {MAX_TRIGGERS} triggers of {MAX_TRIGGER_CHARS} characters"
        )
    return tuple(dict.fromkeys(pattern for pattern in patterns if pattern))


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be true or false")
    return value


def _check_validity(start: datetime | None, end: datetime | None) -> None:
    if start is not None and end is not None and end <= start:
        raise InvalidInput("valid_until must be later than valid_from")


def _known(details: Mapping[str, object]) -> None:
    unknown = details.keys() - DETAILS.keys()
    if unknown:
        refuse_user_option(details)
        raise InvalidInput(
            f"there is no detail {min(unknown)!r}; known are "
            f"{', '.join(sorted(DETAILS))}. Anything else belongs in metadata."
        )


_FITTERS: dict[str, Callable[[str, object], object]] = {
    "scope": _scope,
    "kind": _kind,
    "speaker": _name,
    "role": _name,
    "order": _order,
    "occurred_at": moment,
    "valid_from": moment,
    "valid_until": moment,
    "importance": lambda _, value: importance(value),
    "confidence": lambda name, value: check_share(value, name),
    "tags": _tags,
    "tier": lambda name, value: member(name, Tier, value),
    "pinned": _flag,
    "triggers": _triggers,
    "derived_from": _sources,
    "quarantine": _name,
    "keep_active": _flag,
}
_CLAIM_WORDS = {
    "validFrom": "valid_from",
    "validUntil": "valid_until",
    "sessionId": "session_id",
}
_CLAIM_SCOPES = (None, "global", "session", "temporal")
_CLAIM_FIELDS = {
    "subject", "predicate", "value", "exclusive", "scope", "session_id", "valid_from",
    "valid_until",
}  # fmt: skip
_SOURCE_FITTERS: dict[str, tuple[str, Callable[[str, object], object]]] = {
    "source_kind": ("kind", lambda name, value: member(name, SourceKind, value)),
    "source_agent": ("agent", _name),
    "source_ref": ("ref", _name),
}
