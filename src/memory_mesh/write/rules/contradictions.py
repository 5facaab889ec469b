"""Decides what a claim does to the claims it contradicts. Pure: no I/O.

::

    stated on both sides, or a predicate that is registered ▶ the newer supersedes the older,
        or waits for review if its source is trusted less
    read from a text ▶ a guess: both stay, the conflict is recorded as `newer_than`, and a search
        shows the newer above the older; below it if its source is trusted less
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from memory_mesh.base.typed import replace
from memory_mesh.model import (
    Cardinality,
    Claim,
    ConflictPolicy,
    DedupPolicy,
    Draft,
    Keep,
    Memory,
    Merge,
    PredicateSchema,
    Resolution,
    Rival,
    Scope,
    Source,
    SourceKind,
    Standing,
    Statement,
    Status,
    Verdict,
    VoteKind,
)
from memory_mesh.rules.trust import (
    BASE,
    HARMFUL,
    HELPFUL,
    LEAST_USEFUL,
    MOST_USEFUL,
    ceiling,
    derived_source,
    dominates,
    is_authoritative,
    is_less_trusted,
    may_change,
    outranks,
    said_by_different,
    trust_of,
)
from memory_mesh.write.claims import ClaimRelation, compare, normalised, predicates_of

WAITING = frozenset({Status.QUARANTINED, Status.DISPUTED})
_History = Callable[[str], Sequence[Memory]]

_STEPS = {kind: 1 << bit for bit, kind in enumerate(VoteKind)}  # in `Memory.other_steps`

_NAMED = "the writer named it as an earlier version"
MAX_GUESSES = 16  # older memories that one memory is recorded as newer than, the newest ones
_DEFAULT = PredicateSchema()
_OPPOSED = frozenset({ClaimRelation.CONFLICT, ClaimRelation.UNSURE})


def schema_for(claim: Claim, standing: Standing) -> PredicateSchema:
    """Returns the registered schema of a claim's predicate, or the default."""
    return standing.schemas.get(claim.predicate, _DEFAULT)


def judge_claim(draft: Draft, claim: Claim, standing: Standing) -> Verdict:
    """Judges a claim against other claims with the same subject and predicate."""
    schema = schema_for(claim, standing)
    against: list[tuple[Memory, ClaimRelation]] = []
    for memory in _rivals(draft, standing):
        relation = _relation(draft, claim, memory, schema)
        if relation is ClaimRelation.SAME and schema.dedup_policy is DedupPolicy.CORROBORATE:
            if not draft.allow_duplicate:
                return Merge(memory)
        elif relation in _OPPOSED:
            against.append((memory, relation))
    return _weighed(draft, claim, against, standing) if against else Keep()


def earlier_versions(draft: Draft, standing: Standing) -> list[Rival]:
    """Returns the memories that a draft names as its earlier versions, where it may replace them.

    One for another audience, one that its channel could not have written, one that the user pinned
    or let in, and one that is trusted more stay as they are.
    """
    ids = dict.fromkeys(draft.supersedes)
    named = [standing.memories[id_] for id_ in ids if id_ in standing.memories]
    new = _trust_in(draft, standing)
    rivals = [
        Rival(memory, new, trust_of(memory, standing.at), _NAMED, Resolution.SUPERSEDE)
        for memory in named
        if memory.status is Status.ACTIVE and memory.scope == draft.scope
    ]
    return [
        rival
        for rival in rivals
        if _may_replace(draft, rival.memory, standing) and not _stands(draft, rival, standing)
    ]


def replacing(keep: Keep, rivals: Sequence[Rival]) -> Keep:
    """The verdict with these memories superseded, whatever it decided of them."""
    ids = {rival.memory.id for rival in rivals}
    others = (memory for memory in keep.supersedes if memory.id not in ids)
    against = (rival for rival in keep.against if rival.memory.id not in ids)
    replaced = (rival.memory for rival in rivals)
    return replace(keep, supersedes=(*others, *replaced), against=(*against, *rivals))


def contradicted(said: Memory, standing: Standing) -> list[Memory]:
    """Returns the active memories that contradict this one by a stated claim."""
    return [memory for memory in _opposed(said, standing) if not _guessed(said, memory, standing)]


def guesses(said: Memory, standing: Standing) -> list[Rival]:
    """Returns the active memories that this one seems to update."""
    found = [memory for memory in _opposed(said, standing) if _guessed(said, memory, standing)]
    return [_guess(said, memory, standing) for memory in _newest(found, standing)]


