"""What people decide: votes on truth, quarantine, conflicts, and how predicates behave.

Each decision is one transaction and leaves its blocks. What a person lets in takes the place of
what it contradicts; what a person rejects is archived, and its value is remembered under the
store's key, so that it does not come back by another door. Both can be undone.
"""

from collections.abc import Callable, Mapping, Sequence

from memory_mesh.errors import InvalidInput, NotFound
from memory_mesh.fastdataclass import replace
from memory_mesh.flows.access import Desk
from memory_mesh.flows.blocks import Change, change_entry
from memory_mesh.flows.decide import BY_RULE, on_record, sealed_values, superseded
from memory_mesh.model import (
    Commit,
    Conflict,
    Entry,
    Lens,
    Memory,
    PredicateSchema,
    Put,
    Resolution,
    Rival,
    Scope,
    Standing,
    Status,
    Vote,
    Wanted,
)
from memory_mesh.policy import audience
from memory_mesh.policy.writing.judge import contradicted, taught_already
from memory_mesh.policy.writing.trust import (
    BASE,
    allowed_importance,
    is_authoritative,
    is_unsupported,
    lowest,
    trust_of,
)

MOST = 100  # conflicts of one memory that a decision on it settles
DISPUTED_BELOW = 0.3
_WAITING = frozenset({Status.QUARANTINED, Status.DISPUTED})
_REVIEWED = frozenset({Status.ACTIVE, Status.ARCHIVED})
_MIDDLE = 0.5  # importance of a memory nobody weighed


def register(desk: Desk, schemas: Mapping[str, PredicateSchema]) -> None:
    """Say how predicates behave, from now on and for every process."""

    def decide(rivals: Standing) -> Commit:
        entries = tuple(
            change_entry(desk, rivals, f"predicate:{name}", Change("update", "registered"), {})
            for name in schemas
        )
        return Commit(schemas=schemas, entries=entries)

    with desk.ledger.read(desk.namespace) as snapshot:
        known = snapshot.schemas()
    if any(known.get(name) != schema for name, schema in schemas.items()):
        desk.ledger.commit(desk.namespace, Wanted(), decide)


def reinforce(desk: Desk, memory_id: str, reader: Scope, boost: float) -> Memory:
    """One vote for a memory's truth; it weighs more from now on.

    No model, tool or page vouches for what its own kind said.
    """

    def decide(rivals: Standing) -> Commit:
        old = _seen(rivals, memory_id, reader)
        said = Change("update", "reinforced")
        if not is_authoritative(desk.kind) and BASE[desk.kind] <= BASE[old.source.kind]:
            return _heard(desk, rivals, old, said)
        weight = min(1.0, (_MIDDLE if old.importance is None else old.importance) + boost)
        allowed = allowed_importance(desk.kind, weight) or 0.0
        new = replace(
            old,
            importance=max(allowed, old.importance or 0.0),
            reinforcements=old.reinforcements + 1,
            recorded_from=rivals.at,
        )
        return _decided(desk, rivals, [(new, said)], Vote(memory_id, supports=True))

    return _after(desk, memory_id, Wanted(ids=(memory_id,)), decide)


def dispute(desk: Desk, memory_id: str, reader: Scope, reason: str) -> Memory:
    """One vote against a memory's truth; unsupported ones wait for review after a few."""

    def decide(rivals: Standing) -> Commit:
        old = _seen(rivals, memory_id, reader)
        if lowest((old.source.kind, desk.kind)) is not old.source.kind:
            return _heard(desk, rivals, old, Change("review", reason))
        new = replace(old, disputes=old.disputes + 1, recorded_from=rivals.at)
        status = old.status
        if old.status is Status.ACTIVE and is_unsupported(new.reinforcements, new.disputes):
            status = Status.QUARANTINED
        elif old.status is Status.ACTIVE and trust_of(new, rivals.at) < DISPUTED_BELOW:
            status = Status.DISPUTED
        new = replace(new, status=status, status_today=status)
        return _decided(
            desk, rivals, [(new, Change("review", reason))], Vote(memory_id, supports=False)
        )

    return _after(desk, memory_id, Wanted(ids=(memory_id,)), decide)


