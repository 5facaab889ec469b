"""Undo a review or a decision on a conflict, and decide a conflict anew."""

from collections.abc import Sequence

from memory_mesh.base.fastdataclass import replace
from memory_mesh.model import (
    Commit,
    Conflict,
    Memory,
    Put,
    Resolution,
    Scope,
    Standing,
    Status,
    Wanted,
)
from memory_mesh.model.errors import InvalidInput
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import Change, change_entry, reasons_of
from memory_mesh.write.decide import superseded
from memory_mesh.write.decisions import MAX_CONFLICTS, after, decided, resolved, seen, turned
from memory_mesh.write.rejected_values import forgiveness, sealed
from memory_mesh.write.rules.contradictions import WAITING, contradicted

_HIDING = frozenset({Resolution.SUPERSEDE, Resolution.REJECT})  # one of the two is out of sight
_REVIEWED = frozenset({Status.ACTIVE, Status.ARCHIVED})


def undo(access: Access, memory_id: str, reader: Scope) -> Memory:
    """Undoes a review, or else what was decided about a memory's conflicts.

    After a review the memory waits again and what it superseded is active again. What a rule or a
    person decided of a conflict is undone from either side: both memories are kept.
    """
    with access.ledger.read(access.namespace) as snapshot:
        came_with = snapshot.conflicts(MAX_CONFLICTS, pending=False, memory=memory_id)
        came_upon = snapshot.conflicts(MAX_CONFLICTS, pending=False, existing=memory_id)
    asked = {each.id: each for each in (*came_with, *came_upon)}

    def decide(standing: Standing) -> Commit:
        old = seen(standing, memory_id, reader)
        now = [standing.conflicts[id_] for id_ in asked if id_ in standing.conflicts]
        reviewed = [each for each in now if each.new == memory_id and not each.by_rule]
        ruled = [each for each in now if each.is_guess or each.resolution in _HIDING]
        before = [version.status for version in standing.history(memory_id)][:-1]
        if before and before[-1] in WAITING and old.status in _REVIEWED:
            return _review_undone(access, standing, old, before[-1], reviewed)
        if ruled:
            return _both_kept(access, standing, old, ruled)
        raise InvalidInput(f"there is no review of {memory_id} and no decision to undo")

    others = (id_ for each in asked.values() for id_ in (each.new, each.existing))
    wanted = Wanted(ids=(memory_id, *others), conflicts=tuple(asked))
    return after(access, memory_id, wanted, decide)


def _review_undone(
    access: Access, standing: Standing, old: Memory, before: Status, ended: Sequence[Conflict]
) -> Commit:
    """The memory waits again; what it superseded is active again."""
    again = [(turned(old, before, standing), Change("review", "the review was undone"))]
    again += [
        (revived, Change("restore", "the review was undone"))
        for revived in _revived(ended, standing)
    ]
    reopened = tuple(replace(each, resolution=None, resolved_at=None, why=None) for each in ended)
    archived = old.status is Status.ARCHIVED
    forgiven = forgiveness(access, old) if archived else ()
    return replace(decided(access, standing, again), conflicts=reopened, forgiven=forgiven)


def _both_kept(
    access: Access, standing: Standing, old: Memory, ruled: Sequence[Conflict]
) -> Commit:
    """Both memories of each conflict are kept; what was hidden is active again."""
    why = "the decision was undone"
    back = {memory.id: memory for memory in _revived(ruled, standing)}
    rejected = [memory for memory in _readmitted(ruled, standing) if memory.id not in back]
    back |= {memory.id: memory for memory in rejected}
    done = decided(access, standing, [(memory, Change("restore", why)) for memory in back.values()])
    said = change_entry(access, standing, old.id, Change("review", why), {})
    return replace(
        done,
        entries=(*done.entries, said),
        conflicts=resolved(ruled, Resolution.KEEP_BOTH, why, standing),
        forgiven=tuple(each for memory in rejected for each in forgiveness(access, memory)),
        after=back.get(old.id, old),
    )


def _readmitted(ended: Sequence[Conflict], standing: Standing) -> list[Memory]:
    """Makes memories active again that were rejected in a conflict."""
    found = {
        each.new: standing.memories[each.new]
        for each in ended
        if each.resolution is Resolution.REJECT and each.new in standing.memories
    }
    return [
        turned(memory, Status.ACTIVE, standing)
        for memory in found.values()
        if memory.status is Status.ARCHIVED
    ]


def _revived(ended: Sequence[Conflict], standing: Standing) -> list[Memory]:
    """Makes superseded memories active again; refuses if another memory contradicts them now."""
    found: list[Memory] = []
    for each in ended:
        other = standing.memories.get(each.existing)
        if other is None or other.status is not Status.SUPERSEDED or other.successor != each.new:
            continue
        revived = replace(turned(other, Status.ACTIVE, standing), successor=None)
        now = revived
        if revived.claim is not None and standing.claimed is not None:
            about = (revived.claim.subject, revived.claim.predicate, revived.scope)
            there = contradicted(revived, standing.claimed(Wanted(claims=(about,))))
            now = next((memory for memory in there if memory.id != each.new), revived)
        if now is not revived:
            raise InvalidInput(f"{now.id} contradicts {other.id} now; undo or delete it first")
        found.append(revived)
    return found


def overruled(
    access: Access, standing: Standing, pair: tuple[Memory, Memory], now: Conflict, anew: Conflict
) -> Commit:
    """A person decides anew: what the earlier decision hid may be active again."""
    newcomer, existing = pair
    if anew.resolution is now.resolution:
        said = change_entry(access, standing, newcomer.id, Change("review", anew.why or ""), {})
        return Commit(entries=(said,), conflicts=(anew,))
    done = _both_kept(access, standing, newcomer, [now])
    kept = {put.memory.id: put.memory for put in done.puts}
    newcomer, existing = (kept.get(memory.id, memory) for memory in (newcomer, existing))
    done = replace(done, conflicts=(anew,))
    if anew.resolution is Resolution.KEEP_BOTH:
        return done
    if anew.resolution is Resolution.REJECT:
        done = replace(done, tombstones=sealed(access, newcomer, anew.why or ""))
        if newcomer.status not in {*WAITING, Status.ACTIVE}:
            return done
        gone = turned(newcomer, Status.ARCHIVED, standing)
        entry = change_entry(access, standing, gone.id, Change("review", anew.why or ""), {})
        put = Put(gone, None, reasons_of(entry))
    else:
        if newcomer.status is not Status.ACTIVE:
            raise InvalidInput(f"{newcomer.id} is {newcomer.status} and cannot replace a memory")
        if existing.status is not Status.ACTIVE:
            return done
        put, entry = superseded(access, existing, newcomer, standing)
    puts = {each.memory.id: each for each in (*done.puts, put)}
    return replace(done, puts=tuple(puts.values()), entries=(*done.entries, entry))
