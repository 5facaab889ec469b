"""What becomes of drafts inside the transaction: judged one after another, settled as one Commit.

An earlier draft of a slice is a rival of the later ones, as if it had been stored alone. A memory
that is born and superseded in one slice is put once, as what it ended as.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from memory_mesh.base.typed import Any, TypeAlias, fields, replace
from memory_mesh.model import (
    BY_RULE,
    Commit,
    Conflict,
    Draft,
    Entry,
    IdempotencyConflict,
    Json,
    Keep,
    KnownLesson,
    Link,
    Memory,
    Merge,
    Observation,
    Outcome,
    PriorState,
    Put,
    Receipt,
    Refuse,
    Repeat,
    Resolution,
    Rival,
    Scope,
    Seen,
    Standing,
    Statement,
    Status,
    Verdict,
    Wanted,
    Wording,
)
from memory_mesh.platform.projects import NAMES, names_of
from memory_mesh.rules import trust
from memory_mesh.text import recited
from memory_mesh.write.access import Access, unused_id
from memory_mesh.write.audit_entries import (
    Change,
    WriteEnding,
    change_entry,
    kept_entry,
    reasons_of,
    refusal_entry,
)
from memory_mesh.write.prepare import Worded, retagged, tagged
from memory_mesh.write.rules import merge, receipts
from memory_mesh.write.rules.contradictions import (
    as_believed,
    earlier_versions,
    guesses,
    keys_of,
    replacing,
    said_again,
    unvoted,
)
from memory_mesh.write.rules.drafts import given_key
from memory_mesh.write.rules.judge import judge

_STATED = tuple(field.name for field in fields(Statement))
_stated = attrgetter(*_STATED)

Revise: TypeAlias = Callable[[Draft, Keep], Keep]


def wanted(worded: Sequence[Worded]) -> Wanted:
    """Lists what must be read from the ledger to judge these drafts."""
    drafts = [draft for draft, _ in worded]
    return Wanted(
        twins=tuple((wording.hash, draft.scope) for draft, wording in worded),
        keys=_keys(drafts),
        ids=tuple(
            id_
            for draft in drafts
            for id_ in (*draft.derived_from, *draft.supersedes, *_origin_ids(draft))
        ),
        patterns=tuple(
            (draft.lesson.pattern_id, draft.scope) for draft in drafts if draft.lesson is not None
        ),
        claims=_claim_keys(drafts),
        echoes=tuple(
            echo for draft, wording in worded for echo in recited.suspects(draft, wording.echo)
        ),
        states=tuple({f"{NAMES}{name}" for draft in drafts if (name := draft.scope.project)}),
    )


def _keys(drafts: Sequence[Draft]) -> tuple[str, ...]:
    """The idempotency keys of the drafts, also as earlier versions stored them."""
    given = [draft.key for draft in drafts if draft.key is not None]
    return tuple(each for key in given for each in (key, given_key(key)))


def _claim_keys(drafts: Sequence[Draft]) -> tuple[tuple[str, str, Scope], ...]:
    """Under which subject, predicate and audience rivals of the drafts are filed."""
    return tuple(key for draft in drafts if draft.claim is not None for key in keys_of(draft))


def _origin_ids(draft: Draft) -> list[str]:
    """The ids that an imported draft names: its own, and that of the memory that replaced it."""
    if draft.origin is None:
        return []
    successor = draft.origin.kept.successor if draft.origin.kept is not None else None
    return [draft.origin.id, *([successor] if successor is not None else ())]


def decide_each(access: Access, worded: Sequence[Worded], standing: Standing) -> Commit:
    """Judges the drafts as `decide`; one with a key of another content is refused alone."""
    return decide(access, worded, standing, clashes="refuse")


def decide(
    access: Access,
    worded: Sequence[Worded],
    standing: Standing,
    *,
    revise: Revise | None = None,
    clashes: str = "raise",
) -> Commit:
    """Judges the drafts in order; each is compared with what the earlier ones stored, too.

    A caller's `revise` may decide more about a draft that is kept.
    """
    before = _with_earlier_keys([draft for draft, _ in worded], standing)
    scene = Scene(before) if len(worded) > 1 else None
    parts: list[Commit] = []
    kept: list[Memory | None] = []
    for stated, wording in worded:
        draft = _with_names(stated, standing)
        standing = _without_unseen(access, draft, before if scene is None else scene.standing)
        try:
            part, settled = _settle(access, draft, wording, standing, revise)
        except IdempotencyConflict as error:
            if clashes == "raise":
                raise
            part, settled = refused(access, draft, str(error), standing), None
        parts.append(part)
        known = part.receipts[0].outcome is Outcome.MERGED and not part.relinked
        kept.append(None if known else settled)
        if scene is not None:
            scene.take(draft, wording, part, settled)
    if len(parts) == 1 and len(parts[0].puts) <= 1:  # most writes: no put stands twice
        return parts[0]
    return Commit(
        puts=_each_once(put for part in parts for put in part.puts),
        observations=tuple(seen for part in parts for seen in part.observations),
        links=tuple(link for part in parts for link in part.links),
        entries=tuple(entry for part in parts for entry in part.entries),
        receipts=tuple(receipt for part in parts for receipt in part.receipts),
        conflicts=tuple(conflict for part in parts for conflict in part.conflicts),
        reread=tuple(id_ for part in parts for id_ in part.reread),
        relinked=tuple(id_ for part in parts for id_ in part.relinked),
        counted=tuple(memory for part in parts for memory in part.counted),
    )


def _with_earlier_keys(drafts: Sequence[Draft], standing: Standing) -> Standing:
    """Adds keys that an earlier version stored without their owner, where the owner fits."""
    if not standing.keys:
        return standing
    keys = dict(standing.keys)
    for draft in drafts:
        seen = None if draft.key is None else standing.keys.get(given_key(draft.key))
        if draft.key is None or seen is None:
            continue
        same = (seen.memory.scope, seen.memory.source.channel)
        if same == (draft.scope, draft.source.channel):
            keys.setdefault(draft.key, seen)
    return replace(standing, keys=keys)


def _with_names(draft: Draft, standing: Standing) -> Draft:
    """The draft for its project under every name that is the same audience."""
    known = standing.states.get(f"{NAMES}{draft.scope.project}")
    if known is None:
        return draft
    return replace(draft, scope=replace(draft.scope, names=names_of(known).same))


def _without_unseen(access: Access, draft: Draft, standing: Standing) -> Standing:
    """What stands, without memories that the draft is derived from and its writer does not see.

    To name them is as to name what does not exist.
    """
    if not draft.derived_from:
        return standing
    reader = reader_for(access, draft.scope)
    unseen = {
        id_
        for id_ in draft.derived_from
        if id_ in standing.memories and not trust.sees(reader, standing.memories[id_].scope)
    }
    if not unseen:
        return standing
    kept = {id_: each for id_, each in standing.memories.items() if id_ not in unseen}
    return replace(standing, memories=kept)


def reader_for(access: Access, scope: Scope) -> Scope:
    """Who reads, for a write that names parts of an audience: the rest is the view's own."""
    own = access.reader
    return Scope(
        scope.project or own.project,
        scope.agent or own.agent,
        scope.session or own.session,
        names=scope.names if scope.project else own.names,
    )