def review(desk: Desk, memory_id: str, reader: Scope, *, approve: bool, reason: str) -> Memory:
    """End a memory's quarantine: it takes the place of its rivals, or is archived for good."""

    def decide(rivals: Standing) -> Commit:
        old = _seen(rivals, memory_id, reader)
        if old.status not in _WAITING:
            raise InvalidInput(f"{memory_id} does not wait for review: it is {old.status}")
        return _reviewed(desk, rivals, old, approve=approve, reason=reason)

    return _after(desk, memory_id, _bearing_on(desk, memory_id), decide)


def undo(desk: Desk, memory_id: str, reader: Scope) -> Memory:
    """Take a review back: the memory waits again, what it replaced is active again."""
    with desk.ledger.read(desk.namespace) as snapshot:
        on_record = snapshot.conflicts(MOST, pending=False, memory=memory_id)
    ended = [each for each in on_record if each.new == memory_id and each.why != BY_RULE]

    def decide(rivals: Standing) -> Commit:
        old = _seen(rivals, memory_id, reader)
        before = [version.status for version in rivals.history(memory_id)][:-1]
        if not before or before[-1] not in _WAITING or old.status not in _REVIEWED:
            raise InvalidInput(f"there is no review of {memory_id} to undo")
        again = [(_turned(old, before[-1], rivals), Change("review", "the review was undone"))]
        again += [
            (revived, Change("restore", "the review was undone"))
            for revived in _revived(old, ended, rivals)
        ]
        reopened = tuple(
            replace(each, resolution=None, resolved_at=None, why=None) for each in ended
        )
        archived = old.status is Status.ARCHIVED
        forgiven = tuple(digest for digest, _ in _sealed(desk, old, "")) if archived else ()
        return replace(_decided(desk, rivals, again), conflicts=reopened, forgiven=forgiven)

    wanted = Wanted(ids=(memory_id, *(each.existing for each in ended)))
    return _after(desk, memory_id, wanted, decide)


def _revived(old: Memory, ended: Sequence[Conflict], rivals: Standing) -> list[Memory]:
    """What a review replaced, active again; refused where another holds its place by now."""
    found: list[Memory] = []
    for other in (rivals.memories.get(each.existing) for each in ended):
        if other is None or other.status is not Status.SUPERSEDED or other.successor != old.id:
            continue
        revived = replace(_turned(other, Status.ACTIVE, rivals), successor=None)
        now = revived
        if revived.claim is not None and rivals.claimed is not None:
            about = (revived.claim.subject, revived.claim.predicate, revived.scope)
            there = contradicted(revived, rivals.claimed(Wanted(claims=(about,))))
            now = next((memory for memory in there if memory.id != old.id), revived)
        if now is not revived:
            raise InvalidInput(f"{now.id} stands in the place of {other.id} by now")
        found.append(revived)
    return found


def resolve(
    desk: Desk, conflict_id: str, reader: Scope, resolution: Resolution, reason: str
) -> Conflict:
    """End a pending conflict: the newcomer wins, is rejected, or both stay."""
    found = conflict(desk, conflict_id)

    def decide(rivals: Standing) -> Commit:
        now = rivals.conflicts[conflict_id]
        if not now.pending:
            raise InvalidInput(f"{conflict_id} was resolved before: {now.resolution}")
        newcomer = _seen(rivals, now.new, reader, deleted=True)
        existing = _seen(rivals, now.existing, reader, deleted=True)
        if resolution is Resolution.KEEP_BOTH:
            return _both(desk, rivals, newcomer, now, reason)
        if resolution is Resolution.REJECT and newcomer.status not in (*_WAITING, Status.ACTIVE):
            said = change_entry(desk, rivals, newcomer.id, Change("review", reason), {})
            kept_out = _sealed(desk, newcomer, reason)
            settled = _resolved([now], resolution, reason, rivals)
            return Commit(entries=(said,), tombstones=kept_out, conflicts=settled)
        if resolution is Resolution.REJECT or newcomer.status in _WAITING:
            approve = resolution is Resolution.SUPERSEDE
            return _reviewed(desk, rivals, newcomer, approve=approve, reason=reason)
        if newcomer.status is not Status.ACTIVE:
            raise InvalidInput(f"{newcomer.id} is {newcomer.status} and cannot take a place")
        said = change_entry(desk, rivals, newcomer.id, Change("review", reason), {})
        done = _in_place_of(desk, Commit(entries=(said,)), [existing], newcomer, rivals)
        return replace(done, conflicts=_resolved([now], resolution, reason, rivals))

    wanted = _bearing_on(desk, found.new, found)
    done = desk.ledger.commit(desk.namespace, wanted, decide)
    return next(each for each in done.conflicts if each.id == conflict_id)


