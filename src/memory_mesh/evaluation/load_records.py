"""Stores records as memories with the public `add_many`."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.evaluation.records import EvaluationRecord
from memory_mesh.model import Scope
from memory_mesh.sync import MemoryMesh

_ROLES = {"user", "assistant"}
_EVERYWHERE = "user:universal"
_PROJECT = "domain:"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN = {None, "active", "superseded"}  # statuses that are said otherwise
_BATCH = 256  # as many as add_many writes at a time


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """The memory of each record, and the counts of outcomes."""

    memories: Mapping[str, str]
    outcomes: Mapping[str, int]


def store(
    mesh: MemoryMesh,
    records: Sequence[EvaluationRecord],
    progress: Callable[[int], None] | None = None,
) -> StoredRecords:
    """Stores the records in order; a merged record maps to the memory it was merged into."""
    memories: dict[str, str] = {}
    outcomes: dict[str, int] = {}
    for at in range(0, len(records), _BATCH):
        batch = records[at : at + _BATCH]
        for record, receipt in zip(batch, mesh.add_many(map(item, batch)), strict=True):
            outcomes[receipt.outcome.value] = outcomes.get(receipt.outcome.value, 0) + 1
            if receipt.id is not None:
                memories[record.id] = receipt.id
        if progress is not None:
            progress(len(batch))
    return StoredRecords(memories, outcomes)


def joined(first: StoredRecords, second: StoredRecords) -> StoredRecords:
    """Returns two stored sets combined."""
    names = {*first.outcomes, *second.outcomes}
    both = {name: first.outcomes.get(name, 0) + second.outcomes.get(name, 0) for name in names}
    return StoredRecords({**first.memories, **second.memories}, both)


def item(record: EvaluationRecord) -> dict[str, object]:
    """Returns a record as an item of `add_many`, without unknown fields."""
    project = next(iter(projects(record.scopes)), None)
    role = (record.speaker or "").lower()
    ended = None
    if record.superseded_by is not None:
        ended = (record.occurred_at or _LONG_AGO) + timedelta(seconds=1)
    said: dict[str, object] = {
        "speaker": record.speaker or None,
        "role": role if role in _ROLES else None,
        "occurred_at": record.occurred_at,
        "order": record.order,
        "tags": tuple(_every_tag(record)) or None,
        "pinned": record.pinned or None,
        "valid_until": ended,
        "metadata": {"type": record.type} if record.type else None,
    }
    return {
        "content": record.text,
        "key": record.id,
        "scope": Scope(project, None, record.session or None),
        **{name: value for name, value in said.items() if value is not None},
    }


def projects(scopes: Sequence[str]) -> list[str]:
    """Returns the projects among the scopes of a record or question."""
    return [scope.removeprefix(_PROJECT) for scope in scopes if scope != _EVERYWHERE]


def read(file: Path) -> StoredRecords | None:
    """Reads what an earlier, completed run stored."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return StoredRecords(dict(found["memories"]), dict(found["outcomes"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


def write(file: Path, held: StoredRecords) -> None:
    """Marks storing as complete by writing a file atomically."""
    partial = file.with_suffix(".partial")
    text = json.dumps({"memories": dict(held.memories), "outcomes": dict(held.outcomes)})
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)


def _every_tag(record: EvaluationRecord) -> Iterator[str]:
    yield from record.tags
    if record.status not in _PLAIN:
        yield f"status:{record.status}"