def _each_once(puts: Iterable[Put]) -> tuple[Put, ...]:
    """Keeps one put per memory: the last state it has in this commit."""
    found: dict[str, Put] = {}
    for put in puts:
        before = found.get(put.memory.id)
        kept = before is not None and put.wording is None
        found[put.memory.id] = replace(put, wording=before.wording) if before and kept else put
    return tuple(found.values())


def _settle(
    access: Access, draft: Draft, wording: Wording, standing: Standing, revise: Revise | None
) -> tuple[Commit, Memory | None]:
    """What one draft changes, and the memory it ended in."""
    match _verdict(access, draft, wording, standing):
        case Keep() as keep:
            keep = keep if revise is None else revise(draft, keep)
            if draft.supersedes and keep.status is Status.ACTIVE:
                keep = replacing(keep, earlier_versions(draft, standing))
            memory = _new_memory(access, draft, keep, standing)
            return _kept(access, (draft, wording), memory, keep, standing), memory
        case KnownLesson(memory, reason):
            receipt = replace(Receipt.of(memory, Outcome.MERGED, reason), again=True)
            return Commit(receipts=(receipts.known(receipt, draft, wording, memory),)), None
        case Merge(into):
            commit, memory = merged(access, (draft, wording), into, standing)
            earlier = earlier_versions(draft, standing) if draft.supersedes else []
            others = [rival for rival in earlier if rival.memory.id != into.id]
            return _with_replaced(access, commit, memory, others, standing), memory
        case Repeat(seen):
            return Commit(receipts=(receipts.repeated(draft, wording, seen),)), None
        case Refuse(reason):
            return refused(access, draft, reason, standing), None


