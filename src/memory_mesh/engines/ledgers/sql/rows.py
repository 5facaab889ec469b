"""Rows and values: the one place that knows which column is which field."""

import json
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from memory_mesh.engines.ledgers.sql import sums
from memory_mesh.engines.ledgers.sql.engine import Database
from memory_mesh.engines.ledgers.sql.unreadable import of_rows
from memory_mesh.fastdataclass import fields
from memory_mesh.formats.compact_json import writer
from memory_mesh.model import (
    Block,
    Channel,
    Claim,
    Entry,
    Head,
    Json,
    Kind,
    Lesson,
    Memory,
    Operation,
    Scope,
    Source,
    SourceKind,
    Status,
    Tier,
)
from memory_mesh.model.record import (
    heritage_json,
    lesson_json,
    read_heritage,
    read_lesson,
    severity_rank,
)
from memory_mesh.policy.writing.trust import as_stored_before
from memory_mesh.typed import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]  # what sqlite3 returns
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STATUSES = {each.value: each for each in Status}  # an enum is called for three times the price
_KINDS = {each.value: each for each in Kind}
_TIERS = {each.value: each for each in Tier}
_compact = writer()

MEMORY = """
    m.id, m.created, m.status, m.uses, m.last_used, m.helpful, m.harmful, m.usefulness,
    m.reinforcements, m.disputes, m.origins, m.idle_reinforcements, m.idle_disputes,
    m.other_steps, t.content,
    v.recorded_from, v.recorded_until, v.status, v.successor, v.kind, v.label,
    v.project, v.agent, v.session, v.ord, v.speaker, v.role, v.occurred_at, v.valid_from,
    v.valid_until, v.source_kind, v.channel, v.source_agent, v.source_ref, v.importance,
    v.confidence, v.tier, v.pinned, v.tags, v.extra, v.lesson, v.heritage, v.skill, v.claim,
    v.source_stated, v.triggers
"""
KEY_BYTES = 3  # of a digest, by which its index finds it: whole ones would fill many pages
JOINED = "version v JOIN memory m ON m.number = v.memory JOIN text t ON t.number = v.text"
HEAD = "namespace, seq, position, head, recorded, identity, analyzer, old_texts, old_skills"
BLOCK = (
    "position, id, seq, operation, agent, at, memories, wire, salt, erased, metadata, digest, "
    "prev_hash, hash"
)
VERSION = (
    "number, memory, text, seq, recorded_from, recorded_until, status, successor, kind, label, "
    "project, agent, session, ord, speaker, role, occurred_at, valid_from, valid_until, "
    "source_kind, channel, source_agent, source_ref, importance, confidence, tier, pinned, tags, "
    "extra, lesson, pattern, severity, rule_confidence, heritage, skill, claim, subject, "
    "predicate, source_stated, triggers, reasons"
)
FILTERABLE = {
    "id": "m.id",
    "content": "t.content",
    "memory_type": (
        "CASE WHEN v.kind IN ('lesson', 'reflection') THEN v.kind WHEN v.session IS NOT NULL "
        "THEN 'session' WHEN v.agent IS NOT NULL THEN 'agent' ELSE 'global' END"
    ),
    "type": "v.label",
    "kind": "v.kind",
    "label": "v.label",
    "status": "v.status",
    "session_id": (  # the session that owns it, else the one that its metadata names
        "coalesce(v.session, (SELECT k.value FROM json_each(v.extra) k WHERE k.key = 'session_id' "
        "AND k.type = 'text'))"
    ),
    "agent_id": "v.agent",
    "project": "v.project",
    "source": "v.source_agent",
    "source_kind": (  # of rows that were stored before source_stated: as policy.writing.trust says
        "CASE WHEN v.source_stated IS NULL AND v.source_kind = 'user_explicit' AND v.channel = "
        "'library' AND coalesce(v.role, v.speaker, v.source_agent, v.source_ref) IS NULL "
        "THEN 'user_implicit' ELSE v.source_kind END"
    ),
    "channel": "v.channel",
    "speaker": "v.speaker",
    "role": "v.role",
    "order": "v.ord",
    "importance": "v.importance",
    "importance_score": "v.importance",
    "confidence": "v.confidence",
    "access_count": "m.uses",
    "last_accessed": "m.last_used",
    "created_at": "m.created",
    "updated_at": "v.recorded_from",
    "occurred_at": "v.occurred_at",
    "valid_from": "v.valid_from",
    "valid_until": "v.valid_until",
    "pinned": "v.pinned",
    "tier": "v.tier",
    "tags": "v.tags",
    "lesson_pattern_id": "v.pattern",
    "rule_confidence": "v.rule_confidence",
    "severity": "v.severity",
    "source_skill_id": "v.skill",
    "subject": "v.subject",
    "predicate": "v.predicate",
    "source_ref": "v.source_ref",
    "metadata": "v.extra",  # of every key that is no field
}


