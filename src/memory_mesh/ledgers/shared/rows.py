"""Rows and values: the one place that knows which column is which field."""

import json
import re
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache, wraps

from memory_mesh.base.typed import Any, TypeAlias, TypeVar, fields
from memory_mesh.ledgers.shared import sums
from memory_mesh.ledgers.shared.engine import Database
from memory_mesh.model import (
    Block,
    BlockOperation,
    Channel,
    Claim,
    Entry,
    Head,
    Json,
    Kind,
    Lesson,
    Memory,
    Scope,
    Source,
    SourceKind,
    Status,
    StoreIsDamaged,
    Tier,
    heritage_json,
    lesson_json,
    read_heritage,
    read_lesson,
    severity_rank,
)
from memory_mesh.rules.audit import writer
from memory_mesh.rules.trust import as_stored_before

_PLAIN, _NAMED, _HASHED = 1, 2, 3
_HASH, _MEMORY, _TIME = "\x00", "\x01", "\x02"  # a text that holds one of them is packed plain
_SHA256 = re.compile(r'"([0-9a-f]{64})"')  # found by its first character, so that it costs little
_ID = re.compile(r'"([a-z]+_[0-9]+_[0-9a-f]{6})"')
_SHORT = 128  # characters of a text that may be that of other blocks too
_BITS = -12  # a window of 4 KiB without a header: it is copied for each text
# What a stored text was packed with is needed to read it: other words need another first byte.
_WORDS = (
    b'{"changed":["text"],"content_sha256":"\x00","outcome":"confirmed","reasons":["'
    b'{"content_sha256":"\x00","outcome":"stored","reasons":["stored"],"tags":[]}'
    b'","type":"update","why":"updated by the caller"}'
    b"handoff: SubconsciousReflector;\n  hypothesis_confidence;0.7;\n  lesson_id;\x01;\n"
    b"intent: distill_wisdom_from_execution;\n  original_context;\n  error_pattern;\n"
    b"  pattern_id;\n  severity;high;\npriority: high;\n  oversight_description;\n"
    b"  preventative_rule;\n  rule_confidence;0.7;\n  resolution;\n  applicability_scope;\n"
    b"log: lesson_learned;timestamp;\x02;pattern;severity;\n  memory_type;session;agent;\n"
    b"intent: change_memory;\n  change;update;\noutput:\n  memory_changed;\x01\nmeta:\n"
    b"  rationale;updated by the caller;\n  confidence;1.0;\n"
    b"log: memory_changed;timestamp;\x02;id;\x01;change;update;\n"
    b"agent: MemoryMesh_YAMO_AGENT;\nintent: store_memory_for_future_retrieval;\ncontext:\n"
    b"  memory_id;\x01;\n  memory_type;global;\n  timestamp;\x02;\n  content_length;\n"
    b"constraints:\n  hypothesis;This memory will be relevant to future queries;\n"
    b"priority: medium;\noutput:\n  memory_stored;\x01;\n  content_preview;\nmeta:\n"
    b"  rationale;Memory persisted for semantic search and retrieval;\n"
    b"  observation;Content vectorized and stored in LanceDB;\n  confidence;1.0;\n"
    b"log: memory_retained;timestamp;\x02;id;\x01;type;global;\nhandoff: End;\n"
)

# Rows that hold what was never written: damage, whichever database they are in.


F = TypeVar("F", bound=Callable[..., object])
_NOT_WRITTEN = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


class UnreadableRow(StoreIsDamaged, ValueError):
    """A row holds what was never written."""