def refused(access: Access, draft: Draft, reason: str, standing: Standing) -> Commit:
    """A draft that is not stored: a block says why, without its text."""
    entry = refusal_entry(access, draft, WriteEnding(Outcome.REFUSED, (reason,)), standing)
    receipt = Receipt(None, draft.text, draft.metadata, None, Outcome.REFUSED, (reason,))
    return Commit(entries=(entry,), receipts=(replace(receipt, block_id=entry.id),))


def _verdict(access: Access, draft: Draft, wording: Wording, standing: Standing) -> Verdict:
    """Returns the judge's verdict, or Refuse if a person rejected the same value before."""
    verdict = judge(draft, wording, standing)
    origin = draft.origin
    if origin is not None and origin.kept is not None and origin.id not in standing.memories:
        verdict = _as_it_was(verdict, origin.kept)
    if isinstance(verdict, Keep | Merge) and (why := rejected(access, draft, standing)):
        return Refuse(why)
    return verdict


def _as_it_was(verdict: Verdict, kept: PriorState) -> Verdict:
    """The verdict on a memory from a store of the same user: it has the status that it had there.

    What it contradicts here stays active too, and the conflict waits for the user's decision.
    """
    active = kept.status is Status.ACTIVE
    if isinstance(verdict, Keep) or (isinstance(verdict, Merge | KnownLesson) and not active):
        against = verdict.against if isinstance(verdict, Keep) and active else ()
        pending = tuple(
            rival if rival.guessed else replace(rival, resolution=None) for rival in against
        )
        return Keep(status=kept.status, reason="it is as it was in your export", against=pending)
    return verdict


def rejected(access: Access, said: Statement, standing: Standing) -> str | None:
    """Why these words or this value stay out: a person rejected them, or the user erased them."""
    asked = standing.tombstoned
    if asked is None:
        return None
    from memory_mesh.write import rejected_values  # where something was rejected or erased

    if any(map(asked, rejected_values.erased(access, said))):
        return rejected_values.erased_reason(access.namespace, said)
    kept_out = any(map(asked, rejected_values.keeping_out(access, said)))
    return rejected_values.REJECTED if kept_out else None


def _new_memory(access: Access, draft: Draft, keep: Keep, standing: Standing) -> Memory:
    """The draft as a memory of this moment."""
    stated = stated_fields(access, draft, standing)
    if draft.origin is not None:
        stated |= {"uses": draft.origin.uses, "last_used": draft.origin.last_used}
    if draft.origin is not None and draft.origin.kept is not None:
        stated |= _brought_along(draft, draft.origin.kept, standing)
    prefix = "mem" if draft.topic is None else "reflect"
    return Memory(
        id=draft.origin.id if draft.origin is not None else unused_id(access, prefix, standing),
        created=draft.origin.created if draft.origin is not None else standing.at,
        recorded_from=standing.at,
        status=keep.status,
        status_today=keep.status,
        **stated,
    )


def _brought_along(draft: Draft, kept: PriorState, standing: Standing) -> dict[str, Any]:
    """What a memory from a store of the same user keeps, as its owner had it there."""
    found: dict[str, Any] = {
        field.name: getattr(kept, field.name)
        for field in fields(PriorState)
        if field.name != "status"
    }
    if kept.successor not in standing.memories:
        found["successor"] = None
    return found | {"importance": draft.importance, "pinned": draft.pinned}


