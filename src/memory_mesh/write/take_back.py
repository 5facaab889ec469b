"""Takes back what one write did, and what was made of it since; all else stays as it is.

::

    block ── what it records ──▶ what was made of the memory since: deleted
      ▼                          what was archived for that: restored
    added, derived, restored ──▶ what gave way to it is active again; the memory is deleted
    updated, pinned ───────────▶ as its version before
    voted ─────────────────────▶ the vote counts no more
    deleted, archived ─────────▶ restored
    replaced, reviewed ────────▶ the decision is undone

Each step is a change like any other, with its block; what is deleted can be restored.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from memory_mesh.base.typed import fields, replace
from memory_mesh.model import (
    Block,
    BlockOperation,
    Commit,
    InvalidInput,
    Json,
    Kind,
    Memory,
    NotFound,
    Resolution,
    Scope,
    Standing,
    Statement,
    Status,
    VoteKind,
)
from memory_mesh.model.ports import Snapshot
from memory_mesh.rules import trust
from memory_mesh.write import change, review
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import MAX_CONFLICTS, Change, change_entry

ADDED, DERIVED, UPDATED, VOTED = "added", "derived", "updated", "voted"
MOST_BLOCKS = 1_000  # of a memory that are read for its votes
_MOST_MADE = 1_000  # links to what was made of a memory
_TICK = timedelta(microseconds=999)  # a block is dated in milliseconds, a version in microseconds
_KINDS = {  # of a block, by what its change is called
    "delete": "deleted", "restore": "restored", "vote": VOTED, "pin": "pinned",
    "archive": "archived", "review": "reviewed", "supersede": "replaced", "link": "linked",
    "unlink": "unlinked",
}  # fmt: skip
_NEW = (ADDED, DERIVED, "restored")
WORDED = (*_NEW, UPDATED)  # what gives a memory words that others are made of
_STATED = tuple(field.name for field in fields(Statement))
_AWAY = (Status.DELETED, Status.ARCHIVED)


def take_back(access: Access, block_id: str, reader: Scope, reason: str) -> list[Memory]:
    """Takes back the write of a block; returns what changed, the memory itself last."""
    with access.ledger.read(access.namespace) as snapshot:
        block = snapshot.block(block_id)
        id_ = block.entry.memories[0] if block is not None and block.entry.memories else ""
        versions = snapshot.history(id_) if id_ else []
        if block is None or not versions or not trust.sees(reader, versions[-1].scope):
            raise NotFound.of(block_id)
        what = what_of(block)
        made = made_of(snapshot, id_, block.entry.at) if what in WORDED else []
        derived = [snapshot.history(each)[-1] for each in made]
    changed = [
        one for memory in derived
        if memory.status not in _AWAY and trust.sees(reader, memory.scope)
        for one in _undone(access, memory, reader, reason)
    ]  # fmt: skip
    return [*changed, *_taken(access, block, versions, (what, reader, reason))]


def what_of(block: Block, *, is_derived: bool = False) -> str:
    """What a block records, in one word."""
    if block.entry.operation is BlockOperation.CHANGE:
        return _KINDS.get(str(block.entry.metadata.get("type")), UPDATED)
    return DERIVED if is_derived else ADDED


def made_of(snapshot: Snapshot, id_: str, since: datetime) -> list[str]:
    """What was made of a memory since a time, and what was made of that."""
    found: dict[str, None] = {}
    new = [id_]
    while new and len(found) < _MOST_MADE:
        links = snapshot.links(new, None, ["derived_from"], _MOST_MADE)
        made = [
            link.source
            for link in links
            if link.target in new and (link.at is None or link.at >= since)
        ]
        new = [each for each in dict.fromkeys(made) if each not in found and each != id_]
        found |= dict.fromkeys(new)
    return list(found)


def _taken(
    access: Access, block: Block, versions: list[Memory], how: tuple[str, Scope, str]
) -> Iterator[Memory]:
    """Takes back what the block did to its memory."""
    (what, reader, reason), memory = how, versions[-1]
    if what in _NEW:
        yield from _undone(access, memory, reader, reason)
    elif what in {UPDATED, "pinned"}:
        former = [one for one in versions if one.recorded_from < block.entry.at]
        if not former:
            raise InvalidInput(f"there is no version of {memory.id} before {block.entry.id}")
        yield _as_before(access, memory, former[-1], (reader, reason))
    elif what == VOTED:
        yield _unvoted(access, memory.id, block)
    elif what in {"deleted", "archived"}:
        yield change.restore(access, memory.id, reader)
    elif what in {"replaced", "reviewed"}:
        yield review.undo(access, memory.id, reader)
    else:
        raise InvalidInput(f"{block.entry.id} records {what}; undo it with graph link or unlink")


def _undone(access: Access, memory: Memory, reader: Scope, reason: str) -> Iterator[Memory]:
    """Deletes a memory; what gave way to it, or was archived for it, is active again."""
    with access.ledger.read(access.namespace) as snapshot:
        ruled = snapshot.conflicts(MAX_CONFLICTS, pending=False, memory=memory.id)
        gave_way = [one.existing for one in ruled if one.resolution is Resolution.SUPERSEDE]
        hidden = [
            one for id_ in gave_way if (one := snapshot.history(id_)[-1]).successor == memory.id
        ]
        links = snapshot.links([memory.id], None, ["derived_from"], _MOST_MADE)
        sources = [snapshot.history(one.target)[-1] for one in links if one.source == memory.id]
    if hidden:
        review.undo(access, memory.id, reader)
    yield from hidden
    yield change.delete(access, memory.id, reader, reason)
    for source in sources if memory.kind is Kind.DIGEST else ():
        if source.status is Status.ARCHIVED:
            yield change.restore(access, source.id, reader)


def _as_before(access: Access, memory: Memory, former: Memory, who: tuple[Scope, str]) -> Memory:
    """Gives a memory the statement that it had."""
    stated = {name: getattr(former, name) for name in _STATED}
    text = former.text if former.text != memory.text else None
    reader, reason = who
    return change.update(
        access, memory.id, reader, lambda old: replace(old, **stated), text=text, reason=reason
    )


def _unvoted(access: Access, memory_id: str, block: Block) -> Memory:
    """Takes a vote of use back: it is no longer counted, and moves the rank no more."""
    kind = VoteKind(str(block.entry.metadata["vote"]))
    with access.ledger.read(access.namespace) as snapshot:
        blocks = snapshot.blocks_about(memory_id, MOST_BLOCKS)

    def decide(standing: Standing) -> Commit:
        old = standing.memories[memory_id]
        useful = trust.usefulness_then(
            old.usefulness, blocks, lambda one: one.entry.id != block.entry.id
        )
        counts = {kind.value: max(0, getattr(old, kind.value) - 1)}
        new = replace(old, usefulness=useful, **counts)
        said: dict[str, Json] = {
            "vote": kind.value, "moved": False, "takes_back": block.entry.id,
        }  # fmt: skip
        entry = change_entry(access, standing, memory_id, Change("vote", "a vote taken back"), said)
        return Commit(counted=(new,), entries=(entry,), after=new)

    return change.commit_change(access, memory_id, decide)
