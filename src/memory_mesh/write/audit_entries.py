"""The audit block of each kind of write and read.

And what every decision of a person is made of: new versions, their blocks, settled conflicts.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from memory_mesh.base.digests import sha256
from memory_mesh.base.typed import dataclass, replace
from memory_mesh.formats import yamo
from memory_mesh.model import (
    BlockOperation,
    Commit,
    Conflict,
    Draft,
    Entry,
    Hit,
    Json,
    Lens,
    Memory,
    NotFound,
    Outcome,
    Put,
    Query,
    Resolution,
    Scope,
    Skill,
    Standing,
    Status,
    Wanted,
    Wording,
    shown_type,
)
from memory_mesh.rules import audit, trust
from memory_mesh.write.access import Access, unused_id
from memory_mesh.write.prepare import Worded, redact

RECALL_BYTES = 1_024  # the record of a search with ten hits
QUERY_CHARS = 200  # of a query in its record, or fewer where the record would grow too large
FILTER_CHARS = 100
NO_MEMORY = "none"  # in the block of a write that stored nothing
LEAST_QUERY_BYTES = 128  # for the query's beginning, however many memories were found
_JSON_MARKS = 3  # two quotes and a comma
_NUMBERS = 16  # bytes of a record's number and time
_Said = tuple[BlockOperation, yamo.YamoBlock | str | None]

MAX_CONFLICTS = 100  # conflicts of one memory that a decision on it settles


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to a memory, why, and the wording it gets if its text changes."""

    what: str
    why: str
    wording: Wording | None = None


@dataclass(frozen=True, slots=True)
class WriteEnding:
    """How a write ended, and why, as its block and its row keep it."""

    outcome: Outcome
    reasons: tuple[str, ...]

    @property
    def metadata(self) -> dict[str, Json]:
        """The same as metadata of a block."""
        return {"outcome": self.outcome.value, "reasons": list(self.reasons)}


def kept_entry(
    access: Access, memory: Memory, worded: Worded, standing: Standing, told: WriteEnding
) -> Entry:
    """The block of a new memory: a lesson's, a reflection's, or that of anything else."""
    draft, wording = worded
    metadata = {"content_sha256": wording.hash.hex()} | _flags(memory) | told.metadata
    return _entry(
        access, standing, memory.id, _kept_block(access, memory, draft, standing), metadata
    )


def refusal_entry(access: Access, draft: Draft, told: WriteEnding, standing: Standing) -> Entry:
    """The block of a draft that was not stored: for whom it was, and why, without its text."""
    block, scope = None, draft.scope
    if access.yamo:
        why = "; ".join(told.reasons)
        block = yamo.change(NO_MEMORY, "refuse", agent_id=access.agent, reason=why, at=standing.at)
    metadata: dict[str, Json] = {
        "type": "refuse",
        "audience": {"project": scope.project, "agent": scope.agent, "session": scope.session},
        **told.metadata,
    }
    entry = _entry(access, standing, NO_MEMORY, (BlockOperation.CHANGE, block), metadata)
    return replace(entry, memories=())


def reasons_of(entry: Entry) -> tuple[str, ...]:
    """The reasons that a block gives, for the row that it tells of."""
    why = entry.metadata.get("why")
    return (why,) if isinstance(why, str) and why else ()


def change_entry(
    access: Access, standing: Standing, changed: str, change: Change, metadata: Mapping[str, Json]
) -> Entry:
    """The block of a change of a memory or skill."""
    block, why = None, redact(access, change.why)
    if access.yamo:
        block = yamo.change(changed, change.what, agent_id=access.agent, reason=why, at=standing.at)
    said = {"type": change.what, "why": why} | dict(metadata)
    return _entry(access, standing, changed, (BlockOperation.CHANGE, block), said)


