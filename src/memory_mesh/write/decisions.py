"""What every decision of a person is made of: new versions, their blocks, settled conflicts."""

from collections.abc import Callable, Sequence

from memory_mesh.base.fastdataclass import replace
from memory_mesh.model import (
    Commit,
    Conflict,
    Entry,
    Memory,
    Put,
    Resolution,
    Scope,
    Standing,
    Status,
    Wanted,
)
from memory_mesh.model.errors import NotFound
from memory_mesh.rules import audience
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change, change_entry, reasons_of

MAX_CONFLICTS = 100  # conflicts of one memory that a decision on it settles


def seen(standing: Standing, memory_id: str, reader: Scope, *, deleted: bool = False) -> Memory:
    """Returns a memory that the reader sees, or raises NotFound."""
    memory = standing.memories.get(memory_id)
    if memory is None or not audience.sees(reader, memory.scope):
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
