"""Memories, links, conflicts and events as a storage of the caller's own is given them.

A row has the columns of neolata's tables, so that any storage can show and keep it. What only we
know stands under `mesh`; `stored_rows.py` reads rows back.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import Any, dataclass, fields
from memory_mesh.compat.neolata.model import GraphEvent, GraphMemory
from memory_mesh.model import (
    SIMILAR,
    Channel,
    Claim,
    Conflict,
    Json,
    Kind,
    Link,
    Memory,
    Resolution,
    Scope,
    Source,
    SourceKind,
    Status,
    Tier,
    memory as model_memory,
)
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.rules.arguments import (
    MEMORY_CHARS,
    check_metadata,
    check_share,
    check_text,
    member,
    moment,
)
from memory_mesh.write import claims

RELATED = "related"
_MOST_NAME = 512  # characters of an id or a type
_MOST_COUNT = 1_000_000_000
_STATUSES = frozenset(Status) - {Status.DELETED, Status.EXPIRED}
_HUMP = re.compile(r"(?<=[a-z0-9])[A-Z]")

PLAIN = (
    "speaker", "role", "order", "confidence", "pinned", "skill", "helpful", "harmful",
    "usefulness", "idle_reinforcements", "idle_disputes", "other_steps",
)  # fmt: skip


def memory_row(
    memory: Memory, shown: GraphMemory, origins: Sequence[str], conflicts: Sequence[Conflict]
) -> dict[str, Json]:
    """A memory as a row; the conflicts are those that it came with."""
    said = shown.provenance
    return {
        "id": memory.id,
        "agent_id": shown.agent,
        "content": memory.text,
        "category": shown.category,
        "tags": list(memory.tags),
        "importance": shown.importance,
        "access_count": memory.uses,
        "created_at": _written(memory.created),
        "updated_at": _written(memory.recorded_from),
        "event_time": _written(memory.occurred_at),
        "session_id": memory.scope.session,
        "claim": _claim_row(memory.claim),
        "provenance": {
            "source": said.source.value,
            "source_id": said.source_id,
            "corroboration": said.corroboration,
            "trust": said.trust,
        },
        "confidence": said.trust,
        "status": memory.status.value,
        "quarantine": shown.quarantine,
        "reinforcements": memory.reinforcements,
        "disputes": memory.disputes,
        "superseded_by": memory.successor,
        "supersedes": list(shown.supersedes),
        "mesh": _own(memory, origins, conflicts),
    }


def link_row(link: Link) -> dict[str, Json]:
    """A link as a row."""
    return {
        "source_id": link.source,
        "target_id": link.target,
        "type": link.type,
        "similarity": link.similarity,
        "created_at": _written(link.at),
    }


def conflict_row(conflict: Conflict, claims: Mapping[str, Claim | None]) -> dict[str, Json]:
    """A conflict as a row, with the claims of its two memories."""
    return {
        "id": conflict.id,
        "new_id": conflict.new,
        "existing_id": conflict.existing,
        "new_trust": conflict.new_trust,
        "existing_trust": conflict.existing_trust,
        "new_claim": _claim_row(claims.get(conflict.new)),
        "existing_claim": _claim_row(claims.get(conflict.existing)),
        "reason": conflict.reason,
        "created_at": _written(conflict.created),
        "resolved_at": _written(conflict.resolved_at),
        "resolution": None if conflict.resolution is None else conflict.resolution.value,
        "why": conflict.why,
    }


def event_row(event: GraphEvent) -> dict[str, Json]:
    """An event as JSON, for a web address."""
    memory = event.memory
    return {
        "event": event.event,
        "at": _written(event.at),
        "agent": event.agent,
        "reason": event.reason,
        "memory": {
            "id": memory.id,
            "content": memory.memory,
            "category": memory.category,
            "importance": memory.importance,
            "tags": list(memory.tags),
            "created_at": _written(memory.created_at),
            "status": memory.status.value,
            "claim": _claim_row(memory.claim),
            "confidence": memory.confidence,
            "superseded_by": memory.superseded_by,
        },
    }


def _own(memory: Memory, origins: Sequence[str], conflicts: Sequence[Conflict]) -> dict[str, Json]:
    """What neolata's columns have no place for."""
    source = memory.source
    return {
        "project": memory.scope.project,
        "kind": memory.kind.value,
        "label": memory.label,
        "importance": memory.importance,
        "tier": memory.tier.value,
        "channel": source.channel.value,
        "source_agent": source.agent,
        "stated": source.stated,
        "valid_from": _written(memory.valid_from),
        "valid_until": _written(memory.valid_until),
        "last_used": _written(memory.last_used),
        "triggers": list(memory.triggers),
        "extra": dict(memory.extra),
        "lesson": None if memory.lesson is None else model_memory.lesson_json(memory.lesson),
        "heritage": None
        if memory.heritage is None
        else model_memory.heritage_json(memory.heritage),
        "origins": memory.origins,
        "said_by": list(origins),
        "conflicts": [conflict_row(each, {}) for each in conflicts],
        **{name: getattr(memory, name) for name in PLAIN},
    }


