"""What callers hand in, checked at the edge and turned into the values the core trusts."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from itertools import islice

from memory_mesh.base.typed import Annotated, Any, TypedDict, TypeVar, fields, option_types, replace
from memory_mesh.formats import rfc11
from memory_mesh.model import (
    Channel,
    Claim,
    Draft,
    Heritage,
    Json,
    Kind,
    Lesson,
    Memory,
    Origin,
    Scope,
    SkillDraft,
    Source,
    SourceKind,
    Statement,
    Tier,
    memory as model_memory,
    times,
)
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.rules.arguments import (
    INTEGER,
    MAX_TRIGGER_CHARS,
    MAX_TRIGGERS,
    NAME_CHARS,
    SOURCES,
    TAGS,
    check_metadata,
    check_share,
    check_text,
    check_whole,
    member,
    moment,
    refuse_user_option,
)
from memory_mesh.rules.trust import dominates, lowered
from memory_mesh.write.rules.speakers import stated_through, with_kind

_NO_DETAILS = {"content", "metadata", "merge"}
_EVIDENCE = "evidence"  # what it cites, in the metadata

Ready = TypeVar("Ready", Draft, SkillDraft)
_NEEDED = {"scope": Scope, "source": Source, "kind": Kind, "tier": Tier}  # what a field must hold
_WORDS = ("label", "speaker", "role", "skill", "key", "topic", "quarantine")
_OPTIONAL: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(_WORDS, str),
    "claim": Claim,
    "lesson": Lesson,
    "heritage": Heritage,
    "origin": Origin,
    "occurred_at": datetime,
    "valid_from": datetime,
    "valid_until": datetime,
    "importance": (int, float),
    "confidence": (int, float),
    "order": int,
}
_TEXTS = ("tags", "triggers", "derived_from", "supersedes", "notes")

_DOCUMENTS_NAMES = {
    "triggers": ("whenToUse", "when_to_use"),
    "importance": ("importance",),
    "occurred_at": ("eventTime", "event_time", "occurred_at", "discoveredAt", "discovered_at"),
    "valid_from": ("validFrom", "valid_from"),
    "valid_until": ("validUntil", "valid_until"),
}
IMPORTANCE = {"low": 0.2, "medium": 0.5, "high": 0.8, "critical": 1.0}
_KINDS = frozenset(Kind)


class MemoryDetails(TypedDict, total=False):
    """What `add` and `update` take beside text and metadata."""

    scope: Annotated[Scope | None, "the project, agent and session that may see it"]
    kind: Annotated[
        Kind | str | None,
        "the sort of knowledge, such as decision; any other word becomes a label. A lesson that "
        "comes first in a context is stored by lessons.record",
    ]
    speaker: Annotated[str | None, "who said it"]
    role: Annotated[str | None, "the role of the speaker: user, assistant, tool or system"]
    order: Annotated[int | None, "its position in the session"]
    occurred_at: Annotated[datetime | str | None, "when it happened"]
    valid_from: Annotated[datetime | str | None, "start of the time in which it is true"]
    valid_until: Annotated[datetime | str | None, "end of the time in which it is true"]
    expires_at: Annotated[datetime | str | None, "when it is hidden, to be erased a week later"]
    ttl: Annotated[float | None, "the same in seconds from now"]
    importance: Annotated[float | str | None, "0 to 1, or low, medium, high or critical"]
    confidence: Annotated[float | None, "how certain it is, 0 to 1"]
    tags: Annotated[Iterable[str] | None, "words to group it by"]
    tier: Annotated[
        Tier | str | None, "how long it is meant to live: short_term, long_term or system"
    ]
    pinned: Annotated[
        bool | None, "it enters every context, whatever the question, up to 30 % of the budget"
    ]
    source_kind: Annotated[
        SourceKind | str | None,
        "where it comes from, such as document; else read from role, source",
    ]
    source_agent: Annotated[str | None, "the agent or system that it comes from"]
    source_ref: Annotated[str | None, "the file, page or message that it comes from"]
    source_skill: Annotated[str | None, "the id of the skill that it comes from"]
    claim: Annotated[
        Claim | Mapping[str, object] | None,
        "what it states: a mapping with subject, predicate and value",
    ]
    triggers: Annotated[
        str | Iterable[str] | None,
        "patterns that call it up: a regular expression, alternatives, or plain words",
    ]
    evidence: Annotated[
        str | Iterable[str | Mapping[str, object]] | None,
        "the code that it is about: src/a.py, src/a.py:10-20, src/a.py#name; it is checked before "
        "the memory enters a prompt",
    ]


class NewMemoryDetails(MemoryDetails, total=False):
    """What only a new memory takes."""

    quarantine: Annotated[str | None, "keep it for review, for the reason given here"]
    keep_active: Annotated[
        bool | None, "keep it active beside a more trusted memory that contradicts it"
    ]
    derived_from: Annotated[Iterable[str] | None, "the ids of the memories that it was made from"]
    key: Annotated[
        str | None, "an idempotency key: what is added again with the same key is stored once"
    ]
    allow_duplicate: Annotated[bool | None, "store it although the same text is stored already"]


DETAILS = option_types(NewMemoryDetails)


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
        given = check_metadata(metadata)
        draft = _read_by_name(rfc11.promote(draft, given, agent_id), given, details)
        if draft.source is not options.source:  # else its kind is known
            draft = with_kind(draft, channel, stated=stated, at_most=argued)
        notes += _overruled(options, draft)
    draft = _citing(_ending(draft, metadata, details, None), details, None)
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
            whole = model_memory.given_metadata(memory) | given if merge else given
            draft = rfc11.promote(replace(draft, extra={}), whole, memory.scope.agent or "")
            draft = _read_by_name(draft, given, details)
        draft = _ending(draft, given, details, memory.extra.get(times.EXPIRES))
        draft = _citing(draft, details, memory.extra.get(_EVIDENCE))
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


def _read_by_name(draft: Draft, given: Mapping[str, Json], details: Mapping[str, object]) -> Draft:
    """The draft with fields that metadata states under a document's name for them, as far as fit.

    An argument of the same meaning wins. The metadata keeps the name and the value as given.
    """
    found: dict[str, Any] = {}
    for name, spellings in _DOCUMENTS_NAMES.items():
        value = next((given[each] for each in spellings if given.get(each) is not None), None)
        if value is not None and name not in details:
            with suppress(InvalidInput):  # what does not fit is a key of somebody else
                found[name] = _FITTERS[name](name, value)
    return replace(draft, **found) if found else draft


def with_end(details: Mapping[str, object], now: datetime) -> Mapping[str, object]:
    """The details with `expires_at` in the place of `ttl`."""
    seconds = details.get("ttl")
    if seconds is None:
        return details
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise InvalidInput(f"ttl is a number of seconds above 0, not {shown(seconds)}")
    if details.get("expires_at") is not None:
        raise InvalidInput("give either expires_at or ttl")
    try:
        end = now + timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidInput(f"ttl is too far ahead: {shown(seconds)}") from None
    return {name: value for name, value in details.items() if name != "ttl"} | {"expires_at": end}


def by_policy(draft: Draft, policy: Mapping[str, int], now: datetime, *, freely: bool) -> Draft:
    """The draft, which expires as its kind and tags do; only the user says otherwise of one.

    `policy` is of days, by a kind, a label or a tag.
    """
    said = {str(draft.kind), draft.label, *draft.tags} if policy else set()
    days = [policy[name] for name in policy if name in said]
    if not days or (freely and times.EXPIRES in draft.extra):
        return draft
    ends = [times.iso(now + timedelta(days=min(days)))]
    if isinstance(stated := draft.extra.get(times.EXPIRES), str):
        ends.append(stated)
    return replace(draft, extra={**draft.extra, times.EXPIRES: min(ends)})


def _ending(draft: Draft, given: object, details: Mapping[str, object], before: Json) -> Draft:
    """The draft with the moment at which it expires in its metadata, in one form.

    An option wins over metadata; what neither names stays as it was. None takes the moment away.
    """
    end: object = before
    if isinstance(given, Mapping):
        end = next((given[name] for name in (times.EXPIRES, "expiresAt") if name in given), end)
        try:
            moment(times.EXPIRES, end)
        except InvalidInput:  # what does not fit is a key of somebody else
            end = before
    end = details.get(times.EXPIRES, end)
    if end is None and (before is None and times.EXPIRES not in details):
        return draft
    extra = {name: value for name, value in draft.extra.items() if name != times.EXPIRES}
    if (ends := moment(times.EXPIRES, end)) is not None:
        extra[times.EXPIRES] = times.iso(ends)
    return replace(draft, extra=extra)


def _citing(draft: Draft, details: Mapping[str, object], before: Json) -> Draft:
    """The draft with its evidence in its metadata; what is not named stays as it was."""
    given = details.get(_EVIDENCE, before)
    if _EVIDENCE not in details and (given is None or _EVIDENCE in draft.extra):
        return draft
    extra = {name: value for name, value in draft.extra.items() if name != _EVIDENCE}
    if given:
        from memory_mesh.evidence.citations import citations_of  # few memories cite code

        extra[_EVIDENCE] = [one.as_json() for one in citations_of(given)]
    return replace(draft, extra=extra)


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
    return replace(draft, source=replace(draft.source, kind=lowered(draft.source.kind, channel)))


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
    from memory_mesh.write import claims

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


# Checks drafts that a caller made: what the ledger cannot hold is refused with its field.


def check_ready(draft: Ready) -> Ready:
    """The draft itself; InvalidInput names the text, number or time that cannot be stored."""
    for field in fields(draft):
        value = getattr(draft, field.name)
        if field.name in {"extra", "metadata"}:
            check_metadata(value)
        elif value is not None:
            _check(value, field.name)
    check_text(draft.text, "text")
    if isinstance(draft, Draft):
        _check_types(draft)
    return draft


def _check_types(draft: Draft) -> None:
    """Raises InvalidInput for a field of another type: it would be stored and never be read."""
    for name, kind in _NEEDED.items():
        if not isinstance(getattr(draft, name), kind):
            raise _wrong(draft, name)
    for name, kinds in _OPTIONAL.items():
        if not isinstance(getattr(draft, name), kinds) and getattr(draft, name) is not None:
            raise _wrong(draft, name)
    for name in _TEXTS:
        value = getattr(draft, name)
        if not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
            raise _wrong(draft, name)
    if not isinstance(draft.source.kind, SourceKind):
        raise _wrong(draft.source, "kind")
    if not isinstance(draft.source.channel, Channel):
        raise _wrong(draft.source, "channel")


def _wrong(value: object, name: str) -> InvalidInput:
    whose = type(value).__name__
    return InvalidInput(f"the {name} of a {whose} cannot be {shown(getattr(value, name))}")


def _check_number(value: float, name: str) -> None:
    if isinstance(value, int):
        check_whole(int(value), name)  # true and false are 1 and 0
    elif not math.isfinite(value):
        raise InvalidInput(f"{name} must be a number, not {value}")


def _check(value: object, name: str) -> None:
    """Checks one value and what is inside it."""
    if isinstance(value, str):
        check_text(value, name)
    elif isinstance(value, datetime):
        moment(name, value)
    elif isinstance(value, int | float):
        _check_number(value, name)
    elif parts := getattr(value, "__value_fields__", None):  # one of our own values
        for part in parts:
            _check(getattr(value, part), f"{name}.{part}")
    elif isinstance(value, Mapping):
        check_metadata(value)
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for item in value:
            _check(item, name)


# Idempotency keys belong to a writer: one audience, channel and agent.
#
# The ledger holds a key together with its owner as one text, so that two writers who choose the
# same key do not meet.


def owned_key(draft: Draft, agent: str) -> str | None:
    """Returns the draft's key with its owner, as the ledger holds it."""
    if draft.key is None:
        return None
    scope = draft.scope
    owner = (draft.source.channel.value, agent, scope.project, scope.agent, scope.session)
    return json.dumps([draft.key, *owner], ensure_ascii=False)