def conflict(desk: Desk, conflict_id: str) -> Conflict:
    """One conflict by its id."""
    with desk.ledger.read(desk.namespace) as snapshot:
        found = snapshot.rivals(Wanted(conflicts=(conflict_id,))).conflicts.get(conflict_id)
    if found is None:
        message = f"there is no conflict {conflict_id}"
        raise NotFound(message)
    return found


def waiting(desk: Desk, lens: Lens, limit: int) -> list[Memory]:
    """Memories in quarantine that the lens sees, newest first."""
    with desk.ledger.read(desk.namespace) as snapshot:
        return list(
            snapshot.page(replace(lens, statuses=frozenset({Status.QUARANTINED})), limit, None)
        )


def conflicts(desk: Desk, lens: Lens, limit: int, *, pending: bool) -> list[Conflict]:
    """Conflicts between memories that the lens sees, newest first."""
    every = replace(lens, statuses=frozenset(Status), any_validity=True)
    with desk.ledger.read(desk.namespace) as snapshot:
        looked_at = limit
        while True:
            found = snapshot.conflicts(looked_at, pending=pending)
            ids = list(dict.fromkeys(id_ for each in found for id_ in (each.new, each.existing)))
            seen = {memory.id for memory in snapshot.get(ids, every)}
            visible = [each for each in found if {each.new, each.existing} <= seen]
            if len(visible) >= limit or len(found) < looked_at:
                return visible[:limit]
            looked_at *= 4  # those between others' memories are in the way


def _seen(rivals: Standing, memory_id: str, reader: Scope, *, deleted: bool = False) -> Memory:
    memory = rivals.memories.get(memory_id)
    if memory is None or not audience.sees(reader, memory.scope):
        raise NotFound
    if memory.status is Status.DELETED and not deleted:
        raise NotFound
    return memory


def _heard(desk: Desk, rivals: Standing, memory: Memory, deed: Change) -> Commit:
    """A vote that does not count is on record all the same."""
    return Commit(entries=(change_entry(desk, rivals, memory.id, deed, {}),), after=memory)


def _turned(memory: Memory, status: Status, rivals: Standing) -> Memory:
    return replace(memory, status=status, status_today=status, recorded_from=rivals.at)


def _decided(
    desk: Desk, rivals: Standing, changed: Sequence[tuple[Memory, Change]], *votes: Vote
) -> Commit:
    """New versions with their blocks; the first is what the caller asked about."""
    entries: list[Entry] = [
        change_entry(desk, rivals, memory.id, deed, {"status": memory.status.value})
        for memory, deed in changed
    ]
    return Commit(
        puts=tuple(Put(memory, None) for memory, _ in changed),
        entries=tuple(entries),
        votes=votes,
        after=changed[0][0],
    )


def _bearing_on(desk: Desk, memory_id: str, *also: Conflict) -> Wanted:
    """What a decision on a memory looks at: its conflicts, their other sides, its rivals."""
    with desk.ledger.read(desk.namespace) as snapshot:
        asked = [
            each
            for each in snapshot.conflicts(MOST, pending=False, memory=memory_id)
            if each.new == memory_id and each.resolution in (None, Resolution.KEEP_BOTH)
        ]
        memory = snapshot.rivals(Wanted(ids=(memory_id,))).memories.get(memory_id)
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


def _reviewed(desk: Desk, rivals: Standing, old: Memory, *, approve: bool, reason: str) -> Commit:
    """A newcomer is let in in place of all it contradicts by now, or kept out for good."""
    pending = [each for each in rivals.conflicts.values() if each.pending and each.new == old.id]
    new = _turned(old, Status.ACTIVE if approve else Status.ARCHIVED, rivals)
    done = _decided(desk, rivals, [(new, Change("review", reason))])
    if not approve:
        settled = _resolved(pending, Resolution.REJECT, reason, rivals)
        return replace(done, tombstones=_sealed(desk, old, reason), conflicts=settled)
    settled = _resolved(pending, Resolution.SUPERSEDE, reason, rivals)
    named = [rivals.memories[each.existing] for each in pending if each.existing in rivals.memories]
    known = {memory.id for memory in named}
    others = (*contradicted(new, rivals), *taught_already(new, rivals))
    later = [memory for memory in others if memory.id not in known]
    more = tuple(
        on_record(desk, new, _rival(new, memory, rivals), rivals, reason) for memory in later
    )
    done = _in_place_of(desk, done, [*named, *later], new, rivals)
    return replace(done, conflicts=(*settled, *more))


