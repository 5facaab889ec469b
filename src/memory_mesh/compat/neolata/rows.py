"""Memories, links, conflicts and events as a storage of the caller's own is given them.

A row has the columns of neolata's tables, so that any storage can show and keep it. What only we
know stands under `mesh`; `stored_rows.py` reads rows back.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.compat.neolata.model import GraphEvent, GraphMemory
from memory_mesh.fastdataclass import fields
from memory_mesh.model import Claim, Conflict, Json, Link, Memory, record

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
        "lesson": None if memory.lesson is None else record.lesson_json(memory.lesson),
        "heritage": None if memory.heritage is None else record.heritage_json(memory.heritage),
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
