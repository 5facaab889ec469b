"""The fields of a proposed change as JSON, and back."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import fields
from memory_mesh.model import Channel, Claim, Json, Memory, record
from memory_mesh.policy.writing.drafts import alteration

_NO_DETAILS = {"content", "metadata", "merge"}


def as_json(name: str, value: object) -> Json:
    """A detail of `update` as the proposal keeps it."""
    if isinstance(value, datetime):
        return record.iso(value)
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