def said_again(draft: Draft, known: Memory, standing: Standing) -> list[Rival]:
    """Returns the memories that seem to update a known one, which a draft states once more."""
    found = standing.guessed([known.id]) if standing.guessed is not None else ()
    newer = {guess.new for guess in found if guess.existing == known.id}
    speaks, new = as_believed(draft, standing), _trust_in(draft, standing)
    return [
        replace(
            _rival(known, memory, new, standing), resolution=Resolution.NEWER_THAN, guessed=True
        )
        for memory in (_opposed(known, standing) if newer else ())
        if memory.id in newer
        and not is_less_trusted(speaks, memory)
        and not _precedes(draft, memory)
    ]


def _newest(found: list[Memory], standing: Standing) -> list[Memory]:
    """Returns those that none of the others updates: the rest is reached through them."""
    if len(found) > 1 and standing.guessed is not None:
        ids = {memory.id for memory in found}
        links = standing.guessed(list(ids))
        older = {
            link.existing
            for link in links
            if link.resolution is Resolution.NEWER_THAN and link.new in ids
        }
        found = [memory for memory in found if memory.id not in older]
    return found[:MAX_GUESSES]


def keys_of(said: Statement) -> tuple[tuple[str, str, Scope], ...]:
    """Returns under which subject, predicate and audience rivals of a claim are filed."""
    claim = said.claim
    if claim is None:
        return ()
    return tuple((claim.subject, name, said.scope) for name in predicates_of(claim))


def _rivals(said: Statement, standing: Standing) -> list[Memory]:
    """Returns the memories that claim something of the same."""
    return [memory for about in keys_of(said) for memory in standing.claims.get(about, ())]


def true_together(memory: Memory, said: Statement) -> bool:
    """True if the valid times are equal; otherwise merging would lose a true text."""
    return (memory.valid_from, memory.valid_until) == (said.valid_from, said.valid_until)


def _opposed(said: Memory, standing: Standing) -> list[Memory]:
    if said.claim is None:
        return []
    schema = schema_for(said.claim, standing)
    if schema.conflict_policy is ConflictPolicy.KEEP_BOTH:
        return []
    return [
        memory
        for memory in _rivals(said, standing)
        if memory.id != said.id
        and _relation(said, said.claim, memory, schema) is ClaimRelation.CONFLICT
    ]


def updates(said: Statement, memory: Memory, standing: Standing) -> bool:
    """True if both claim something of one subject and predicate, and not both can be true."""
    if said.claim is None:
        return False
    schema = schema_for(said.claim, standing)
    return _relation(said, said.claim, memory, schema) is ClaimRelation.CONFLICT


def _relation(
    said: Statement, claim: Claim, memory: Memory, schema: PredicateSchema
) -> ClaimRelation:
    """Returns how two claims on one subject and predicate relate, without regard to trust."""
    if memory.claim is None or not overlap(said, memory) or said_by_different(said, memory):
        return ClaimRelation.BESIDE
    claim = as_compared(claim, said.source, memory.source)
    other = as_compared(memory.claim, memory.source, said.source)
    if normalised(claim.value, schema.normalize) == normalised(other.value, schema.normalize):
        stated = not (claim.read or other.read)
        return (
            ClaimRelation.SAME if stated and true_together(memory, said) else ClaimRelation.BESIDE
        )
    if schema.cardinality is Cardinality.MULTI:
        return ClaimRelation.BESIDE
    if not (claim.read or other.read):
        both = claim.exclusive and other.exclusive
        return ClaimRelation.CONFLICT if both else ClaimRelation.BESIDE
    found = compare(claim, other, normalize=schema.normalize)
    return ClaimRelation.BESIDE if found is ClaimRelation.SAME else found


def as_compared(claim: Claim, own: Source, other: Source) -> Claim:
    """The claim as it is compared with one of another source.

    That it is one of many counts only against what its own channel could have written.
    """
    if claim.exclusive or claim.read or not dominates(other, own):
        return claim
    return replace(claim, exclusive=True)


def _guessed(said: Statement, memory: Memory, standing: Standing) -> bool:
    """True if either claim was read from a text and the user did not register the predicate."""
    new, old = said.claim, memory.claim
    return (
        new is None
        or old is None
        or ((new.read or old.read) and new.predicate not in standing.schemas)
    )