def of_rows(read: F) -> F:
    """A function that makes a value of a row: what no row of ours holds is said to be damage."""

    @wraps(read)
    def reading(*row: object) -> object:
        try:
            return read(*row)
        except _NOT_WRITTEN as error:
            raise UnreadableRow(f"a row holds what was never written ({error})") from error

    return reading  # type: ignore[return-value]  # it is called as the function is


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
HEAD_READ = f"SELECT {HEAD} FROM store"  # noqa: S608  # own names
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
    "type": (  # the writer's word, else what lists show: `shown_type`
        "coalesce(v.label, CASE WHEN v.kind IN ('lesson', 'reflection') THEN v.kind "
        "WHEN v.session IS NOT NULL THEN 'session' WHEN v.agent IS NOT NULL THEN 'agent' "
        "WHEN v.project IS NOT NULL THEN 'project' ELSE 'global' END)"
    ),
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
    return head_of(db.execute(HEAD_READ).fetchone())


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
    id_, operation, agent, at, memories, wire, metadata = row
    said = unpacked(metadata, memories, at)

    return Entry(
        id=id_,
        operation=BlockOperation(operation),
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


# Wire text and metadata of a block as bytes: most of it is the same in every block.
#
# A packed text begins with a byte that says how. After 1 follows a raw deflate stream that knows
# the words below. After 2 the same, of a text in which one character stands for the block's memory
# and one for its time. After 3 as after 2, with the 32 bytes of a SHA-256 in front: one character
# stands for its 64 digits. A column that holds text instead of bytes was never packed and is read
# as it is.


def packed(text: str | None, memories: str, at: int) -> bytes | None:
    """Returns a block's text in few bytes; nothing stays nothing.

    `memories` and `at` are the block's columns: the text mostly repeats them.
    """
    if text is None:
        return None
    if _HASH in text or _MEMORY in text or _TIME in text:
        return bytes((_PLAIN,)) + _deflated(text)
    text = _named(text, memories, at)
    if (found := _SHA256.search(text)) is None:
        return bytes((_NAMED,)) + _deflated(text)
    text = f"{text[: found.start(1)]}{_HASH}{text[found.end(1) :]}"
    shrunk = _often_deflated(text) if len(text) <= _SHORT else _deflated(text)
    return bytes((_HASHED,)) + bytes.fromhex(found[1]) + shrunk


def unpacked(stored: str | bytes | None, memories: str, at: int) -> str | None:
    """Returns the text that a column holds; ValueError if its bytes are not of a packed text."""
    if not isinstance(stored, bytes):
        return stored
    form, rest = stored[:1], stored[1:]
    if form == bytes((_PLAIN,)):
        return _inflated(rest)
    if form == bytes((_NAMED,)):
        return _spelled(_inflated(rest), memories, at)
    if form == bytes((_HASHED,)):
        return _spelled(_inflated(rest[32:]), memories, at).replace(_HASH, rest[:32].hex())
    raise ValueError("the text is packed in a way that this version does not know")


def _named(text: str, memories: str, at: int) -> str:
    """The text with a character for the block's first memory and one for its time."""
    if (found := _ID.search(memories)) is not None:
        text = text.replace(found[1], _MEMORY)
    return text.replace(_time(at), _TIME)


def _spelled(text: str, memories: str, at: int) -> str:
    """The text that `_named` made shorter."""
    if (found := _ID.search(memories)) is not None:
        text = text.replace(_MEMORY, found[1])
    return text.replace(_TIME, _time(at))


@lru_cache(maxsize=64)
def _time(at: int) -> str:
    """A time as blocks write it: ISO 8601 in UTC with milliseconds and Z."""
    moment = _EPOCH + timedelta(milliseconds=at)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _deflated(text: str) -> bytes:
    stream = _primed().copy()
    return stream.compress(text.encode()) + stream.flush()


@lru_cache(maxsize=64)
def _often_deflated(text: str) -> bytes:
    """The same for a text that many blocks have once their hash is left out of it."""
    return _deflated(text)


def _inflated(packed_: bytes) -> str:
    stream = zlib.decompressobj(_BITS, _WORDS)
    try:
        text = stream.decompress(packed_) + stream.flush()
    except zlib.error as error:
        raise ValueError("the packed text cannot be read") from error
    if not stream.eof or stream.unused_data:
        raise ValueError("the packed text ends too early or too late")
    return text.decode()


@lru_cache(maxsize=1)
def _primed() -> "zlib._Compress":
    """A stream that knows the words; a copy of it costs a fifth of a new one."""
    return zlib.compressobj(6, zlib.DEFLATED, _BITS, 3, zlib.Z_DEFAULT_STRATEGY, _WORDS)