def _rival(new: Memory, old: Memory, rivals: Standing) -> Rival:
    """Somebody who was not there when the newcomer was judged."""
    ours, theirs = trust_of(new, rivals.at), trust_of(old, rivals.at)
    return Rival(old, ours, theirs, "it stood there at the review", Resolution.SUPERSEDE)


def _both(desk: Desk, rivals: Standing, newcomer: Memory, now: Conflict, reason: str) -> Commit:
    """Both stay; a newcomer that waited for this decision alone is let in."""
    others = [
        each
        for each in rivals.conflicts.values()
        if each.pending and each.new == newcomer.id and each.id != now.id
    ]
    settled = _resolved([now], Resolution.KEEP_BOTH, reason, rivals)
    if newcomer.status in _WAITING and not others:
        turned = _turned(newcomer, Status.ACTIVE, rivals)
        since = _unasked(desk, turned, now, rivals)
        if since:
            said = change_entry(desk, rivals, newcomer.id, Change("review", reason), {})
            return Commit(entries=(said,), conflicts=(*settled, *since))
        done = _decided(desk, rivals, [(turned, Change("review", reason))])
        return replace(done, conflicts=settled)
    said = change_entry(desk, rivals, newcomer.id, Change("review", reason), {})
    return Commit(entries=(said,), conflicts=settled)


def _unasked(desk: Desk, new: Memory, now: Conflict, rivals: Standing) -> list[Conflict]:
    """Contradictions with memories that came since: each of them is a question of its own."""
    asked = {each.existing for each in rivals.conflicts.values() if each.new == new.id}
    return [
        on_record(desk, new, replace(_rival(new, memory, rivals), resolution=None), rivals)
        for memory in contradicted(new, rivals)
        if memory.id not in asked and memory.id != now.existing
    ]


def _in_place_of(
    desk: Desk, done: Commit, gone: Sequence[Memory], new: Memory, rivals: Standing
) -> Commit:
    closed = [
        superseded(desk, old, new, rivals)
        for old in {memory.id: memory for memory in gone}.values()
        if old.status is Status.ACTIVE
    ]
    return replace(
        done,
        puts=(*done.puts, *(put for put, _ in closed)),
        entries=(*done.entries, *(entry for _, entry in closed)),
    )


def _resolved(
    found: Sequence[Conflict], resolution: Resolution, why: str, rivals: Standing
) -> tuple[Conflict, ...]:
    return tuple(
        replace(conflict, resolution=resolution, resolved_at=rivals.at, why=why)
        for conflict in found
    )


def _sealed(desk: Desk, memory: Memory, why: str) -> tuple[tuple[bytes, str], ...]:
    """What must not come back, as keyed digests."""
    if desk.seal is None:
        return ()
    return tuple((desk.seal(value), why) for value in sealed_values(memory))


def _after(
    desk: Desk, memory_id: str, wanted: Wanted, decide: Callable[[Standing], Commit]
) -> Memory:
    after = desk.ledger.commit(desk.namespace, wanted, decide).after
    assert after is not None, memory_id  # noqa: S101  # every decider here sets it
    return after


def chain(desk: Desk, lens: Lens, memory_id: str) -> list[Memory]:
    """What a memory replaced, itself, and what replaced it, oldest first, as the lens sees them."""
    every = replace(lens, statuses=frozenset(Status), any_validity=True)
    with desk.ledger.read(desk.namespace) as snapshot:
        found = {memory.id: memory for memory in snapshot.get([memory_id], every)}
        if memory_id not in found:
            raise NotFound
        later = found[memory_id].successor
        while later is not None and later not in found and len(found) < MOST:
            seen = snapshot.get([later], every)
            found |= {memory.id: memory for memory in seen}
            later = seen[0].successor if seen else None
        waiting_for = [memory_id]
        while waiting_for and len(found) < MOST:
            current = waiting_for.pop()
            earlier = [
                each.existing
                for each in snapshot.conflicts(MOST, pending=False, memory=current)
                if each.new == current and each.resolution is Resolution.SUPERSEDE
            ]
            seen = snapshot.get([id_ for id_ in earlier if id_ not in found], every)
            found |= {memory.id: memory for memory in seen}
            waiting_for += [memory.id for memory in seen]
    return sorted(found.values(), key=lambda memory: (memory.created_at, memory.id))