def _weighed(
    draft: Draft, claim: Claim, against: list[tuple[Memory, ClaimRelation]], standing: Standing
) -> Keep:
    """Decides a conflict: a guess orders the two, a stated claim replaces or waits."""
    schema, new = schema_for(claim, standing), _trust_in(draft, standing)
    unsure = tuple(
        _rival(draft, memory, new, standing, "possible conflict: ")
        for memory, relation in against
        if relation is ClaimRelation.UNSURE
    )
    conflicting = [memory for memory, relation in against if relation is ClaimRelation.CONFLICT]
    found = [
        _rival(draft, memory, new, standing)
        for memory in conflicting
        if not _guessed(draft, memory, standing)
    ]
    guessed: tuple[Rival, ...] = ()
    if schema.conflict_policy is not ConflictPolicy.KEEP_BOTH:
        updated = [memory for memory in conflicting if _guessed(draft, memory, standing)]
        guessed = tuple(_guess(draft, memory, standing) for memory in _newest(updated, standing))
    beside = (*guessed, *unsure)
    if found:
        return _decided(draft, schema, found, beside, standing)
    if guessed:
        return Keep(reason=_ordered(guessed), against=beside)
    if not unsure:
        return Keep()
    return Keep(reason="stored; a possible conflict was recorded", against=unsure)


def _decided(
    draft: Draft,
    schema: PredicateSchema,
    found: list[Rival],
    beside: tuple[Rival, ...],
    standing: Standing,
) -> Keep:
    """Decides a stated conflict by trust: the draft replaces all it contradicts, or none."""
    if schema.conflict_policy is ConflictPolicy.KEEP_BOTH:
        both = tuple(replace(rival, resolution=Resolution.KEEP_BOTH) for rival in found)
        return Keep(reason="stored beside the memory it contradicts", against=(*both, *beside))
    held = [rival for rival in found if not _may_replace(draft, rival.memory, standing)]
    stronger = [rival for rival in found if rival in held or _stands(draft, rival, standing)]
    newer = [rival for rival in found if _is_newer(rival, draft, standing)]
    if schema.conflict_policy is ConflictPolicy.REQUIRE_REVIEW:
        return Keep(Status.QUARANTINED, (), "its predicate requires review", tuple(found))
    if not stronger and not newer:
        superseded = tuple(replace(rival, resolution=Resolution.SUPERSEDE) for rival in found)
        old = tuple(rival.memory for rival in found)
        return Keep(supersedes=old, reason="stored; it replaces the memory it contradicts",
                    against=(*superseded, *beside))  # fmt: skip
    if draft.keep_active and not held:
        return Keep(
            reason="stored, although it contradicts a more trusted memory", against=tuple(found)
        )
    why = (
        "is older than the memory it contradicts"
        if not stronger
        else "contradicts a more trusted memory"
    )
    return Keep(Status.QUARANTINED, (), f"it {why}", tuple(found))


def _guess(said: Statement, memory: Memory, standing: Standing) -> Rival:
    """Returns the older memory as a guess; it waits for a decision if it is trusted more."""
    rival = replace(_rival(said, memory, _trust_in(said, standing), standing), guessed=True)
    said = as_believed(said, standing)
    older, newer = (said, memory) if _precedes(said, memory) else (memory, said)
    weaker = is_less_trusted(newer, older)
    return replace(
        rival,
        reason=_words(newer, older),
        resolution=None if weaker else Resolution.NEWER_THAN,
        precedes=older is said,
    )


def _precedes(said: Statement, memory: Memory) -> bool:
    """True if the newcomer tells of an earlier time: it was imported or says when it happened."""
    origin = said.origin if isinstance(said, Draft) else None
    then = said.occurred_at or (origin.created if origin is not None else None)
    return then is not None and then < (memory.occurred_at or memory.created)


def _ordered(guessed: tuple[Rival, ...]) -> str:
    """Says in the receipt what became of a guess."""
    if all(rival.precedes for rival in guessed):
        return "stored; a newer memory seems to update it"
    if all(rival.resolution is None for rival in guessed):
        return "stored; it seems to contradict a more trusted memory, which stands above it"
    return "stored; it seems to update an older memory, which stays"


def _trust_in(said: Statement, standing: Standing) -> float:
    """Returns the trust of a newcomer: that of its source, or of its least trusted parent."""
    return BASE[as_believed(said, standing).source.kind]


def as_believed(said: Statement, standing: Standing) -> Statement:
    """Returns the statement with the trust of its least trusted parent."""
    derived = said.derived_from if isinstance(said, Draft) else ()
    parents = [standing.memories[id_] for id_ in derived if id_ in standing.memories]
    if not parents:
        return said
    return replace(said, source=derived_source(said.source, [one.source for one in parents]))