def _kept(
    access: Access, worded: tuple[Draft, Wording], memory: Memory, keep: Keep, standing: Standing
) -> Commit:
    """A new memory: its first version, observation, links and block; what it replaces is closed."""
    if _is_plain(worded, memory, keep):
        return _kept_plainly(access, worded, memory, standing)
    draft, wording = worded
    waits = memory.status is Status.QUARANTINED
    outcome = Outcome.QUARANTINED if waits else Outcome.STORED
    replaced = [superseded(access, old, memory, standing) for old in keep.supersedes]
    conflicts = [on_record(access, memory, rival, standing) for rival in keep.against]
    waiting = (memory.id,) if waits else ()
    receipt = replace(
        Receipt.of(memory, outcome, keep.reason),
        superseded=tuple(old.id for old in keep.supersedes),
        newer_than=tuple(
            rival.memory.id
            for rival in keep.against
            if rival.resolution is Resolution.NEWER_THAN and not rival.precedes
        ),
        conflicts=tuple(conflict.id for conflict in conflicts),
        for_review=(*waiting, *(conflict.id for conflict in conflicts if conflict.pending)),
    )
    receipt = _told(access, receipt, worded, memory, keep=keep, standing=standing)
    told = WriteEnding(outcome, _recorded(receipt))
    kept = kept_entry(access, memory, worded, standing, told)
    return Commit(
        puts=(Put(memory, wording, told.reasons), *(put for put, _ in replaced)),
        observations=(observation(access, memory.id, wording, told, draft),),
        links=tuple(
            Link(memory.id, source, "derived_from")
            for source in draft.derived_from
            if source in standing.memories
        ),
        entries=(kept, *(entry for _, entry in replaced)),
        conflicts=tuple(conflicts),
        receipts=(replace(receipt, block_id=kept.id),),
    )


def _is_plain(worded: Worded, memory: Memory, keep: Keep) -> bool:
    """True for a new memory with nothing to tell of it but that it is stored."""
    draft, wording = worded
    limits = memory.valid_from or memory.valid_until
    altered = wording.redacted or wording.left_out or wording.pending
    asked = draft.notes or draft.derived_from
    return (
        keep == _PLAINLY and not (limits or altered or asked) and _limits(draft) == _limits(memory)
    )


def _kept_plainly(access: Access, worded: Worded, memory: Memory, standing: Standing) -> Commit:
    """The same as `_kept` for a plain memory: most are, and nothing is loaded for them."""
    draft, wording = worded
    told = _STORED
    entry = kept_entry(access, memory, worded, standing, told)
    receipt = Receipt(
        memory.id,
        memory.text,
        memory.metadata,
        memory.created,
        told.outcome,
        told.reasons,
        block_id=entry.id,
    )
    return Commit(
        puts=(Put(memory, wording, told.reasons),),
        observations=(observation(access, memory.id, wording, told, draft),),
        entries=(entry,),
        receipts=(receipt,),
    )


def _recorded(receipt: Receipt) -> tuple[str, ...]:
    """The reasons as they are kept: without the words of other memories."""
    return receipt.reasons if not receipt.words else receipts.recorded(receipt)


def _told(
    access: Access,
    receipt: Receipt,
    worded: Worded,
    memory: Memory,
    *,
    keep: Keep,
    standing: Standing,
) -> Receipt:
    """The receipt with its sentences."""
    draft, wording = worded
    unknown = [id_ for id_ in draft.derived_from if id_ not in standing.memories]
    if unknown:
        note = f"no link to {', '.join(unknown)} was made: there is no such memory here"
        draft = replace(draft, notes=(*draft.notes, note))
    named = (*keep.supersedes, *(rival.memory for rival in keep.against))
    return receipts.stored(receipt, draft, wording, memory, named=named, agent=access.agent)


def superseded(access: Access, old: Memory, new: Memory, standing: Standing) -> tuple[Put, Entry]:
    """Marks `old` as superseded by `new`."""
    closed = replace(
        old,
        status=Status.SUPERSEDED,
        status_today=Status.SUPERSEDED,
        successor=new.id,
        recorded_from=standing.at,
    )
    change = Change("supersede", f"replaced by {new.id}")
    entry = change_entry(access, standing, old.id, change, {"successor": new.id})
    return Put(closed, None, reasons_of(entry)), entry


