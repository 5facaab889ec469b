"""RFC-0011's JSON of memories, skills, lessons and heritage chains, and back."""

from collections.abc import Mapping

from memory_mesh.base.typed import fields
from memory_mesh.model.commit import Receipt
from memory_mesh.model.hit import Explanation, Hit, ViewName
from memory_mesh.model.memory import Json, Memory


def explanation_json(how: Explanation) -> dict[str, Json]:
    """How a search was answered, under the names of the fields."""
    return _fields_json(how)


def _fields_json(value: Explanation | ViewName) -> dict[str, Json]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: object) -> Json:
    if isinstance(value, Explanation | ViewName):
        return _fields_json(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else None


def record(item: Memory | Hit | Receipt) -> dict[str, Json]:
    """A plain MemoryRecord (with score for a hit), ready for JSON."""
    plain: dict[str, Json] = {
        "id": item.id,
        "content": item.content,
        "metadata": dict(item.metadata),
        "created_at": item.created_at,
    }
    if isinstance(item, Hit):
        plain |= {"score": item.score, "parts": dict(item.parts), "newer": item.newer}
        plain["conflict"] = item.conflict
        plain |= {"view": _plain(item.view), "trust": item.memory.source.kind.value}
    if isinstance(item, Receipt):
        plain |= {"outcome": item.outcome.value, "reasons": list(item.reasons)}
        plain |= {
            "superseded": list(item.superseded),
            "newer_than": list(item.newer_than),
            "merged_into": item.merged_into,
            "added": list(item.added),
            "for_review": list(item.for_review),
            "conflicts": list(item.conflicts),
            "redacted": dict(item.redacted),
            "vector_pending": item.vector_pending,
            "words": dict(item.words),
            "again": item.again,
            "block_id": item.block_id,
        }
    return plain
