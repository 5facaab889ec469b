"""What becomes of a memory that is stored already, when it is said again.

A source that is trusted less adds an observation; one that is trusted as much adds tags, triggers
and metadata too. If the source is trusted more, the memory has its words from then on, and if it
has more authority its details alone: whatever the other one stated stays in the earlier version.
"""

from memory_mesh.fastdataclass import fields, replace
from memory_mesh.flows.access import Access
from memory_mesh.flows.blocks import Change, Told, change_entry
from memory_mesh.flows.decide import observation, on_record, stated_fields
from memory_mesh.flows.prepare import Worded, retagged, tagged
from memory_mesh.model import (
    Commit,
    Draft,
    Json,
    Memory,
    Outcome,
    Put,
    Receipt,
    Standing,
    Statement,
    Wording,
)
from memory_mesh.policy.writing import merging, receipts
from memory_mesh.policy.writing.contradictions import as_believed, guesses, said_again
from memory_mesh.policy.writing.trust import authority, may_change

_STATED = tuple(field.name for field in fields(Statement))


def merged(
    access: Access, worded: Worded, into: Memory, standing: Standing
) -> tuple[Commit, Memory]:
    """What a repeated statement changes, and the memory that it ended in."""
    draft, wording = worded
    found = _said_again(access, draft, into, standing)
    after, stated = found.memory, found.memory if found.instead else into
    again = said_again(draft, after, standing) if after.claim is not None else []
    reread = _claimed(after) != _claimed(into)
    guessed = guesses(after, standing) if reread else []
    reason = merging.reason(into, found)
    receipt = replace(
        Receipt.of(after, Outcome.MERGED, reason),
        newer_than=tuple(rival.memory.id for rival in again),
    )
    receipt = receipts.merged(receipt, draft, wording, stated, found, again=again)
    told = Told(Outcome.MERGED, receipts.recorded(receipt, stated.text))
    said = _changes(into, found, wording) | told.metadata
    entry = change_entry(access, standing, into.id, Change("merge", reason), said)
    commit = Commit(
        conflicts=tuple(on_record(access, after, one, standing) for one in (*again, *guessed)),
        observations=(observation(access, into.id, wording, told, draft),),
        entries=(entry,),
        receipts=(replace(receipt, block_id=entry.id),),
    )
    if after is into:
        return commit, into
    after = replace(after, recorded_from=standing.at)
    return replace(
        commit,
        puts=(Put(after, _found_by(after, into, wording), told.reasons),),
        reread=(into.id,) if reread else (),
        relinked=(into.id,) if after.text != into.text else (),
    ), after


def _said_again(access: Access, draft: Draft, into: Memory, standing: Standing) -> merging.Merged:
    """The memory after it was said again: as it was, with more, or in the words of the draft."""
    source = as_believed(draft, standing).source
    if not merging.takes_over(into, source, standing):
        adds = merging.may_add(into, source, standing)
        return merging.merged(into, draft, adds=adds)
    stated = stated_fields(access, draft, standing)
    if may_change(authority(into.source), source):  # of one writer, who states more about it now
        found = merging.merged(into, draft, adds=True)
        words = {name: stated[name] for name in ("text", "source", "claim")}
        return replace(found, memory=replace(found.memory, **words), instead=True)
    stated["pinned"] |= into.pinned  # only the user pins
    return merging.Merged(replace(into, **stated), instead=True)


def _changes(into: Memory, found: merging.Merged, wording: Wording) -> dict[str, Json]:
    """What the block of the merge says of the new version."""
    said: dict[str, Json] = {"not_taken": dict(found.aside)} if found.aside else {}
    after = found.memory
    changed: list[Json] = [name for name in _STATED if getattr(into, name) != getattr(after, name)]
    if changed:
        said["changed"] = changed
    if after.text != into.text:
        said["content_sha256"] = wording.hash.hex()
    return said


def _claimed(memory: Memory) -> tuple[str, str, str] | None:
    claim = memory.claim
    return None if claim is None else (claim.subject, claim.predicate, claim.value)


def _found_by(after: Memory, into: Memory, wording: Wording) -> Wording | None:
    """The wording that new tags or a new text find, with its vectors."""
    if after.text != into.text:
        return tagged(wording, after.tags)
    new = retagged(into, after.tags) if after.tags != into.tags else None
    if new is None or wording.text != into.text:
        return new
    return replace(new, space=wording.space, vectors=wording.vectors, spans=wording.spans)
