"""A row of the original's tables (RFC-0011 section 2), read as what we keep.

A row is a mapping of plain values; its times are milliseconds since 1970, in UTC. Columns win over
metadata, and nothing that was stated is dropped: in metadata `origin_…` keeps a column that has no
place here and `unread_…` a value that is not what its name promises. Both are written back to where
they came from (`tables`). Missing columns are empty ones, so rows of both schemas are read alike.
"""

import json
import math
import struct
from collections.abc import Callable, Mapping
from datetime import datetime

from memory_mesh.base.typed import Any, TypeAlias, fields, replace
from memory_mesh.compat import moment
from memory_mesh.formats import json_text, yamo, yamo_learning
from memory_mesh.learn.rules.skill_rules import START
from memory_mesh.model import (
    BlockError,
    Channel,
    Claim,
    Draft,
    Heritage,
    InvalidInput,
    Json,
    Kind,
    Lesson,
    Memory,
    Origin,
    PriorState,
    Scope,
    SkillOrigin,
    SourceKind,
    Statement,
    Status,
    Tier,
    memory as model_memory,
    memory_type,
    read_heritage,
    times,
)
from memory_mesh.rules.arguments import check_metadata, check_share, check_text, check_whole
from memory_mesh.write.rules.drafts import draft_of
from memory_mesh.write.rules.failure_pattern import pattern_id

Seal: TypeAlias = Callable[[str], str]
Fits: TypeAlias = Callable[[str, str], bool]  # text and seal
_UNSEALED = frozenset({"vector", "importance_score", "metadata"})
_COUNTS = tuple(
    field.name for field in fields(PriorState) if field.name not in {"status", "successor"}
)

Row: TypeAlias = Mapping[str, object]
Said: TypeAlias = dict[str, Json]
Taught: TypeAlias = Callable[[str], Lesson | None]  # the lesson of an id, from the blocks

OURS = "memory_mesh"  # in metadata: what the columns alone cannot say
# Of these a column is kept as origin_…, a value that cannot be read as unread_…
KEPT_ASIDE = ("agent_id", "memory_type", "updated_at")
SET_ASIDE = ("type", "session_id", "source", "tags", "importance_score", "heritage_chain")
SKILL_FIELDS = ("reliability", "use_count", "last_used", "created_at")
_LESSON_TAG = "#lesson_learned"
_WIRE = "yamo_wire_format"  # the original's lessons carry their block
_SPELLINGS = {"applicability_scope": "applicable_scope", "oversight_description": "oversight"}
_LESSON_NEEDS = (
    "lesson_id", "error_pattern", "applicability_scope", "severity", "preventative_rule",
    "original_context",
)  # fmt: skip
_DETAILS = (
    "speaker", "role", "order", "occurred_at", "valid_from", "valid_until", "confidence",
)  # fmt: skip
_MAX_ID_CHARS = 512  # characters of an id
_ID_PARTS = 3  # prefix, milliseconds, hexadecimal


def memory_draft(row: Row, taught: Taught | None = None) -> Draft:
    """The draft of a memory_entries row; InvalidInput says why there is none."""
    said = _metadata(row)
    ours = said.pop(OURS, None)
    lesson, said = _lesson(row, said, taught)
    heritage, said = _heritage(row, said)
    stated = taken(said, "source_skill_id")
    label, scope, said = _audience(row, _weighed(row, said))
    draft = draft_of(
        row.get("content"), _readable(said), {"source_kind": "document"},
        agent_id="", channel=Channel.IMPORT,
    )  # fmt: skip
    draft = replace(
        draft,
        origin=_origin(row),
        scope=scope,
        label=label,
        kind=Kind.LESSON if lesson is not None else _kind(row, label),
        lesson=lesson,
        heritage=heritage,
        skill=_text(row, "source_skill_id") or stated,
        allow_duplicate=True,  # each row keeps its id
    )
    draft = draft if ours is None else _as_ours(draft, ours)
    word = _text(row, "memory_type")
    if word is None or word == memory_type(draft):
        return draft
    return replace(draft, extra={**draft.extra, "origin_memory_type": word})