def skill_entry(
    access: Access, standing: Standing, skill: Skill, sources: tuple[str, ...]
) -> Entry:
    """The block of a new skill: synthesized from memories, or handed in."""
    from memory_mesh.formats import yamo_learning

    if sources:
        operation = BlockOperation.SYNTHESIZE
        block = yamo_learning.synthesize(
            skill, agent_id=access.agent, sources=len(sources), at=standing.at
        )
    else:
        operation = BlockOperation.RETAIN
        block = yamo.retain(
            skill.id, skill.text, agent_id=access.agent, memory_type="skill", at=standing.at
        )
    metadata: dict[str, Json] = {
        "skill": skill.name,
        "sources": list(sources),
        "content_sha256": sha256(skill.text.encode()).hexdigest(),
    }
    return _entry(access, standing, skill.id, (operation, block), metadata)


def _kept_block(access: Access, memory: Memory, draft: Draft, standing: Standing) -> _Said:
    if memory.lesson is not None:
        from memory_mesh.formats import yamo_learning

        return BlockOperation.LESSON, yamo_learning.lesson(memory.lesson, at=standing.at)
    if draft.topic is not None:
        from memory_mesh.formats import yamo_learning

        block = yamo_learning.reflect(
            memory, agent_id=access.agent, topic=draft.topic, sources=len(draft.derived_from)
        )
        return BlockOperation.REFLECT, block
    return BlockOperation.RETAIN, _retained(access, memory, standing) if access.yamo else None


def _retained(access: Access, memory: Memory, standing: Standing) -> str:
    stated = memory.extra.get("hypothesis")
    return yamo.retained(
        memory.id,
        memory.text,
        agent_id=access.agent,
        memory_type=shown_type(memory),
        at=standing.at,
        hypothesis=stated if isinstance(stated, str) and stated else yamo.HYPOTHESIS,
    )


def _flags(memory: Memory) -> dict[str, Json]:
    """What a later scan of the blocks looks for: a stated status, a failure, the tags."""
    from memory_mesh.write.rules.failure_pattern import PATTERN_KEYS  # of writes alone

    flags: dict[str, Json] = {}
    status = memory.extra.get("status")
    if isinstance(status, str):
        flags["status"] = status
    if any(key in memory.extra for key in PATTERN_KEYS):
        flags["failure"] = True
    if memory.tags:
        flags["tags"] = list(memory.tags)
    return flags


def _entry(
    access: Access, standing: Standing, about: str, said: _Said, metadata: Mapping[str, Json]
) -> Entry:
    operation, block = said
    wire = yamo.render(block) if isinstance(block, yamo.YamoBlock) else block
    return Entry(
        id=unused_id(access, f"yamo_{operation}", standing),
        operation=operation,
        agent=access.agent,
        at=standing.at,
        memories=(about,),
        wire=wire if access.yamo else None,
        metadata=metadata,
    )


def recall_entry(access: Access, query: Query, hits: Sequence[Hit]) -> Entry:
    """The record of a search."""
    filter_ = trust.filter_text(query.lens)
    if filter_ is not None:
        filter_ = yamo.cut(filter_, FILTER_CHARS, FILTER_CHARS)

    def block(text: str) -> yamo.YamoBlock:
        return yamo.recall(
            text,
            agent_id=access.agent,
            limit=query.limit,
            filter=filter_,
            at=query.lens.now,
            results=len(hits),
            top_score=max((hit.score for hit in hits), default=0.0),
        )

    recalled = (query.text, [hit.id for hit in hits])
    said: dict[str, Json] = {
        "use": "search",
        "profile": query.profile,
        **_reader(access, query.lens),
    }
    if hits:
        said["scores"] = [round(1_000 * hit.score) for hit in hits]  # in thousandths, by rank
    return _read_entry(access, block, recalled, query.lens.now, said)


def use_entry(
    access: Access,
    ids: Sequence[str],
    lens: Lens,
    *,
    asked: str | None = None,
    use: str = "get",
) -> Entry:
    """The record of memories opened by id, or of those that were put into a prompt for a task."""

    def block(text: str) -> yamo.YamoBlock:
        return yamo.recall(
            text,
            agent_id=access.agent,
            limit=len(ids),
            at=lens.now,
            results=len(ids),
            top_score=1.0,
        )

    question = f"id IN ({', '.join(ids)})" if asked is None else asked
    return _read_entry(
        access, block, (question, ids), lens.now, {"use": use, **_reader(access, lens)}
    )


