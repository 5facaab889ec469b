"""Bring a deleted memory back, in place of what contradicts it and is trusted no more.

Who restores asks for it, as who evolves does: what took the memory's place gives way, and
`review.undo` keeps both. Beside a more trusted memory it waits for review. What the user restores
is rejected no more. Another channel restores what it could have deleted itself; what the user
deleted comes back by the user's word alone.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from memory_mesh.base.fastdataclass import replace
from memory_mesh.model import (
    Commit,
    Memory,
    Resolution,
    Rival,
    Scope,
    SourceKind,
    Standing,
    Status,
)
from memory_mesh.model.errors import InvalidInput, NotAllowed, NotFound, NotRestorable
from memory_mesh.rules import audience
from memory_mesh.rules.limits import RESTORABLE_DAYS
from memory_mesh.rules.trust import is_authoritative, lowest, outranks, trust_of
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change
from memory_mesh.write.change import REJECTED, Also, changed, commit_change, others_beside
from memory_mesh.write.decide import on_record, rejected, superseded
from memory_mesh.write.rejected_values import forgiveness
from memory_mesh.write.rules.contradictions import contradicted, may_alter
from memory_mesh.write.rules.judge import taught_already

_BLOCKS = 50  # of a memory that are looked at for who deleted it
_RESTORED = Change("restore", "restored by the caller")
_DELETED_BY = (
    "only the user, or who deleted it, can restore {0}; ask the user to run: "
    "memory-mesh restore --id {0}"
)


def restore(access: Access, memory_id: str, reader: Scope, also: Also | None = None) -> Memory:
    """Brings a deleted memory back with the status it had, or to wait for review."""
    deleters = {} if is_authoritative(access.kind) else _deleters(access, memory_id)

    def decide(standing: Standing) -> Commit:
        old = standing.memories.get(memory_id)
        if old is None or not audience.sees(reader, old.scope):
            raise NotFound.of(memory_id)
        if old.status is not Status.DELETED or standing.at - old.recorded_from > timedelta(
            days=RESTORABLE_DAYS
        ):
            raise NotRestorable
        _check_allowed(access, old, deleters, standing)
        before = [each.status for each in standing.history(memory_id)]
        had = [status for status in before if status is not Status.DELETED]
        status = had[-1] if had else Status.ACTIVE  # salvage may have read the last version alone
        new = replace(old, status=status, recorded_from=standing.at)
        return _restored(access, standing, old, new)

    return commit_change(access, memory_id, decide, also)


def _deleters(access: Access, memory_id: str) -> dict[datetime, SourceKind]:
    """Who deleted a memory, by when; a block names only channels that do not speak for the user."""
    with access.ledger.read(access.namespace) as snapshot:
        blocks = snapshot.blocks_about(memory_id, _BLOCKS)
    return {
        block.entry.at: SourceKind(str(block.entry.metadata.get("by", SourceKind.USER_EXPLICIT)))
        for block in blocks
        if block.entry.metadata.get("type") == "delete"
    }


def _check_allowed(
    access: Access, old: Memory, deleters: Mapping[datetime, SourceKind], standing: Standing
) -> None:
    """Raises NotAllowed if this channel could not have deleted the memory, or who did was above."""
    if is_authoritative(access.kind):
        return
    then = old.recorded_from.replace(microsecond=old.recorded_from.microsecond // 1_000 * 1_000)
    by = deleters.get(then, SourceKind.USER_EXPLICIT)  # the time of a block is in milliseconds
    if lowest((by, access.kind)) is not by or not may_alter(access.kind, old, standing.history):
        raise NotAllowed(_DELETED_BY.format(old.id))


def _restored(access: Access, standing: Standing, old: Memory, new: Memory) -> Commit:
    """The memory and what it contradicts: they give way, or it waits."""
    if new.status is not Status.ACTIVE:
        return changed(access, standing, old, new, _RESTORED)
    beside = others_beside(new, standing)
    forgiven: tuple[bytes, ...] = ()
    if rejected(access, new, beside):
        if not is_authoritative(access.kind):
            raise InvalidInput(REJECTED)
        forgiven = forgiveness(access, new)
    against = [*contradicted(new, beside), *taught_already(new, beside)]
    stronger = any(
        outranks(one.source, new.source) or not may_alter(access.kind, one, standing.history)
        for one in against
    )
    if stronger:
        new = replace(new, status=Status.QUARANTINED)
    resolution = None if stronger else Resolution.SUPERSEDE
    conflicts = [
        on_record(access, new, _rival(new, one, resolution, standing), standing, _RESTORED.why)
        for one in against
    ]
    gone = [] if stronger else [superseded(access, one, new, standing) for one in against]
    done = changed(access, standing, old, new, _RESTORED, contradicts=True)
    return replace(
        done,
        puts=(*done.puts, *(put for put, _ in gone)),
        entries=(*done.entries, *(entry for _, entry in gone)),
        conflicts=(*done.conflicts, *conflicts),
        forgiven=forgiven,
    )


def _rival(new: Memory, one: Memory, resolution: Resolution | None, standing: Standing) -> Rival:
    ours, theirs = trust_of(new, standing.at), trust_of(one, standing.at)
    return Rival(one, ours, theirs, "it took the place of a restored memory", resolution)