def skill_given(row: Row) -> tuple[str, dict[str, Json], SkillOrigin]:
    """A synthesized_skills row: the skill's text and metadata, and what it brings along."""
    said = _metadata(row)
    fields = {key: said.pop(key, None) for key in SKILL_FIELDS}
    said.pop("status", None)
    named = {key: text for key in ("name", "intent") if (text := _text(row, key)) is not None}
    reliability, uses = fields["reliability"], fields["use_count"]
    origin = SkillOrigin(
        _id(row),
        _created(row),
        START if reliability is None else check_share(reliability, "reliability"),
        0 if uses is None else check_whole(uses, "use_count", least=0),
        _last_used(fields["last_used"]),
    )
    return check_text(row.get("yamo_text"), "yamo_text"), {**said, **named}, origin


def _last_used(value: Json) -> datetime | None:
    """ISO text, or nothing where it cannot be read: how long ago is no reason to refuse a skill."""
    try:
        return moment("last_used", value) if isinstance(value, str) else None
    except InvalidInput:
        return None


def wire_lesson(text: object) -> Lesson | None:
    """The lesson of a LessonLearned block, or None where the text is no such block."""
    if not isinstance(text, str):
        return None
    try:
        block = yamo.parse(text)
        lesson = yamo_learning.read_lesson(block)
    except BlockError:
        return None
    pattern, log = lesson.pattern_id, block.log
    if not pattern and "pattern" in log[:-1]:
        pattern = log[log.index("pattern") + 1]
    return replace(lesson, pattern_id=pattern, inverse=lesson.inverse or None)


def block_memories(row: Row) -> list[str]:
    """The ids of the memories that a yamo_blocks row is about, as far as its metadata says."""
    try:
        said = _metadata(row)
    except InvalidInput:
        return []
    several = said.get("memories")
    stated = [said.get("memory_id"), *(several if isinstance(several, list) else ())]
    return [id_ for id_ in stated if isinstance(id_, str)]


def unsaid(statement: Statement, back: Draft) -> dict[str, Json]:
    """What is true of a memory and would be lost if only the columns were read `back`."""
    ours, theirs = _spelled(statement), _spelled(back)
    return {key: value for key, value in ours.items() if value != theirs[key]}


def compact(value: Json) -> str:
    """JSON as the original writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def taken(said: Said, name: str) -> str | None:
    """A text taken out of the metadata; any other value is left there."""
    value = said.get(name)
    if not isinstance(value, str):
        return None
    del said[name]
    return value or None


def _origin(row: Row) -> Origin:
    uses = row.get("access_count")
    return Origin(
        id=_id(row),
        created=_created(row),
        uses=max(0, uses) if isinstance(uses, int) else 0,
        last_used=moment("last_accessed", row.get("last_accessed")),
    )


def _id(row: Row) -> str:
    found = _text(row, "id")
    if found is None or len(found) > _MAX_ID_CHARS:
        raise InvalidInput(f"a row needs an id of at most {_MAX_ID_CHARS} characters")
    return found


def _created(row: Row) -> datetime:
    """When the row was made; where the column is empty, an RFC-0011 id tells."""
    found = moment("created_at", row.get("created_at"))
    if found is None:
        parts = str(row.get("id")).split("_")
        stated = parts[-2] if len(parts) >= _ID_PARTS else ""
        found = moment("id", int(stated)) if stated.isascii() and stated.isdecimal() else None
    if found is None:
        raise InvalidInput("the row does not say when it was created")
    return found


def _text(row: Row, name: str) -> str | None:
    value = row.get(name)
    return None if value is None or value == "" else check_text(value, name)


def _metadata(row: Row) -> Said:
    """The metadata object; a text that is none is kept as it is."""
    raw = row.get("metadata")
    if raw is None or raw == "":
        return {}
    try:
        said = json_text.read(str(raw))
    except json_text.HugeNumber:
        raise
    except json_text.JsonFault:
        said = None
    return check_metadata(said if isinstance(said, dict) else {"unread_metadata": str(raw)})


def _kind(row: Row, label: str | None) -> Kind:
    """Lesson and reflection as the column says, any other kind as the writer's own word says."""
    word = _text(row, "memory_type")
    if word in {"lesson", "reflection"}:
        return Kind(word)
    return Kind(label) if label in set(Kind) else Kind.FACT