def micros(moment: datetime | None) -> int | None:
    """A moment as the ledger stores it."""
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND


def moment(stored: int | None) -> datetime | None:
    """A stored time as a moment in UTC."""
    return None if stored is None else _EPOCH + timedelta(microseconds=stored)


def since_epoch(stored: int) -> datetime:
    """A stored time that is always there."""
    return _EPOCH + timedelta(microseconds=stored)


def head(db: Database) -> Head:
    """Where the namespace stands."""
    return head_of(db.execute(f"SELECT {HEAD} FROM store").fetchone())  # noqa: S608  # own names


def head_of(row: Row) -> Head:
    """The head of a row with the columns HEAD."""
    namespace, seq, position, hashed, recorded, *rest = row
    return Head(namespace, seq, position, hashed, since_epoch(recorded), *rest)


def seq_before(db: Database, moment_: datetime) -> int:
    """The seq of the last block before a moment: blocks are in the order of their times."""
    low, high = 0, head(db).position
    while low < high:  # at most 20 looks in a chain of a million
        middle = (low + high + 1) // 2
        (at,) = db.execute("SELECT at FROM block WHERE position = ?", (middle,)).fetchone()
        low, high = (middle, high) if at < millis(moment_) else (low, middle - 1)
    row = db.execute("SELECT seq FROM block WHERE position = ?", (low,)).fetchone()
    return row[0] if row is not None else 0


@of_rows
def memory(row: Row) -> Memory:
    """A version row, joined as JOINED and selected as MEMORY."""
    (id_, created, today, uses, last_used, helpful, harmful, usefulness,
     reinforcements, disputes, origins, idle_reinforcements, idle_disputes, other_steps, content,
     recorded_from, recorded_until, status, successor, kind, label,
     project, agent, session, order, speaker, role, occurred_at, valid_from,
     valid_until, source_kind, channel, source_agent, source_ref, importance,
     confidence, tier, pinned, tags, extra, lesson, heritage, skill, claim,
     stated, triggers) = row  # fmt: skip
    source = _source(source_kind, channel, source_agent, source_ref, stated != 0)
    return Memory(
        id=id_,
        created=since_epoch(created),
        status_today=_STATUSES[today],
        uses=uses,
        last_used=moment(last_used),
        helpful=helpful,
        harmful=harmful,
        usefulness=usefulness,
        reinforcements=reinforcements,
        disputes=disputes,
        origins=origins,
        idle_reinforcements=idle_reinforcements,
        idle_disputes=idle_disputes,
        other_steps=other_steps,
        text=content,
        recorded_from=since_epoch(recorded_from),
        recorded_until=moment(recorded_until),
        status=_STATUSES[status],
        successor=successor,
        kind=_KINDS[kind],
        label=label,
        scope=Scope(project, agent, session),
        order=order,
        speaker=speaker,
        role=role,
        occurred_at=moment(occurred_at),
        valid_from=moment(valid_from),
        valid_until=moment(valid_until),
        source=as_stored_before(source, role, speaker) if stated is None else source,
        importance=importance,
        confidence=confidence,
        tier=_TIERS[tier],
        pinned=bool(pinned),
        tags=() if tags == "[]" else tuple(json.loads(tags)),
        extra={} if extra == "{}" else json.loads(extra),
        lesson=None if lesson is None else read_lesson(json.loads(lesson)),
        heritage=None if heritage is None else read_heritage(json.loads(heritage)),
        skill=skill,
        claim=None if claim is None else Claim(**json.loads(claim)),
        triggers=() if triggers == "[]" else tuple(json.loads(triggers)),
    )


