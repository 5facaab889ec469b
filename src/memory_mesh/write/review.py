"""What people decide: votes on truth, quarantine, conflicts, and how predicates behave.

Each decision is one transaction and leaves its blocks. What a person lets in takes the place of
what it contradicts; what a person rejects is archived, and its value is remembered under the
store's key, so that it does not come back by another door. Both can be undone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from memory_mesh.base.typed import replace
from memory_mesh.model import (
    NO_DECISION,
    UNDONE,
    Commit,
    Conflict,
    InvalidInput,
    Json,
    Lens,
    Memory,
    NotFound,
    PredicateSchema,
    Put,
    Resolution,
    Rival,
    Scope,
    Standing,
    Status,
    VoteKind,
    Wanted,
)
from memory_mesh.rules import trust
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import (
    MAX_CONFLICTS,
    Change,
    after,
    change_entry,
    decided,
    reasons_of,
    resolved,
    seen,
    turned,
)
from memory_mesh.write.prepare import redact
from memory_mesh.write.rejected_values import forgiveness, sealed
from memory_mesh.write.rules.contradictions import WAITING, contradicted, may_move, voted
from memory_mesh.write.rules.judge import taught_already
from memory_mesh.write.transaction import on_record, superseded

DISPUTED_BELOW = 0.3
_UNDECIDED = (None, Resolution.KEEP_BOTH, Resolution.NEWER_THAN)
_MIDDLE = 0.5  # importance of a memory nobody weighed
_HIDING = frozenset({Resolution.SUPERSEDE, Resolution.REJECT})  # one of the two is out of sight
_REVIEWED = frozenset({Status.ACTIVE, Status.ARCHIVED})


def register(access: Access, schemas: Mapping[str, PredicateSchema]) -> None:
    """Registers predicates for this namespace, for every process."""

    def decide(standing: Standing) -> Commit:
        entries = tuple(
            change_entry(access, standing, f"predicate:{name}", Change("update", "registered"), {})
            for name in schemas
        )
        return Commit(schemas=schemas, entries=entries)

    with access.ledger.read(access.namespace) as snapshot:
        known = snapshot.schemas()
    if any(known.get(name) != schema for name, schema in schemas.items()):
        access.ledger.commit(access.namespace, Wanted(), decide)


def reinforce(access: Access, memory_id: str, reader: Scope, boost: float) -> Memory:
    """Counts a vote that a memory is true, and raises its trust and importance.

    A channel that does not speak for the user moves only memories of less trusted sources, and
    all such channels together move a memory once.
    """

    def decide(standing: Standing) -> Commit:
        old = seen(standing, memory_id, reader)
        said = Change("update", "reinforced")
        kind, bound = VoteKind.REINFORCE, trust.authority(old.source)
        vouched = trust.is_authoritative(access.kind) or trust.BASE[access.kind] > trust.BASE[bound]
        if not vouched or not may_move(old, kind, access.kind):
            return _counted(access, standing, old, kind, said)
        weight = min(1.0, (_MIDDLE if old.importance is None else old.importance) + boost)
        allowed = trust.allowed_importance(access.kind, weight) or 0.0
        new = replace(
            voted(old, kind, access.kind, moves=True),
            importance=max(allowed, old.importance or 0.0),
            recorded_from=standing.at,
        )
        return replace(decided(access, standing, [(new, said)]), counted=(new,))

    return after(access, memory_id, Wanted(ids=(memory_id,)), decide)


def dispute(access: Access, memory_id: str, reader: Scope, reason: str) -> Memory:
    """Counts a vote that a memory is false; after three unsupported ones it waits for review.

    A channel moves no memory of a more trusted source, and all channels that do not speak for the
    user together move a memory once.
    """
    reason = redact(access, reason)

    def decide(standing: Standing) -> Commit:
        old = seen(standing, memory_id, reader)
        kind, said = VoteKind.DISPUTE, Change("review", reason)
        if not trust.may_change(access.kind, old.source) or not may_move(old, kind, access.kind):
            return _counted(access, standing, old, kind, said)
        new = replace(voted(old, kind, access.kind, moves=True), recorded_from=standing.at)
        status = old.status
        if old.status is Status.ACTIVE and trust.is_unsupported(**trust.truth_votes(new)):
            status = Status.QUARANTINED
        elif old.status is Status.ACTIVE and trust.trust_of(new, standing.at) < DISPUTED_BELOW:
            status = Status.DISPUTED
        new = replace(new, status=status, status_today=status)
        return replace(decided(access, standing, [(new, said)]), counted=(new,))

    return after(access, memory_id, Wanted(ids=(memory_id,)), decide)


def review(access: Access, memory_id: str, reader: Scope, *, approve: bool, reason: str) -> Memory:
    """Approves a memory, which supersedes what it contradicts, or archives it."""
    reason = redact(access, reason)

    def decide(standing: Standing) -> Commit:
        old = seen(standing, memory_id, reader)
        if old.status not in WAITING:
            raise InvalidInput(f"{memory_id} does not wait for review: it is {old.status}")
        return _reviewed(access, standing, old, approve=approve, reason=reason)

    return after(access, memory_id, _bearing_on(access, memory_id), decide)


def resolve(
    access: Access, conflict_id: str, reader: Scope, resolution: Resolution, reason: str
) -> Conflict:
    """Resolves a conflict that waits, or decides one anew.

    Supersedes the old memory, rejects the new one, or keeps both.
    """
    reason = redact(access, reason)
    found = conflict(access, conflict_id, lambda scope: trust.sees(reader, scope))

    def decide(standing: Standing) -> Commit:
        now = standing.conflicts[conflict_id]
        newcomer = seen(standing, now.new, reader, deleted=True)
        existing = seen(standing, now.existing, reader, deleted=True)
        if not now.pending and not now.is_guess:
            anew = replace(now, resolution=resolution, resolved_at=standing.at, why=reason)
            return overruled(access, standing, (newcomer, existing), now, anew)
        if resolution is Resolution.KEEP_BOTH:
            return _both(access, standing, newcomer, now, reason)
        if resolution is Resolution.REJECT and newcomer.status not in (*WAITING, Status.ACTIVE):
            said = change_entry(access, standing, newcomer.id, Change("review", reason), {})
            kept_out = sealed(access, newcomer, reason)
            settled = resolved([now], resolution, reason, standing)
            return Commit(entries=(said,), tombstones=kept_out, conflicts=settled)
        if resolution is Resolution.REJECT or newcomer.status in WAITING:
            approve = resolution is Resolution.SUPERSEDE
            return _reviewed(access, standing, newcomer, approve=approve, reason=reason)
        if newcomer.status is not Status.ACTIVE:
            raise InvalidInput(f"{newcomer.id} is {newcomer.status} and cannot replace a memory")
        said = change_entry(access, standing, newcomer.id, Change("review", reason), {})
        done = _in_place_of(access, Commit(entries=(said,)), [existing], newcomer, standing)
        return replace(done, conflicts=resolved([now], resolution, reason, standing))

    done = access.ledger.commit(access.namespace, _bearing_on(access, found.new, found), decide)
    return next(each for each in done.conflicts if each.id == conflict_id)


def conflict(access: Access, conflict_id: str, sees: Callable[[Scope], bool]) -> Conflict:
    """One conflict by its id; one with a memory that the reader does not see is not found."""
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.standing(Wanted(conflicts=(conflict_id,))).conflicts.get(conflict_id)
        ends = () if found is None else (found.new, found.existing)
        memories = snapshot.standing(Wanted(ids=ends)).memories if ends else {}
    if found is None or not all(sees(memory.scope) for memory in memories.values()):
        raise NotFound(
            f"there is no conflict {conflict_id}. List them: memory-mesh conflicts --all"
        )
    return found


def waiting(access: Access, lens: Lens, limit: int) -> list[Memory]:
    """Memories in quarantine that the lens sees, newest first."""
    with access.ledger.read(access.namespace) as snapshot:
        return list(
            snapshot.page(replace(lens, statuses=frozenset({Status.QUARANTINED})), limit, None)
        )


def conflicts(
    access: Access, lens: Lens, limit: int, *, pending: bool, decided: bool
) -> list[Conflict]:
    """Conflicts between memories that the lens sees, newest first."""
    every = replace(lens, statuses=frozenset(Status), any_validity=True)
    with access.ledger.read(access.namespace) as snapshot:
        looked_at = limit
        while True:
            found = snapshot.conflicts(looked_at, pending=pending, decided=decided)
            ids = list(dict.fromkeys(id_ for each in found for id_ in (each.new, each.existing)))
            seen = {memory.id for memory in snapshot.get(ids, every)}
            visible = [each for each in found if {each.new, each.existing} <= seen]
            if len(visible) >= limit or len(found) < looked_at:
                return visible[:limit]
            looked_at *= 4  # those between others' memories are in the way


def _counted(
    access: Access, standing: Standing, memory: Memory, kind: VoteKind, change: Change
) -> Commit:
    """Counts a vote that does not move the memory."""
    new = voted(memory, kind, access.kind, moves=False)
    said: dict[str, Json] = {"vote": kind.value, "moved": False}
    entry = change_entry(access, standing, memory.id, change, said)
    return Commit(entries=(entry,), counted=(new,), after=new)


def _bearing_on(access: Access, memory_id: str, *also: Conflict) -> Wanted:
    """Lists what a decision on a memory must read: its conflicts and the memories in them."""
    with access.ledger.read(access.namespace) as snapshot:
        asked = [
            each
            for each in snapshot.conflicts(MAX_CONFLICTS, pending=False, memory=memory_id)
            if each.new == memory_id and each.resolution in _UNDECIDED
        ]
        memory = snapshot.standing(Wanted(ids=(memory_id,))).memories.get(memory_id)
    claim = memory.claim if memory is not None else None
    about = (
        () if memory is None or claim is None else ((claim.subject, claim.predicate, memory.scope),)
    )
    every = list({each.id: each for each in (*also, *asked)}.values())
    return Wanted(
        ids=(memory_id, *(each.existing for each in every)),
        conflicts=tuple(each.id for each in every),
        claims=about,
        patterns=(
            ()
            if memory is None or memory.lesson is None
            else ((memory.lesson.pattern_id, memory.scope),)
        ),
    )


def _reviewed(
    access: Access, standing: Standing, old: Memory, *, approve: bool, reason: str
) -> Commit:
    """Approves a memory in place of everything it contradicts, or rejects it."""
    pending = [
        each
        for each in standing.conflicts.values()
        if each.new == old.id
        and (each.pending or each.is_guess)
        and not (approve and each.is_guess)
    ]
    new = turned(old, Status.ACTIVE if approve else Status.ARCHIVED, standing)
    done = decided(access, standing, [(new, Change("review", reason))])
    if not approve:
        settled = resolved(pending, Resolution.REJECT, reason, standing)
        return replace(done, tombstones=sealed(access, old, reason), conflicts=settled)
    apart = [each for each in pending if _of_others(new, each, standing)]
    pending = [each for each in pending if each not in apart]
    settled = (
        *resolved(pending, Resolution.SUPERSEDE, reason, standing),
        *resolved(apart, Resolution.KEEP_BOTH, reason, standing),
    )
    named = [
        standing.memories[each.existing] for each in pending if each.existing in standing.memories
    ]
    known = {memory.id for memory in named}
    others = (*contradicted(new, standing), *taught_already(new, standing))
    later = [memory for memory in others if memory.id not in known]
    more = tuple(
        on_record(access, new, _rival(new, memory, standing), standing, reason) for memory in later
    )
    done = _in_place_of(access, done, [*named, *later], new, standing)
    return replace(done, conflicts=(*settled, *more))


def _of_others(new: Memory, conflict: Conflict, standing: Standing) -> bool:
    """True for a conflict with a memory that states another person by now."""
    other = standing.memories.get(conflict.existing)
    return other is not None and trust.said_by_different(new, other)


def _rival(new: Memory, old: Memory, standing: Standing) -> Rival:
    """Compares the memory with one that was stored after it was judged."""
    ours, theirs = trust.trust_of(new, standing.at), trust.trust_of(old, standing.at)
    return Rival(old, ours, theirs, "it stood there at the review", Resolution.SUPERSEDE)


def _both(
    access: Access, standing: Standing, newcomer: Memory, now: Conflict, reason: str
) -> Commit:
    """Keeps both; a memory that waited for this decision only becomes active."""
    others = [
        each
        for each in standing.conflicts.values()
        if each.pending and each.new == newcomer.id and each.id != now.id
    ]
    settled = resolved([now], Resolution.KEEP_BOTH, reason, standing)
    if newcomer.status in WAITING and not others:
        approved = turned(newcomer, Status.ACTIVE, standing)
        since = _unasked(access, approved, now, standing)
        if since:
            said = change_entry(access, standing, newcomer.id, Change("review", reason), {})
            return Commit(entries=(said,), conflicts=(*settled, *since))
        done = decided(access, standing, [(approved, Change("review", reason))])
        return replace(done, conflicts=settled)
    said = change_entry(access, standing, newcomer.id, Change("review", reason), {})
    return Commit(entries=(said,), conflicts=settled)


def _unasked(access: Access, new: Memory, now: Conflict, standing: Standing) -> list[Conflict]:
    """Makes conflicts with memories stored since; each needs its own decision."""
    asked = {each.existing for each in standing.conflicts.values() if each.new == new.id}
    return [
        on_record(access, new, replace(_rival(new, memory, standing), resolution=None), standing)
        for memory in contradicted(new, standing)
        if memory.id not in asked and memory.id != now.existing
    ]


def _in_place_of(
    access: Access, done: Commit, gone: Sequence[Memory], new: Memory, standing: Standing
) -> Commit:
    closed = [
        superseded(access, old, new, standing)
        for old in {memory.id: memory for memory in gone}.values()
        if old.status is Status.ACTIVE
    ]
    return replace(
        done,
        puts=(*done.puts, *(put for put, _ in closed)),
        entries=(*done.entries, *(entry for _, entry in closed)),
    )


def chain(access: Access, lens: Lens, memory_id: str) -> list[Memory]:
    """What a memory replaced, itself, and what replaced it, oldest first, as the lens sees them."""
    every = replace(lens, statuses=frozenset(Status), any_validity=True)
    with access.ledger.read(access.namespace) as snapshot:
        found = {memory.id: memory for memory in snapshot.get([memory_id], every)}
        if memory_id not in found:
            raise NotFound.of(memory_id)
        later = found[memory_id].successor
        while later is not None and later not in found and len(found) < MAX_CONFLICTS:
            seen = snapshot.get([later], every)
            found |= {memory.id: memory for memory in seen}
            later = seen[0].successor if seen else None
        waiting_for = [memory_id]
        while waiting_for and len(found) < MAX_CONFLICTS:
            current = waiting_for.pop()
            earlier = [
                each.existing
                for each in snapshot.conflicts(MAX_CONFLICTS, pending=False, memory=current)
                if each.new == current and each.resolution is Resolution.SUPERSEDE
            ]
            seen = snapshot.get([id_ for id_ in earlier if id_ not in found], every)
            found |= {memory.id: memory for memory in seen}
            waiting_for += [memory.id for memory in seen]
    return sorted(found.values(), key=lambda memory: (memory.created, memory.id))


def undo(access: Access, memory_id: str, reader: Scope) -> Memory:
    """Undoes a review, or else what was decided about a memory's conflicts.

    After a review the memory waits again and what it superseded is active again. What a rule or a
    person decided of a conflict is undone from either side: both memories are kept, and a conflict
    that a person decided waits for a decision again.
    """
    with access.ledger.read(access.namespace) as snapshot:
        came_with = snapshot.conflicts(MAX_CONFLICTS, pending=False, memory=memory_id)
        came_upon = snapshot.conflicts(MAX_CONFLICTS, pending=False, existing=memory_id)
    asked = {each.id: each for each in (*came_with, *came_upon)}

    def decide(standing: Standing) -> Commit:
        old = seen(standing, memory_id, reader)
        now = [standing.conflicts[id_] for id_ in asked if id_ in standing.conflicts]
        reviewed = [each for each in now if each.new == memory_id and not each.by_rule]
        ruled = [
            each
            for each in now
            if each.is_guess or each.resolution in _HIDING or _kept_by_person(each)
        ]
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
    archived = old.status is Status.ARCHIVED
    forgiven = forgiveness(access, old) if archived else ()
    return replace(decided(access, standing, again), conflicts=_reopened(ended), forgiven=forgiven)


def _kept_by_person(each: Conflict) -> bool:
    """Whether a person kept both memories; that a rule no longer holds is no decision."""
    return each.resolution is Resolution.KEEP_BOTH and each.why not in NO_DECISION


def _reopened(ended: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """The conflicts as they were before anybody decided."""
    return tuple(replace(each, resolution=None, resolved_at=None, why=None) for each in ended)


def _both_kept(
    access: Access, standing: Standing, old: Memory, ruled: Sequence[Conflict]
) -> Commit:
    """Both memories of each conflict are kept; what was hidden is active again.

    A conflict that a person decided waits again; what a rule decided has ended by this.
    """
    why = UNDONE
    back = {memory.id: memory for memory in _revived(ruled, standing)}
    rejected = [memory for memory in _readmitted(ruled, standing) if memory.id not in back]
    back |= {memory.id: memory for memory in rejected}
    done = decided(access, standing, [(memory, Change("restore", why)) for memory in back.values()])
    said = change_entry(access, standing, old.id, Change("review", why), {})
    by_rule = [each for each in ruled if each.by_rule]
    return replace(
        done,
        entries=(*done.entries, said),
        conflicts=(
            *resolved(by_rule, Resolution.KEEP_BOTH, why, standing),
            *_reopened(each for each in ruled if each not in by_rule),
        ),
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