def _audience(row: Row, said: Said) -> tuple[str | None, Scope, Said]:
    """The writer's word and for whom: a session's or an agent's own where its type says so.

    Other sessions and agents are where a memory comes from, and no reason to hide it.
    """
    label, given = taken(said, "type"), said.get("agent_id")
    stated = taken(said, "session_id")
    session = _text(row, "session_id") or stated
    agent = _text(row, "agent_id") or (given if isinstance(given, str) and given else None)
    word = _text(row, "memory_type") or label
    scope = Scope(
        agent=agent if word == "agent" else None,
        session=session if word == "session" else None,
    )
    updated = moment("updated_at", row.get("updated_at"))
    aside = {
        "session_id": session if scope.session is None else None,
        "origin_agent_id": _text(row, "agent_id") if scope.agent is None else None,
        "origin_updated_at": None if updated is None else times.iso(updated),
    }
    if (label == "session" and not scope.session) or (label == "agent" and not scope.agent):
        label, aside["unread_type"] = None, label  # it names an owner that nobody knows
    return label, scope, said | {key: value for key, value in aside.items() if value is not None}


def _readable(said: Said) -> Said:
    """The metadata with conventional fields that are not what they promise set aside."""
    tags, weight = said.get("tags"), said.get("importance_score")
    number = isinstance(weight, int | float) and not isinstance(weight, bool)
    fine = {
        "type": False,  # a text was taken out before
        "session_id": isinstance(said.get("session_id"), str),
        "source": isinstance(said.get("source"), str),
        "tags": isinstance(tags, list) and all(isinstance(tag, str) for tag in tags),
        "importance_score": number and 0 <= float(str(weight)) <= 1,
    }
    return {key if fine.get(key, True) else f"unread_{key}": item for key, item in said.items()}


def _weighed(row: Row, said: Said) -> Said:
    """The column's importance; metadata may hold the same number with more digits."""
    weight, known = row.get("importance_score"), said.get("importance_score")
    if not isinstance(weight, int | float) or isinstance(weight, bool):
        return said
    if isinstance(known, float) and 0 <= known <= 1 and _single(known) == _single(weight):
        return said
    return said | {
        "importance_score": (
            next(
                (near for n in range(9) if _single(near := round(weight, n)) == _single(weight)),
                weight,
            )
        )
        if 0 <= weight <= 1
        else str(weight)
    }


def _single(value: float) -> bytes:
    return struct.pack("<d" if abs(value) > 1 else "<f", value)


def _heritage(row: Row, said: Said) -> tuple[Heritage | None, Said]:
    """The heritage chain and the metadata without it; one that cannot be read is set aside."""
    stated: Json = _text(row, "heritage_chain") or said.get("heritage_chain")
    said = {key: value for key, value in said.items() if key != "heritage_chain"}
    if stated is None:
        return None, said
    try:
        plain = json_text.read(stated) if isinstance(stated, str) else stated
        return read_heritage(check_metadata(plain)), said
    except (ValueError, InvalidInput):
        return None, said | {"unread_heritage_chain": stated}


