"""Where and by whom is written, and the block that each kind of write leaves."""

from collections.abc import Callable, Mapping

from memory_mesh.formats import rfc11, yamo
from memory_mesh.model import (
    Draft,
    Entry,
    Json,
    Memory,
    Operation,
    Rivals,
    Skill,
    SourceKind,
    Wording,
)
from memory_mesh.policy.patterns import PATTERN_KEYS
from memory_mesh.ports import Embedder, Ids, Ledger, Redactor
from memory_mesh.values import dataclass

_Said = tuple[Operation, yamo.YamoBlock | None]


@dataclass(frozen=True, slots=True)
class Desk:
    """The parts every write needs."""

    ledger: Ledger
    ids: Ids
    namespace: str
    agent: str
    yamo: bool = True
    embedder: Embedder | None = None
    redactor: Redactor | None = None
    heritage_depth: int | None = None  # None: heritage is not tracked
    kind: SourceKind = SourceKind.USER_EXPLICIT  # the most that who writes here may claim to be
    read_claims: bool = True  # claims are read from plain text where none is stated
    seal: Callable[[str], bytes] | None = None  # a keyed digest of what must not come back


@dataclass(frozen=True, slots=True)
class Deed:
    """What is done to a memory, why, and the wording it gets if its text changes."""

    what: str
    why: str
    wording: Wording | None = None


def fresh(desk: Desk, prefix: str, rivals: Rivals) -> str:
    """An id nobody has; another process may have drawn the same one this millisecond."""
    id_ = desk.ids.draw(prefix)
    while rivals.taken(id_):
        id_ = desk.ids.draw(prefix)
    return id_


def kept_entry(desk: Desk, memory: Memory, draft: Draft, wording: Wording, rivals: Rivals) -> Entry:
    """The block of a new memory: a lesson's, a reflection's, or that of anything else."""
    metadata = {"content_sha256": wording.hash.hex()} | _flags(memory)
    return _entry(desk, rivals, memory.id, _kept_block(desk, memory, draft, rivals), metadata)


def change_entry(
    desk: Desk, rivals: Rivals, changed: str, deed: Deed, metadata: Mapping[str, Json]
) -> Entry:
    """The block of a change of a memory or skill."""
    block, why = None, deed.why if desk.redactor is None else desk.redactor.text(deed.why)
    if desk.yamo:
        block = yamo.change(changed, deed.what, agent_id=desk.agent, reason=why, at=rivals.at)
    said = {"type": deed.what, "why": why} | dict(metadata)
    return _entry(desk, rivals, changed, (Operation.CHANGE, block), said)


def skill_entry(desk: Desk, rivals: Rivals, skill: Skill, sources: tuple[str, ...]) -> Entry:
    """The block of a new skill: synthesized from memories, or handed in."""
    import hashlib

    from memory_mesh.formats import wisdom

    if sources:
        operation = Operation.SYNTHESIZE
        block = wisdom.synthesize(skill, agent_id=desk.agent, sources=len(sources), at=rivals.at)
    else:
        operation = Operation.RETAIN
        block = yamo.retain(
            skill.id, skill.text, agent_id=desk.agent, memory_type="skill", at=rivals.at
        )
    metadata: dict[str, Json] = {
        "skill": skill.name,
        "sources": list(sources),
        "content_sha256": hashlib.sha256(skill.text.encode()).hexdigest(),
    }
    return _entry(desk, rivals, skill.id, (operation, block), metadata)


def _kept_block(desk: Desk, memory: Memory, draft: Draft, rivals: Rivals) -> _Said:
    if memory.lesson is not None:
        from memory_mesh.formats import wisdom

        return Operation.LESSON, wisdom.lesson(memory.lesson, at=rivals.at)
    if draft.topic is not None:
        from memory_mesh.formats import wisdom

        block = wisdom.reflect(
            memory, agent_id=desk.agent, topic=draft.topic, sources=len(draft.derived_from)
        )
        return Operation.REFLECT, block
    return Operation.RETAIN, _retained(desk, memory, rivals) if desk.yamo else None


def _retained(desk: Desk, memory: Memory, rivals: Rivals) -> yamo.YamoBlock:
    stated = memory.extra.get("hypothesis")
    return yamo.retain(
        memory.id,
        memory.text,
        agent_id=desk.agent,
        memory_type=rfc11.shown_type(memory),
        at=rivals.at,
        hypothesis=stated if isinstance(stated, str) and stated else yamo.HYPOTHESIS,
    )


def _flags(memory: Memory) -> dict[str, Json]:
    """What a later scan of the blocks looks for: a stated status, a failure, the tags."""
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
    desk: Desk, rivals: Rivals, about: str, said: _Said, metadata: Mapping[str, Json]
) -> Entry:
    operation, block = said
    return Entry(
        id=fresh(desk, f"yamo_{operation}", rivals),
        operation=operation,
        agent=desk.agent,
        at=rivals.at,
        memories=(about,),
        wire=None if block is None or not desk.yamo else yamo.render(block),
        metadata=metadata,
    )
