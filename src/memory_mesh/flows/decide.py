"""What becomes of drafts inside the transaction: judged one after another, settled as one Commit.

An earlier draft of a slice is a rival of the later ones, as if it had been stored alone. A memory
that is born and superseded in one slice is put once, as what it ended as.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from memory_mesh.errors import IdempotencyConflict
from memory_mesh.fastdataclass import fields, replace
from memory_mesh.flows.access import Access, unused_id
from memory_mesh.flows.blocks import (
    Change,
    Told,
    change_entry,
    kept_entry,
    reasons_of,
    refusal_entry,
)
from memory_mesh.flows.prepare import Worded
from memory_mesh.flows.scene import Scene
from memory_mesh.model import (
    BY_RULE,
    Commit,
    Conflict,
    Draft,
    Entry,
    Keep,
    Kept,
    Known,
    Link,
    Memory,
    Merge,
    Observation,
    Outcome,
    Put,
    Receipt,
    Refuse,
    Repeat,
    Resolution,
    Rival,
    Scope,
    Standing,
    Statement,
    Status,
    Verdict,
    Wanted,
    Wording,
)
from memory_mesh.policy import audience
from memory_mesh.policy.projects import NAMES, names_of
from memory_mesh.policy.writing import heritage, recited
from memory_mesh.policy.writing.judge import judge
from memory_mesh.policy.writing.trust import (
    allowed_importance,
    authority,
    ceiling,
    derived_source,
    is_authoritative,
)
from memory_mesh.typed import Any, TypeAlias

Revise: TypeAlias = Callable[[Draft, Keep], Keep]


def wanted(worded: Sequence[Worded]) -> Wanted:
    """Lists what must be read from the ledger to judge these drafts."""
    drafts = [draft for draft, _ in worded]
    return Wanted(
        twins=tuple((wording.hash, draft.scope) for draft, wording in worded),
        keys=_keys(drafts),
        ids=tuple(id_ for draft in drafts for id_ in (*draft.derived_from, *_origin_ids(draft))),
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
    if not given:
        return ()
    from memory_mesh.policy.writing.keys import given_key  # few writes have a key

    return tuple(each for key in given for each in (key, given_key(key)))


def _claim_keys(drafts: Sequence[Draft]) -> tuple[tuple[str, str, Scope], ...]:
    """Under which subject, predicate and audience rivals of the drafts are filed."""
    claiming = [draft for draft in drafts if draft.claim is not None]
    if not claiming:
        return ()
    from memory_mesh.policy.writing.contradictions import keys_of  # few texts are claims

    return tuple(key for draft in claiming for key in keys_of(draft))


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
    return Commit(
        puts=_each_once(put for part in parts for put in part.puts),
        observations=tuple(seen for part in parts for seen in part.observations),
        links=tuple(link for part in parts for link in part.links),
        entries=tuple(entry for part in parts for entry in part.entries),
        receipts=tuple(receipt for part in parts for receipt in part.receipts),
        conflicts=tuple(conflict for part in parts for conflict in part.conflicts),
        reread=tuple(id_ for part in parts for id_ in part.reread),
        relinked=tuple(id_ for part in parts for id_ in part.relinked),
    )


def _with_earlier_keys(drafts: Sequence[Draft], standing: Standing) -> Standing:
    """Adds keys that an earlier version stored without their owner, where the owner fits."""
    if not standing.keys:
        return standing
    from memory_mesh.policy.writing.keys import given_key

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
        if id_ in standing.memories and not audience.sees(reader, standing.memories[id_].scope)
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
            memory = _new_memory(access, draft, keep, standing)
            return _kept(access, (draft, wording), memory, keep, standing), memory
        case Known(memory, reason):
            from memory_mesh.policy.writing import receipts

            receipt = replace(Receipt.of(memory, Outcome.MERGED, reason), again=True)
            return Commit(receipts=(receipts.known(receipt, draft, wording, memory),)), None
        case Merge(into):
            from memory_mesh.flows.merge import merged  # a new text needs none of it

            return merged(access, (draft, wording), into, standing)
        case Repeat(seen):
            from memory_mesh.policy.writing import receipts

            return Commit(receipts=(receipts.repeated(draft, wording, seen),)), None
        case Refuse(reason):
            return refused(access, draft, reason, standing), None


def refused(access: Access, draft: Draft, reason: str, standing: Standing) -> Commit:
    """A draft that is not stored: a block says why, without its text."""
    entry = refusal_entry(access, draft, Told(Outcome.REFUSED, (reason,)), standing)
    receipt = Receipt(None, draft.text, draft.metadata, None, Outcome.REFUSED, (reason,))
    return Commit(entries=(entry,), receipts=(replace(receipt, block_id=entry.id),))


def _verdict(access: Access, draft: Draft, wording: Wording, standing: Standing) -> Verdict:
    """Returns the judge's verdict, or Refuse if a person rejected the same value before."""
    verdict = judge(draft, wording, standing)
    origin = draft.origin
    if origin is not None and origin.kept is not None and origin.id not in standing.memories:
        verdict = _as_it_was(verdict, origin.kept)
    if isinstance(verdict, Keep | Merge) and rejected(access, draft, standing):
        return Refuse("the same value was rejected in review")
    return verdict


