"""The original's LanceDB tables (RFC-0011 section 2): their columns, and our values as rows.

A row is a mapping of plain values; its times are milliseconds since 1970, in UTC. `memory_mesh` in
a row's metadata holds what the columns alone cannot say. How rows are read is in `table_rows`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.base.typed import dataclass
from memory_mesh.compat import millis, moment
from memory_mesh.compat.rfc11.rows import (
    KEPT_ASIDE,
    OURS,
    SET_ASIDE,
    compact,
    memory_draft,
    taken,
    unsaid,
)
from memory_mesh.formats import yamo
from memory_mesh.model import (
    Block,
    BlockOperation,
    InvalidInput,
    Json,
    Memory,
    Skill,
    heritage_json,
    memory_type,
)

MEMORIES, BLOCKS, SKILLS = "memory_entries", "yamo_blocks", "synthesized_skills"
DIMENSION = 384  # numbers of a vector, where nothing else is known
_OPERATIONS = ("retain", "recall", "reflect", "synthesize", "lesson")
_INT32 = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, what it holds (text, vector, time, float or int), if it may be null."""

    name: str
    holds: str = "text"
    nullable: bool = True


V1_COLUMNS = (
    Column("id", nullable=False),
    Column("vector", "vector"),
    Column("content", nullable=False),
    Column("metadata"),
    Column("created_at", "time", nullable=False),
    Column("updated_at", "time"),
)
PROMOTED = (
    Column("session_id"),
    Column("agent_id"),
    Column("memory_type"),
    Column("importance_score", "float"),
    Column("access_count", "int"),
    Column("last_accessed", "time"),
    Column("heritage_chain"),
    Column("lesson_pattern_id"),
    Column("source_skill_id"),
)
V2_COLUMNS = (*V1_COLUMNS, *PROMOTED)
BLOCK_COLUMNS = (
    Column("id", nullable=False),
    Column("agent_id"),
    Column("operation_type", nullable=False),
    Column("yamo_text", nullable=False),
    Column("timestamp", "time", nullable=False),
    Column("block_hash"),
    Column("prev_hash"),
    Column("metadata"),
)
SKILL_COLUMNS = (
    Column("id", nullable=False),
    Column("name", nullable=False),
    Column("intent", nullable=False),
    Column("yamo_text", nullable=False),
    Column("vector", "vector"),
    Column("metadata"),
    Column("created_at", "time", nullable=False),
)


def is_schema_v2(names: Iterable[str]) -> bool:
    """RFC-0011's test: a table with the column `session_id` is of schema V2."""
    return "session_id" in set(names)


def is_schema_v1(names: Iterable[str]) -> bool:
    """The complement of `is_schema_v2`."""
    return not is_schema_v2(names)


def memory_row(
    memory: Memory, *, vector: bytes | None = None, changed_at: datetime | None = None
) -> dict[str, object]:
    """The V2 row of a memory; `changed_at` is when it was last changed here, if ever."""
    said, origin = _put_back(memory.metadata)
    updated = changed_at or _maybe_moment(origin["updated_at"])
    pattern = memory.extra.get("lesson_pattern_id")
    row: dict[str, object] = {
        "id": memory.id,
        "vector": vector,
        "content": memory.text,
        "metadata": compact(said),
        "created_at": millis(memory.created),
        "updated_at": None if updated is None else millis(updated),
        "session_id": memory.scope.session or memory.extra.get("session_id"),
        "agent_id": memory.scope.agent or origin["agent_id"],
        "memory_type": origin["memory_type"] or memory_type(memory),
        "importance_score": memory.importance,
        "access_count": min(memory.uses, _INT32),
        "last_accessed": None if memory.last_used is None else millis(memory.last_used),
        "heritage_chain": compact(heritage_json(memory.heritage)) if memory.heritage else None,
        "lesson_pattern_id": pattern if isinstance(pattern, str) else None,
        "source_skill_id": memory.skill,
    }
    if memory.lesson is not None:
        row["lesson_pattern_id"] = memory.lesson.pattern_id
    more = _unsaid(memory, row)
    return row | ({"metadata": compact(said | {OURS: more})} if more else {})


def skill_row(skill: Skill, *, vector: bytes | None = None) -> dict[str, object]:
    """The row of a skill."""
    return {
        "id": skill.id,
        "name": skill.name,
        "intent": skill.intent,
        "yamo_text": skill.text,
        "vector": vector,
        "metadata": compact(skill.metadata),
        "created_at": millis(skill.created),
    }


def block_row(block: Block, previous: str | None) -> dict[str, object]:
    """The row of a block: the hash is of its text as RFC-0011 has it, ours is in metadata.

    `previous` is the hash of the row before. An operation that is not one of the RFC's five is
    written as retain.
    """
    entry = block.entry
    said: dict[str, Json] = {**entry.metadata, "memories": list(entry.memories)}
    operation = entry.operation.value
    if operation not in _OPERATIONS:
        said["operation_type"], operation = operation, BlockOperation.RETAIN.value
    if block.hash is not None and block.prev_hash is not None:
        said["chain"] = {
            "position": block.position,
            "hash": block.hash.hex(),
            "prev_hash": block.prev_hash.hex(),
        }
    wire = yamo.as_rfc(entry.wire or "")
    return {
        "id": entry.id,
        "agent_id": entry.agent,
        "operation_type": operation,
        "yamo_text": wire,
        "timestamp": millis(entry.at),
        "block_hash": hashlib.sha256(wire.encode()).hexdigest() if wire else None,
        "prev_hash": previous,
        "metadata": compact(said),
    }


def _put_back(said: dict[str, Json]) -> tuple[dict[str, Json], dict[str, str | None]]:
    """Metadata as the original had it, and the columns that were kept in it."""
    origin = {name: taken(said, f"origin_{name}") for name in KEPT_ASIDE}
    for name in SET_ASIDE:
        if f"unread_{name}" in said and name not in said:
            said[name] = said.pop(f"unread_{name}")
    return said, origin


def _maybe_moment(value: Json) -> datetime | None:
    try:
        return moment("a time", value)
    except InvalidInput:
        return None


def _unsaid(memory: Memory, row: Mapping[str, object]) -> dict[str, Json]:
    try:
        return unsaid(memory, memory_draft(row))
    except InvalidInput:  # metadata at its limit: the row says what it can
        return {}