def _rival(
    said: Statement, memory: Memory, new: float, standing: Standing, prefix: str = ""
) -> Rival:
    return Rival(memory, new, trust_of(memory, standing.at), f"{prefix}{_words(said, memory)}")


def _may_replace(draft: Draft, memory: Memory, standing: Standing) -> bool:
    """True if the caller's channel may take the place of a memory, whatever the draft says."""
    return may_alter(ceiling(draft.source.channel), memory, standing.history)


def _stands(draft: Draft, rival: Rival, standing: Standing) -> bool:
    """True if the memory is trusted more, or would be if it were not for its age."""
    memory, believed = rival.memory, as_believed(draft, standing)
    if dominates(believed.source, memory.source):
        return False
    new = BASE[believed.source.kind]
    if BASE[memory.source.kind] <= new:
        return rival.old_trust > new
    return trust_of(memory, memory.created) > new


def _is_newer(rival: Rival, draft: Draft, standing: Standing) -> bool:
    """True if the memory is at least as trusted and newer than an imported draft."""
    memory, origin = rival.memory, draft.origin
    return (
        origin is not None
        and origin.created < memory.created
        and not outranks(as_believed(draft, standing).source, memory.source)
    )


def _words(newer: Statement, older: Statement) -> str:
    """Describes the contradiction in words."""
    new, old = newer.claim, older.claim
    if new is None or old is None:
        return "two claims"
    return f"{new.subject} {new.predicate}: {new.value} against {old.value}"[:400]


def overlap(said: Statement, memory: Memory) -> bool:
    """True if the valid times of both overlap."""
    begins_late = (
        said.valid_from is not None
        and memory.valid_until is not None
        and memory.valid_until <= said.valid_from
    )
    ends_early = (
        said.valid_until is not None
        and memory.valid_from is not None
        and said.valid_until <= memory.valid_from
    )
    return not (begins_late or ends_early)


# What a vote changes. Every vote is counted; how far votes move a memory depends on who votes.
#
# Where the user speaks (library, command line, prompt hook) each vote moves the memory by the exact
# step. All other channels together move it at most one step in each direction, and not at all where
# they would vouch for themselves, or speak against a memory that they could not have written.


def may_move(memory: Memory, kind: VoteKind, voter: SourceKind) -> bool:
    """True if the vote moves the memory: it is the user's, or the first of all other channels.

    A vote of another channel against a memory of a higher authority is counted and moves nothing.
    """
    if is_authoritative(voter):
        return True
    return (
        not (kind is VoteKind.HARMFUL and not may_change(voter, memory.source))
        and not memory.other_steps & _STEPS[kind]
    )


def voted(memory: Memory, kind: VoteKind, voter: SourceKind, *, moves: bool) -> Memory:
    """The memory with the vote in its counters."""
    if moves and not is_authoritative(voter):
        memory = replace(memory, other_steps=memory.other_steps | _STEPS[kind])
    match kind:
        case VoteKind.HELPFUL:
            return _useful(replace(memory, helpful=memory.helpful + 1), HELPFUL, moves=moves)
        case VoteKind.HARMFUL:
            return _useful(replace(memory, harmful=memory.harmful + 1), HARMFUL, moves=moves)
        case VoteKind.REINFORCE:
            idle = memory.idle_reinforcements + (not moves)
            count = memory.reinforcements + 1
            return replace(memory, reinforcements=count, idle_reinforcements=idle)
        case VoteKind.DISPUTE:
            idle = memory.idle_disputes + (not moves)
            return replace(memory, disputes=memory.disputes + 1, idle_disputes=idle)


def unvoted(memory: Memory) -> Memory:
    """The memory without what votes took from it before the user said it; they stay counted."""
    usefulness = max(1.0, memory.usefulness)
    return replace(memory, usefulness=usefulness, idle_disputes=memory.disputes)


def _useful(memory: Memory, step: float, *, moves: bool) -> Memory:
    if not moves:
        return memory
    return replace(memory, usefulness=min(MOST_USEFUL, max(LEAST_USEFUL, memory.usefulness * step)))


def may_alter(writer: SourceKind, memory: Memory, history: _History) -> bool:
    """True if a writer with this ceiling may change, hide or replace a memory."""
    return may_change(writer, memory.source) and (
        is_authoritative(writer) or not (memory.pinned or _let_in(history(memory.id)))
    )


def _let_in(versions: Sequence[Memory]) -> bool:
    """True if a person let the memory in: it waited, and became active."""
    return any(
        before.status in WAITING and after.status is Status.ACTIVE
        for before, after in pairwise(versions)
    )