def _claim_row(claim: Claim | None) -> dict[str, Json] | None:
    if claim is None:
        return None
    return {field.name: getattr(claim, field.name) for field in fields(Claim)}


def _written(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


# Rows of a storage of the caller's own, read back into memories, links and conflicts.
#
# With what stands under `mesh` a memory comes back exactly as it was, without it as far as
# neolata's columns tell. Keys may be spelled as in JavaScript (`createdAt`). Whatever a storage
# returns is checked; an error names the row.


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory out of a storage: itself, who said it, and the conflicts it came with."""

    memory: Memory
    origins: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


def read_memory(row: object, agent: str, project: str | None) -> StoredMemory:
    """A memory out of a row of an agent; InvalidInput names what is wrong with it."""
    said = plain_row(row, "a memory")
    id_ = _name(said.get("id"), "the id of a memory")
    try:
        own = said.get("mesh")
        plain = _read(said, id_, Scope(project, agent, _text(said.get("session_id"))))
        if own is None:
            return StoredMemory(Memory(**plain))
        return _with_own(plain, plain_row(own, "mesh"))
    except (InvalidInput, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"the memory {shown(id_, 100)} cannot be read: {_why(error)}") from None


def read_link(row: object) -> Link:
    """A link out of a row; one that says how similar the two are was found by itself."""
    said = plain_row(row, "a link")
    similarity: Any = said.get("similarity")
    stated = said.get("type")
    number = float(similarity) if _is_number(similarity) and abs(similarity) <= 1 else None
    type_ = _name(stated or (RELATED if number is None else SIMILAR), "the type of a link")
    if type_ == SIMILAR and number is None:
        type_ = RELATED
    return Link(
        _name(said.get("source_id", said.get("source")), "the source of a link"),
        _name(said.get("target_id", said.get("target")), "the target of a link"),
        type_,
        number if type_ == SIMILAR else None,
        moment("created_at", said.get("created_at")),
    )


def read_conflict(row: object) -> Conflict:
    """A conflict out of a row; InvalidInput names what is wrong with it."""
    said = plain_row(row, "a conflict")
    id_ = _name(said.get("id"), "the id of a conflict")
    resolution, created = said.get("resolution"), moment("created_at", said.get("created_at"))
    if created is None:
        raise InvalidInput(f"the conflict {shown(id_, 100)} has no created_at")
    return Conflict(
        id=id_,
        new=_name(said.get("new_id"), "the new memory of a conflict"),
        existing=_name(said.get("existing_id"), "the existing memory of a conflict"),
        new_trust=check_share(said.get("new_trust", 0.5), "new_trust"),
        existing_trust=check_share(said.get("existing_trust", 0.5), "existing_trust"),
        reason=_text(said.get("reason")) or "it contradicts what was known",
        created=created,
        resolved_at=moment("resolved_at", said.get("resolved_at")),
        resolution=None if resolution is None else member("resolution", Resolution, resolution),
        why=_text(said.get("why")),
    )


def rows_in(data: object, name: str) -> list[object]:
    """The rows under a name of what a storage returned; none where it has none."""
    if data is None:
        return []
    if not isinstance(data, Mapping):
        raise InvalidInput("load returns a mapping with memories and links")
    found = data.get(name)
    if found is None:
        return []
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        raise InvalidInput(f"{name} must be a list")
    return list(found)


def plain_row(row: object, name: str, *, spelled: bool = False) -> dict[str, Any]:
    """A row with its keys in one spelling; InvalidInput if it is none."""
    if not isinstance(row, Mapping):
        raise InvalidInput(f"{name} must be a mapping, not {type(row).__name__}")
    if spelled:
        return dict(row)
    return {_HUMP.sub(lambda hump: f"_{hump[0].lower()}", str(key)): row[key] for key in row}


def _read(said: Mapping[str, Any], id_: str, scope: Scope) -> dict[str, Any]:
    """The parts of a memory that neolata's columns tell."""
    text = check_text(said.get("content", said.get("memory", said.get("text"))), "content")
    if not text.strip() or len(text) > MEMORY_CHARS:
        raise InvalidInput(f"content must have 1 to {MEMORY_CHARS} characters")
    created = moment("created_at", said.get("created_at"))
    if created is None:
        raise InvalidInput("created_at is missing")
    status = Status(said.get("status") or Status.ACTIVE)
    if status not in _STATUSES:
        raise InvalidInput(f"status must be one of: {', '.join(sorted(_STATUSES))}")
    category = _text(said.get("category")) or Kind.FACT.value
    provenance = plain_row(said.get("provenance") or {}, "provenance")
    kind, waits = provenance.get("source"), _text(said.get("quarantine"))
    importance = said.get("importance")
    return {
        "id": id_,
        "text": text,
        "scope": scope,
        "kind": Kind(category) if category in set(Kind) else Kind.FACT,
        "label": None if category in set(Kind) else category,
        "tags": tuple(check_text(tag, "a tag") for tag in _list(said.get("tags"))),
        "importance": None if importance is None else check_share(importance, "importance"),
        "uses": _count(said.get("access_count")),
        "created": created,
        "recorded_from": moment("updated_at", said.get("updated_at")) or created,
        "occurred_at": moment("event_time", said.get("event_time")),
        "claim": _claim(said.get("claim")),
        "source": Source(
            SourceKind(str(kind)) if kind in set(SourceKind) else SourceKind.INFERENCE,
            Channel.LIBRARY,
            scope.agent,
            _text(provenance.get("source_id")),
        ),
        "origins": max(1, _count(provenance.get("corroboration"))),
        "status": status,
        "status_today": status,
        "reinforcements": _count(said.get("reinforcements")),
        "disputes": _count(said.get("disputes")),
        "successor": _text(said.get("superseded_by")),
        "extra": {} if waits is None or status is not Status.QUARANTINED else {"quarantine": waits},
    }


def _with_own(plain: dict[str, Any], own: Mapping[str, Any]) -> StoredMemory:
    """The memory exactly as it was."""
    scope, source = plain["scope"], plain["source"]
    lesson, heritage = own.get("lesson"), own.get("heritage")
    exact: dict[str, Any] = {
        "scope": Scope(_text(own.get("project")), scope.agent, scope.session),
        "kind": Kind(own["kind"]),
        "label": _text(own.get("label")),
        "importance": own["importance"] and check_share(own["importance"], "importance"),
        "tier": Tier(own["tier"]),
        "source": Source(
            source.kind,
            Channel(own["channel"]),
            _text(own.get("source_agent")),
            source.ref,
            bool(own["stated"]),
        ),
        "valid_from": moment("valid_from", own.get("valid_from")),
        "valid_until": moment("valid_until", own.get("valid_until")),
        "last_used": moment("last_used", own.get("last_used")),
        "triggers": tuple(check_text(each, "a trigger") for each in _list(own["triggers"])),
        "extra": check_metadata(own["extra"]),
        "lesson": lesson and model_memory.read_lesson(plain_row(lesson, "lesson", spelled=True)),
        "heritage": heritage
        and model_memory.read_heritage(plain_row(heritage, "heritage", spelled=True)),
        "origins": max(1, _count(own.get("origins"))),
    } | {name: _PLAIN[name](own.get(name)) for name in PLAIN}
    return StoredMemory(
        Memory(**plain | exact),
        tuple(check_text(each, "said_by") for each in _list(own["said_by"])),
        tuple(read_conflict(each) for each in _list(own["conflicts"])),
    )


def _claim(value: object) -> Claim | None:
    """A claim as we wrote it, or as neolata states one."""
    if value is None:
        return None
    said = plain_row(value, "claim")
    subject, predicate, of = (
        check_text(said.get(name), name) for name in ("subject", "predicate", "value")
    )
    exclusive = said.get("exclusive", True) is True
    if "read" not in said:
        return claims.stated(subject, predicate, of, exclusive=exclusive)
    return Claim(
        subject=subject,
        predicate=predicate,
        value=of,
        exclusive=exclusive,
        certain=said.get("certain") is True,
        replaces=_text(said.get("replaces")),
        read=said.get("read") is True,
    )


def _name(value: object, name: str) -> str:
    text = check_text(value, name)
    if not 1 <= len(text) <= _MOST_NAME:
        raise InvalidInput(f"{name} must have 1 to {_MOST_NAME} characters")
    return text


def _text(value: object) -> str | None:
    return None if value is None or value == "" else check_text(value, "a value")


def _list(value: object) -> Sequence[object]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput("a list was expected")
    return value


def _count(value: object) -> int:
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= _MOST_COUNT:
        raise InvalidInput("a count must be a whole number of at least 0")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _why(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


def _whole(value: object) -> int | None:
    if value is not None and type(value) is not int:
        raise InvalidInput("order must be a whole number")
    return value


def _factor(value: object) -> float:
    if not _is_number(value):
        raise InvalidInput("usefulness must be a number")
    return float(str(value))


_PLAIN: Mapping[str, Callable[[object], object]] = {
    "speaker": _text,
    "role": _text,
    "order": _whole,
    "confidence": lambda value: None if value is None else check_share(value, "a share"),
    "pinned": lambda value: value is True,
    "skill": _text,
    "helpful": _count,
    "harmful": _count,
    "usefulness": _factor,
    "idle_reinforcements": _count,
    "idle_disputes": _count,
    "other_steps": _count,
}