def _with_replaced(
    access: Access, done: Commit, memory: Memory, rivals: Sequence[Rival], standing: Standing
) -> Commit:
    """What a merge changes, and these memories superseded by the one that it ended in."""
    if not rivals:
        return done
    closed = [superseded(access, rival.memory, memory, standing) for rival in rivals]
    conflicts = tuple(on_record(access, memory, rival, standing) for rival in rivals)
    ids = tuple(rival.memory.id for rival in rivals)
    (receipt,) = done.receipts
    receipt = replace(
        receipt,
        superseded=ids,
        conflicts=tuple(conflict.id for conflict in conflicts),
        reasons=(*receipt.reasons, *(f"it supersedes {id_}" for id_ in ids)),
    )
    return replace(
        done,
        puts=(*done.puts, *(put for put, _ in closed)),
        entries=(*done.entries, *(entry for _, entry in closed)),
        conflicts=(*done.conflicts, *conflicts),
        receipts=(receipt,),
    )


_limits = attrgetter("importance", "pinned", "source")  # a source may not give all of them
_PLAINLY = Keep()
_STORED = WriteEnding(Outcome.STORED, (_PLAINLY.reason,))


# What becomes of a memory that is stored already, when it is said again.
#
# A source that is trusted less adds an observation; one that is trusted as much adds tags, triggers
# and metadata too. If the source is trusted more, the memory has its words from then on, and if it
# has more authority its details alone: whatever the other one stated stays in the earlier version.


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
    reason = merge.reason(into, found)
    receipt = replace(
        Receipt.of(after, Outcome.MERGED, reason),
        newer_than=tuple(rival.memory.id for rival in again),
    )
    receipt = receipts.merged(receipt, draft, wording, stated, found, again=again)
    told = WriteEnding(Outcome.MERGED, receipts.recorded(receipt, stated.text))
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
    spoken = found.instead and after.source.kind in trust.OF_THE_USER
    after = unvoted(after) if spoken else after
    return replace(
        commit,
        counted=(after,) if spoken else (),
        puts=(Put(after, _found_by(after, into, wording), told.reasons),),
        reread=(into.id,) if reread else (),
        relinked=(into.id,) if after.text != into.text else (),
    ), after


def _said_again(access: Access, draft: Draft, into: Memory, standing: Standing) -> merge.Merged:
    """The memory after it was said again: as it was, with more, or in the words of the draft."""
    source = as_believed(draft, standing).source
    if not merge.takes_over(into, source, standing):
        return merge.merged(into, draft, adds=merge.may_add(into, source, standing))
    stated = stated_fields(access, draft, standing)
    if trust.may_change(
        trust.authority(into.source), source
    ):  # of one writer, who states more about it now
        found = merge.merged(into, draft, adds=True)
        words = {name: stated[name] for name in ("text", "source", "claim")}
        return replace(found, memory=replace(found.memory, **words), instead=True)
    stated["pinned"] |= into.pinned  # only the user pins
    return merge.Merged(replace(into, **stated), instead=True)


def _changes(into: Memory, found: merge.Merged, wording: Wording) -> dict[str, Json]:
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


# What the ledger will hold once the drafts judged so far are written, and its records.