def _lesson(row: Row, said: Said, taught: Taught | None) -> tuple[Lesson | None, Said]:
    """The lesson of a row and the metadata without its lines; None where a line is missing.

    Metadata wins over the block's text, the column over both.
    """
    pattern, tags = _text(row, "lesson_pattern_id"), said.get("tags")
    if pattern is not None:
        said = said | {"lesson_pattern_id": pattern}
    tagged = isinstance(tags, list) and _LESSON_TAG in tags
    named = "lesson" in (_text(row, "memory_type"), said.get("type"))
    if not (tagged or named or "lesson_pattern_id" in said):
        return None, said
    told = wire_lesson(said.get(_WIRE))
    if told is None and taught is not None:
        told = taught(str(said.get("lesson_id"))) or taught(str(row.get("id")))
    lines = {} if told is None else model_memory.lesson_json(told)
    for key in model_memory.KEYS:
        value = said.get(key) or said.get(_SPELLINGS.get(key, key))
        lines |= {} if value in (None, "") else {key: value}
    lesson = _read_lesson(lines)
    if lesson is None:
        return None, said
    return lesson, {key: value for key, value in said.items() if key not in model_memory.KEYS}


def _read_lesson(lines: Said) -> Lesson | None:
    texts = {key: value for key, value in lines.items() if key != "rule_confidence"}
    if not all(isinstance(value, str) for value in texts.values()):
        return None
    if any(not texts.get(key) for key in _LESSON_NEEDS):
        return None
    pattern = pattern_id(str(texts["error_pattern"]), str(texts["applicability_scope"]))
    try:
        lesson = model_memory.read_lesson({"lesson_pattern_id": pattern} | lines)
    except (KeyError, TypeError, ValueError):
        return None
    return lesson if 0 <= lesson.confidence <= 1 else None


def _spelled(said: Statement) -> dict[str, Json]:
    """What a memory may have beside its columns, in plain values."""
    stated = {name: getattr(said, name) for name in _DETAILS}
    plain: dict[str, Json] = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in stated.items()
    }
    scope = said.scope
    return plain | {
        "kind": said.kind.value,
        "label": said.label,
        "source_ref": said.source.ref,
        "scope": [scope.project, scope.agent, scope.session],
    }


def _as_ours(draft: Draft, ours: Json) -> Draft:
    """The draft with what `unsaid` said of it; any other value under our name is kept as it is."""
    stated = dict(ours) if isinstance(ours, Mapping) else {"": ours}
    if isinstance(stated.get("kept"), Mapping):  # read by kept.py alone, if its seal fits
        stated = {key: value for key, value in stated.items() if key not in {"kept", "seal"}}
    details: dict[str, object] = {
        key: value for key, value in stated.items() if key not in {"scope", "label"}
    }
    parts, label = stated.get("scope"), stated.get("label", draft.label)
    try:
        if isinstance(parts, list):
            details["scope"] = Scope(*parts)
        fitted = draft_of(draft.text, None, details, agent_id="", channel=Channel.IMPORT)
        label = None if label is None else check_text(label, "label")
    except (InvalidInput, TypeError):
        return replace(draft, extra={**draft.extra, OURS: ours})
    scope = fitted.scope if "scope" in details else draft.scope
    known = {"session_id": scope.session, "origin_agent_id": scope.agent}
    known |= {"unread_type": label}
    return replace(
        draft,
        **{name: getattr(fitted, name) for name in ("kind", *_DETAILS) if name in details},
        scope=scope,
        extra={key: value for key, value in draft.extra.items() if not known.get(key)},
        label=label,
        source=replace(draft.source, ref=fitted.source.ref),
    )


# What only a store of our own can say of a memory: trust, votes, pin and status, under a seal.
#
# An export is a file, and anybody can write one. So what would raise trust is read back only from a
# row whose seal fits: `memory_mesh.kept` in its metadata, sealed together with every column of the
# row but the vector and the rounded importance. Without it the row is a document.