def given_key(owned: str) -> str:
    """Returns the key as the writer gave it; stores of earlier versions hold only that."""
    return str(json.loads(owned)[0])


# The fields of a proposed change as JSON, and back.


def as_json(name: str, value: object) -> Json:
    """A detail of `update` as the proposal keeps it."""
    if isinstance(value, datetime):
        return times.iso(value)
    if isinstance(value, Claim):
        given = {field.name: getattr(value, field.name) for field in fields(Claim)}
        return {key: given[key] for key in ("subject", "predicate", "value", "exclusive")}
    if value is None or isinstance(value, bool | int | float | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return {str(key): as_json(name, item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [as_json(name, item) for item in value]
    raise InvalidInput(f"{name} cannot be proposed: {type(value).__name__} is no plain value")


def alteration_of(change: Mapping[str, Json], channel: Channel) -> Callable[[Memory], Memory]:
    """How a proposed change alters a memory; InvalidInput where others would see it then."""
    content, metadata, details = _details_of(change)
    merge = bool(change.get("merge"))
    alter = alteration(content, metadata, details, channel=channel, merge=merge)

    def altered(memory: Memory) -> Memory:
        new = alter(memory)
        if new.scope != memory.scope:
            raise InvalidInput("a proposal cannot change who may see a memory; update it yourself")
        return new

    return altered


def _details_of(
    change: Mapping[str, Json],
) -> tuple[str | None, Mapping[str, Json] | None, dict[str, object]]:
    """The content, the metadata and the details of a proposed change."""
    content, metadata = change.get("content"), change.get("metadata")
    details: dict[str, object] = {
        name: value for name, value in change.items() if name not in _NO_DETAILS
    }
    return (
        content if isinstance(content, str) else None,
        metadata if isinstance(metadata, Mapping) else None,
        details,
    )