@lru_cache(maxsize=256)
def _source(
    kind: str,
    channel: str,
    agent: str | None,
    ref: str | None,
    stated: bool,  # noqa: FBT001
) -> Source:
    """The source that columns tell of: most memories share theirs with others."""
    return Source(SourceKind(kind), Channel(channel), agent, ref, stated)


def history(db: Database, memory_id: str) -> list[Memory]:
    """Every version of one memory, oldest first."""
    found = db.execute(
        f"SELECT {MEMORY} FROM {JOINED} WHERE m.id = ? ORDER BY v.number",  # noqa: S608
        (memory_id,),
    )
    return [memory(row) for row in found]


def vote_values(value: Memory) -> tuple[object, ...]:
    """A memory's counters of votes, from helpful to other_steps."""
    return (
        value.helpful, value.harmful, sums.real(value.usefulness), value.reinforcements,
        value.disputes, value.idle_reinforcements, value.idle_disputes, value.other_steps,
    )  # fmt: skip


def version_values(
    value: Memory, memory_number: int | None, text: int | None, seq: int
) -> tuple[object, ...]:
    """A new open version, in VERSION's order."""
    return (
        None, memory_number, text, seq, micros(value.recorded_from), None, value.status.value,
        value.successor, value.kind.value, value.label, value.scope.project, value.scope.agent,
        value.scope.session, value.order, value.speaker, value.role, micros(value.occurred_at),
        micros(value.valid_from), micros(value.valid_until), value.source.kind.value,
        value.source.channel.value, value.source.agent, value.source.ref,
        sums.real(value.importance), sums.real(value.confidence), value.tier.value,
        int(value.pinned), dumped(value.tags) if value.tags else "[]",
        dumped(dict(value.extra)) if value.extra else "{}",
        *_lesson(value.lesson),
        None if value.heritage is None else dumped(heritage_json(value.heritage)), value.skill,
        *_claim(value.claim), int(value.source.stated),
        dumped(value.triggers) if value.triggers else "[]",
    )  # fmt: skip


def _claim(claim: Claim | None) -> tuple[str | None, str | None, str | None]:
    """A claim's columns: the whole of it, and what it is looked up by."""
    if claim is None:
        return (None, None, None)
    plain = {name.name: getattr(claim, name.name) for name in fields(Claim)}
    return (dumped(plain), claim.subject, claim.predicate)


def _lesson(lesson: Lesson | None) -> tuple[object, ...]:
    """A lesson's columns: the whole of it, and what it is found and ordered by."""
    if lesson is None:
        return (None, None, None, None)
    rank = severity_rank(lesson.severity)
    return (dumped(lesson_json(lesson)), lesson.pattern_id, rank, sums.real(lesson.confidence))


@of_rows
def block(row: Row) -> Block:
    """A chained block, selected as BLOCK."""
    (position, id_, seq, operation, agent, at, memories, wire, salt, erased, metadata,
     digest, prev_hash, hashed) = row  # fmt: skip
    return Block(
        entry=entry((id_, operation, agent, at, memories, wire, metadata)),
        position=position,
        seq=seq,
        salt=salt,
        digest=digest,
        prev_hash=prev_hash,
        hash=hashed,
        erased=bool(erased),
    )


@of_rows
def entry(row: Row) -> Entry:
    """The part a chained and a recall block share."""
    from memory_mesh.engines.ledgers.sql.packing import unpacked  # of blocks

    id_, operation, agent, at, memories, wire, metadata = row
    said = unpacked(metadata, memories, at)

    return Entry(
        id=id_,
        operation=Operation(operation),
        agent=agent,
        at=_EPOCH + timedelta(milliseconds=at),
        memories=tuple(json.loads(memories)),
        wire=unpacked(wire, memories, at),
        metadata=json.loads(said) if said else {},
    )


def millis(moment_: datetime) -> int:
    """A block's time as it is stored and hashed."""
    return (moment_ - _EPOCH) // timedelta(milliseconds=1)


def marks(count: int) -> str:
    """So many question marks, for the values of a statement."""
    return ", ".join("?" * count)


def dumped(value: Json) -> str:
    """Compact JSON text."""
    return _compact(value)