def sealed(row: Mapping[str, object], memory: Memory, seal: Seal) -> dict[str, object]:
    """The row of a memory with what only we can say of it, and a seal on all of it."""
    said = json.loads(str(row["metadata"]))
    ours = said.setdefault(OURS, {})
    if not isinstance(ours, dict):  # a caller's own value under our name
        return dict(row)
    ours["kept"] = _kept(memory)
    try:
        check_metadata(said | {OURS: {**ours, "seal": ""}})
    except InvalidInput:  # metadata at its limit: the row says what it can
        return dict(row)
    ours["seal"] = seal(_kept_text(row, said))
    return {**row, "metadata": compact(said)}


def read_back(row: Row, draft: Draft, fits: Fits) -> tuple[Draft, bool | None]:
    """The draft of a row with what its seal vouches for, and whether it does.

    None instead of True or False means that the row does not claim to be of our own.
    """
    try:
        said = json.loads(str(row.get("metadata") or "{}"))
    except (ValueError, RecursionError):
        return draft, None
    ours = said.get(OURS) if isinstance(said, dict) else None
    if not isinstance(ours, dict) or not isinstance(ours.get("kept"), dict):
        return draft, None
    seal = ours.pop("seal", None)
    if not fits(_kept_text(row, said), seal if isinstance(seal, str) else ""):
        return _lowered(draft, ours["kept"].get("status")), False
    try:
        return _restored(draft, ours["kept"]), True
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("what the row says of its trust and votes cannot be read") from None


def _lowered(draft: Draft, status: Json) -> Draft:
    """A document that says it was not active waits for review; that needs no trust."""
    known = isinstance(status, str) and status in set(Status)
    if not known or status in {Status.ACTIVE, Status.EXPIRED}:
        return draft
    return replace(draft, quarantine=f"it was {status} in the store that it comes from")


def _kept_text(row: Row, said: Mapping[str, Json]) -> str:
    """What is sealed: the columns and the metadata in one spelling."""
    columns = {
        name: value for name, value in row.items() if name not in _UNSEALED and value is not None
    }
    return json.dumps([columns, said], sort_keys=True, separators=(",", ":"))


def _kept(memory: Memory) -> dict[str, Json]:
    claim = memory.claim
    return {
        "source_kind": memory.source.kind.value,
        "channel": memory.source.channel.value,
        "stated": memory.source.stated,
        "importance": memory.importance,
        "pinned": memory.pinned,
        "tier": memory.tier.value,
        "triggers": list(memory.triggers),
        "status": memory.status.value,
        "successor": memory.successor,
        "claim": None
        if claim is None or claim.read
        else {field.name: getattr(claim, field.name) for field in fields(Claim)},
        **{name: getattr(memory, name) for name in _COUNTS},
    }


def _restored(draft: Draft, kept: Mapping[str, Any]) -> Draft:
    """The draft as the export knew the memory; KeyError, TypeError, ValueError if it is damaged."""
    if draft.origin is None:
        raise ValueError("a row without an id")
    source = replace(
        draft.source,
        kind=SourceKind(kept["source_kind"]),
        channel=Channel(kept["channel"]),
        stated=bool(kept["stated"]),
    )
    status = Status(kept["status"])
    counters: dict[str, Any] = {name: _count(name, kept[name]) for name in _COUNTS}
    return replace(
        draft,
        source=source,
        importance=_share("importance", kept["importance"]),
        pinned=bool(kept["pinned"]),
        tier=Tier(kept["tier"]),
        triggers=tuple(kept.get("triggers", ())),  # exports before 0.2 have none
        claim=None if kept["claim"] is None else Claim(**kept["claim"]),
        origin=replace(
            draft.origin,
            kept=PriorState(
                status=Status.ACTIVE if status is Status.EXPIRED else status,
                successor=kept["successor"],
                **counters,
            ),
        ),
    )


def _count(name: str, value: object) -> float:
    """A counter of votes; the weight that they make is the only fraction."""
    if name == "usefulness" and isinstance(value, float) and math.isfinite(value):
        return value
    return check_whole(value, name, least=0)


def _share(name: str, value: object) -> float | None:
    return None if value is None else check_share(value, name)