class Scene:
    """The standing that later drafts of a slice are judged against."""

    def __init__(self, standing: Standing) -> None:
        self._twins, self._keys = dict(standing.twins), dict(standing.keys)
        self._lessons, self._claims = dict(standing.lessons), dict(standing.claims)
        self._memories, self._echoes = dict(standing.memories), dict(standing.echoes)
        self._stored, self._made = standing.guessed, list[Conflict]()
        self.standing: Standing = replace(
            standing,
            twins=self._twins,
            keys=self._keys,
            lessons=self._lessons,
            claims=self._claims,
            memories=self._memories,
            echoes=self._echoes,
            guessed=self._guessed,
        )

    def _guessed(self, ids: Sequence[str]) -> list[Conflict]:
        """The guesses on record, and those of the drafts judged so far."""
        asked, stored = frozenset(ids), self._stored(ids) if self._stored is not None else ()
        found = [each for each in stored if each.is_guess]  # and no open conflict
        made = [each for each in self._made if each.is_guess and asked & {each.new, each.existing}]
        # Of a pair that changed places, the last guess counts.
        return list(
            {frozenset((each.new, each.existing)): each for each in (*found, *made)}.values()
        )

    def take(self, draft: Draft, wording: Wording, part: Commit, settled: Memory | None) -> None:
        """One more draft is settled."""
        self._made += part.conflicts
        for put in part.puts:
            self._memories[put.memory.id] = put.memory
            if put.memory.status is not Status.ACTIVE:
                self._forget(put.memory)
        if settled is None:
            return
        if part.relinked:  # it has another text now
            self._forget(settled)
        if draft.key is not None:
            self._keys[draft.key] = Seen(wording.hash, part.receipts[0].outcome, settled)
        self._memories[settled.id] = settled
        if settled.lesson is not None and part.puts:
            self._lessons[settled.lesson.pattern_id, draft.scope] = (settled,)
        if not part.puts:
            return
        key = (wording.hash, draft.scope)
        others = (twin for twin in self._twins.get(key, ()) if twin.id != settled.id)
        self._twins[key] = (*others, settled)
        if settled.status is not Status.ACTIVE:
            return
        self._echoes[wording.echo] = (*self._echoes.get(wording.echo, ()), settled)
        if settled.claim is not None:
            about = (settled.claim.subject, settled.claim.predicate, draft.scope)
            rivals = (rival for rival in self._claims.get(about, ()) if rival.id != settled.id)
            self._claims[about] = (settled, *rivals)

    def _forget(self, gone: Memory) -> None:
        """Removes a memory that is no longer active from the comparisons."""
        for known in (self._twins, self._claims, self._echoes):
            for key, memories in list(known.items()):
                if any(memory.id == gone.id for memory in memories):
                    left = tuple(memory for memory in memories if memory.id != gone.id)
                    known[key] = left  # type: ignore[index]  # one of three kinds of key


def on_record(
    access: Access, memory: Memory, rival: Rival, standing: Standing, why: str = BY_RULE
) -> Conflict:
    """Makes the record of a conflict; one that a rule decided is resolved at once."""
    decided = rival.resolution is not None
    older, newer = (memory, rival.memory) if rival.precedes else (rival.memory, memory)
    return Conflict(
        id=access.ids.draw("conflict"),
        new=newer.id,
        existing=older.id,
        new_trust=rival.old_trust if rival.precedes else rival.new_trust,
        existing_trust=rival.new_trust if rival.precedes else rival.old_trust,
        reason=rival.reason,
        created=standing.at,
        resolved_at=standing.at if decided else None,
        resolution=rival.resolution,
        why=why if decided or rival.guessed else None,
    )


def stated_fields(access: Access, draft: Draft, standing: Standing) -> dict[str, Any]:
    """What a memory has from its draft; what is derived has the trust of its sources."""
    stated: dict[str, Any] = dict(zip(_STATED, _stated(draft), strict=True))
    parents = [standing.memories[id_] for id_ in draft.derived_from if id_ in standing.memories]
    source = trust.derived_source(draft.source, [one.source for one in parents])
    bound = trust.authority(source)
    weighs = trust.ceiling(source.channel) if access.keeps_importance and not parents else bound
    if access.heritage_depth is not None and draft.heritage is None:
        chains = [one.heritage for one in parents if trust.sees(draft.scope, one.scope)]
        stated["heritage"] = merge.grown(chains, draft.extra, access.heritage_depth)
    return stated | {
        "source": source,
        "importance": trust.allowed_importance(weighs, draft.importance),
        "pinned": draft.pinned and trust.is_authoritative(bound),
    }


def observation(
    access: Access, memory_id: str, wording: Wording, told: WriteEnding, draft: Draft
) -> Observation:
    """Records who said it; only the user's channels may state another origin."""
    origin = f"{draft.source.channel}:{access.agent}"
    if trust.is_authoritative(trust.ceiling(draft.source.channel)):
        origin = draft.source.ref or draft.source.agent or origin
    return Observation(memory_id, wording.hash, told.outcome, origin, draft.key, told.reasons)