def reader_of(entry: Entry) -> Scope | None:
    """The reader that a record of a search belongs to; None if it is the owner's alone."""
    stated = entry.metadata.get("by")
    if not isinstance(stated, list):
        return None
    parts = [part if isinstance(part, str) else None for part in (*stated, None, None, None)]
    return Scope(parts[0], parts[2] or entry.agent, parts[1])


def _reader(access: Access, lens: Lens) -> dict[str, Json]:
    """Whose record it is; one that looked beyond its own audience belongs to nobody.

    It is the project, session and agent, in few bytes: without the agent that the record names
    itself, and without what is not given at the end.
    """
    scope = lens.scope
    agent = None if scope.agent == access.agent else scope.agent
    parts: list[Json] = [scope.project, scope.session, agent]
    while parts and parts[-1] is None:
        parts.pop()
    return {} if lens.across else {"by": parts}


def _read_entry(
    access: Access,
    block: Callable[[str], yamo.YamoBlock],
    recalled: tuple[str, Sequence[str]],
    at: datetime,
    metadata: dict[str, Json],
) -> Entry:
    """A record whose query text is cut, so that the record of ten memories stays small."""
    query, memories = recalled
    whole = yamo.cut(query, QUERY_CHARS, LEAST_QUERY_BYTES // 2) == query  # whatever else is in it
    entry = Entry(
        id=access.ids.draw("yamo_recall"),
        operation=BlockOperation.RECALL,
        agent=access.agent,
        at=at,
        memories=tuple(memories),
        wire=yamo.render(block(query if whole else "")),
        metadata=metadata,
    )
    if whole:
        return entry
    room = max(RECALL_BYTES - _size(entry), LEAST_QUERY_BYTES) // 2  # a block says it twice
    return replace(entry, wire=yamo.render(block(yamo.cut(query, QUERY_CHARS, room))))


def _size(entry: Entry) -> int:
    """About how many bytes a record takes in the store."""
    parts = (entry.id, entry.agent or "", entry.wire or "", audit.metadata_text(entry.metadata))
    ids = sum(len(id_) + _JSON_MARKS for id_ in entry.memories)
    return _NUMBERS + ids + sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)


def seen(standing: Standing, memory_id: str, reader: Scope, *, deleted: bool = False) -> Memory:
    """Returns a memory that the reader sees, or raises NotFound."""
    memory = standing.memories.get(memory_id)
    if memory is None or not trust.sees(reader, memory.scope):
        raise NotFound.of(memory_id)
    if memory.status is Status.DELETED and not deleted:
        raise NotFound.of(memory_id)
    return memory


def turned(memory: Memory, status: Status, standing: Standing) -> Memory:
    """Returns the next version of a memory, with this status."""
    return replace(memory, status=status, status_today=status, recorded_from=standing.at)


def decided(access: Access, standing: Standing, changed: Sequence[tuple[Memory, Change]]) -> Commit:
    """New versions with their blocks; the first is what the caller asked about."""
    entries: list[Entry] = [
        change_entry(access, standing, memory.id, change, {"status": memory.status.value})
        for memory, change in changed
    ]
    return Commit(
        puts=tuple(
            Put(memory, None, reasons_of(entry))
            for (memory, _), entry in zip(changed, entries, strict=True)
        ),
        entries=tuple(entries),
        after=changed[0][0] if changed else None,
    )


def resolved(
    found: Sequence[Conflict], resolution: Resolution, why: str, standing: Standing
) -> tuple[Conflict, ...]:
    """Returns the conflicts as they are settled now."""
    return tuple(
        replace(conflict, resolution=resolution, resolved_at=standing.at, why=why)
        for conflict in found
    )


def after(
    access: Access, memory_id: str, wanted: Wanted, decide: Callable[[Standing], Commit]
) -> Memory:
    """Commits a decision and returns the memory as it leaves it."""
    found = access.ledger.commit(access.namespace, wanted, decide).after
    assert found is not None, memory_id  # noqa: S101  # every decider here sets it
    return found