def _as_it_was(verdict: Verdict, kept: Kept) -> Verdict:
    """The verdict on a memory from a store of the same user: it has the status that it had there.

    What it contradicts here stays active too, and the conflict waits for the user's decision.
    """
    active = kept.status is Status.ACTIVE
    if isinstance(verdict, Keep) or (isinstance(verdict, Merge | Known) and not active):
        against = verdict.against if isinstance(verdict, Keep) and active else ()
        pending = tuple(
            rival if rival.guessed else replace(rival, resolution=None) for rival in against
        )
        return Keep(status=kept.status, reason="it is as it was in your export", against=pending)
    return verdict


def rejected(access: Access, said: Statement, standing: Standing) -> bool:
    """A person rejected these words or this value before."""
    asked = standing.tombstoned
    if asked is None:
        return False
    from memory_mesh.flows.sealing import keeping_out  # where something was rejected

    return any(map(asked, keeping_out(access, said)))


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


def stated_fields(access: Access, draft: Draft, standing: Standing) -> dict[str, Any]:
    """What a memory has from its draft; what is derived has the trust of its sources."""
    stated: dict[str, Any] = dict(zip(_STATED, _stated(draft), strict=True))
    parents = [standing.memories[id_] for id_ in draft.derived_from if id_ in standing.memories]
    source = derived_source(draft.source, [one.source for one in parents])
    bound = authority(source)
    if access.heritage_depth is not None and draft.heritage is None:
        chains = [one.heritage for one in parents if audience.sees(draft.scope, one.scope)]
        stated["heritage"] = heritage.grown(chains, draft.extra, access.heritage_depth)
    return stated | {
        "source": source,
        "importance": allowed_importance(bound, draft.importance),
        "pinned": draft.pinned and is_authoritative(bound),
    }


def _brought_along(draft: Draft, kept: Kept, standing: Standing) -> dict[str, Any]:
    """What a memory from a store of the same user keeps, as its owner had it there."""
    found: dict[str, Any] = {
        field.name: getattr(kept, field.name) for field in fields(Kept) if field.name != "status"
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
    told = Told(outcome, _recorded(receipt))
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
    if not receipt.words:
        return receipt.reasons
    from memory_mesh.policy.writing import receipts

    return receipts.recorded(receipt)


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
    from memory_mesh.policy.writing import receipts

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


def observation(
    access: Access, memory_id: str, wording: Wording, told: Told, draft: Draft
) -> Observation:
    """Records who said it; only the user's channels may state another origin."""
    origin = f"{draft.source.channel}:{access.agent}"
    if is_authoritative(ceiling(draft.source.channel)):
        origin = draft.source.ref or draft.source.agent or origin
    return Observation(memory_id, wording.hash, told.outcome, origin, draft.key, told.reasons)


_STATED = tuple(field.name for field in fields(Statement))
_stated = attrgetter(*_STATED)
_limits = attrgetter("importance", "pinned", "source")  # a source may not give all of them
_PLAINLY = Keep()
_STORED = Told(Outcome.STORED, (_PLAINLY.reason,))
