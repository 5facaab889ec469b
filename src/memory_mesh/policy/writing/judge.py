"""Decides what happens to a draft, given what the ledger holds. Pure: no I/O.

::

    key seen ▶ Repeat     empty, too long ▶ Refuse     brought here before ▶ Known | Refuse
    an echo of what was recalled ▶ Refuse
    a lesson ▶ by its pattern          a claim ▶ by its rivals          else ▶ by its text

Rules come before trust, and trust before time. A newcomer that has to wait changes nothing else.
"""

from memory_mesh.errors import IdempotencyConflict
from memory_mesh.fastdataclass import replace
from memory_mesh.model import (
    Cardinality,
    Claim,
    ConflictPolicy,
    DedupPolicy,
    Draft,
    Keep,
    Known,
    Lesson,
    Memory,
    Merge,
    PredicateSchema,
    Refuse,
    Repeat,
    Resolution,
    Rival,
    Standing,
    Statement,
    Status,
    Verdict,
    Wording,
)
from memory_mesh.policy import audience
from memory_mesh.policy.claims import Relation, compare, normalised
from memory_mesh.policy.writing import recited
from memory_mesh.policy.writing.limits import MEMORY_CHARS
from memory_mesh.policy.writing.trust import (
    BASE,
    authority,
    is_authoritative,
    lowest,
    trust,
    trust_of,
)

_DEFAULT = PredicateSchema()


def judge(draft: Draft, wording: Wording, standing: Standing) -> Verdict:
    """Returns the verdict on a draft: keep, merge, repeat an earlier receipt, or refuse."""
    seen = standing.keys.get(draft.key) if draft.key is not None else None
    if seen is not None:
        if (seen.hash, seen.memory.scope) != (wording.hash, draft.scope):
            raise IdempotencyConflict
        return Repeat(seen)
    if not draft.text.strip():
        return Refuse("the text is empty")
    if len(draft.text) > MEMORY_CHARS:
        return Refuse(f"the text has {len(draft.text)} characters; the limit is {MEMORY_CHARS}")
    known = _known(draft, wording, standing)
    if known is not None:
        return known
    if draft.lesson is not None:
        return _judge_lesson(draft, draft.lesson, standing)
    return _echo(draft, wording, standing) or _judge_text(draft, wording, standing)


def _judge_text(draft: Draft, wording: Wording, standing: Standing) -> Verdict:
    """Judges a draft by memories with the same text, then by its claim, then by its own doubt."""
    known = standing.twins.get((wording.hash, draft.scope), ())
    same = [memory for memory in known if _same(memory, draft, standing)]
    twin = next((memory for memory in same if memory.status is Status.ACTIVE), None)
    if twin is not None and not draft.allow_duplicate:
        return Merge(twin)
    verdict = Keep() if draft.claim is None else _judge_claim(draft, draft.claim, standing)
    if draft.quarantine is not None and isinstance(verdict, Keep):
        verdict = Keep(status=Status.QUARANTINED, reason=draft.quarantine)
    waits = next((memory for memory in same if memory.status is Status.QUARANTINED), None)
    if waits and isinstance(verdict, Keep) and verdict.status is Status.QUARANTINED:
        return Known(waits, f"the same text waits for review as {waits.id}")
    return verdict


def _known(draft: Draft, wording: Wording, standing: Standing) -> Verdict | None:
    """Returns the verdict on an imported memory whose id is already in this store."""
    memory = standing.memories.get(draft.origin.id) if draft.origin is not None else None
    if memory is None:
        return None
    if memory.text == wording.text:
        return Known(memory, "it was imported before")
    return Refuse(f"the id {memory.id} is used by another memory in this store")


def _echo(draft: Draft, wording: Wording, standing: Standing) -> Refuse | None:
    """Refuses a text that was recalled from memory and is added again."""
    suspects = recited.suspects(draft, wording.echo)
    sources = [standing.echoes.get(suspect) for suspect in suspects]
    seen = [memory for memory in sources if memory and audience.sees(draft.scope, memory.scope)]
    if not suspects or len(seen) < len(suspects):
        return None
    ids = ", ".join(dict.fromkeys(memory.id for memory in seen))
    return Refuse(f"the text was recalled from memory: {ids}")


def contradicted(said: Memory, standing: Standing) -> list[Memory]:
    """Returns the active memories that contradict this one."""
    if said.claim is None:
        return []
    schema = standing.schemas.get(said.claim.predicate, _DEFAULT)
    if schema.conflict_policy is ConflictPolicy.KEEP_BOTH:
        return []
    about = (said.claim.subject, said.claim.predicate, said.scope)
    return [
        memory
        for memory in standing.claims.get(about, ())
        if memory.id != said.id and _relation(said, said.claim, memory, schema) is Relation.CONFLICT
    ]


def taught_already(said: Memory, standing: Standing) -> list[Memory]:
    """Returns other active lessons for the same failure pattern."""
    lesson = said.lesson
    if lesson is None:
        return []
    return [
        memory
        for memory in standing.lessons.get((lesson.pattern_id, said.scope), ())
        if memory.id != said.id
        and memory.status is Status.ACTIVE
        and memory.lesson is not None
        and same_pattern(memory.lesson, lesson)
    ]


def _judge_claim(draft: Draft, claim: Claim, standing: Standing) -> Verdict:
    """Judges a claim against other claims with the same subject and predicate."""
    schema = standing.schemas.get(claim.predicate, _DEFAULT)
    against: list[tuple[Memory, Relation]] = []
    for memory in standing.claims.get((claim.subject, claim.predicate, draft.scope), ()):
        relation = _relation(draft, claim, memory, schema)
        if relation is Relation.SAME and schema.dedup_policy is DedupPolicy.CORROBORATE:
            if not draft.allow_duplicate:
                return Merge(memory)
        elif relation in {Relation.CONFLICT, Relation.UNSURE}:
            against.append((memory, relation))
    return _weighed(draft, schema, against, standing) if against else Keep()


def _relation(said: Statement, claim: Claim, memory: Memory, schema: PredicateSchema) -> Relation:
    """Returns how two claims on one subject and predicate relate, without regard to trust."""
    other = memory.claim
    if other is None or not _overlap(said, memory):
        return Relation.BESIDE
    if normalised(claim.value, schema.normalize) == normalised(other.value, schema.normalize):
        stated = not (claim.read or other.read)
        return Relation.SAME if stated and _true_together(memory, said) else Relation.BESIDE
    if schema.cardinality is Cardinality.MULTI:
        return Relation.BESIDE
    if not (claim.read or other.read):
        both = claim.exclusive and other.exclusive
        return Relation.CONFLICT if both else Relation.BESIDE
    found = compare(claim, other, normalize=schema.normalize)
    return Relation.BESIDE if found is Relation.SAME else found


def _weighed(
    draft: Draft,
    schema: PredicateSchema,
    against: list[tuple[Memory, Relation]],
    standing: Standing,
) -> Keep:
    """Decides a conflict by trust: the draft replaces all memories it contradicts, or none."""
    new = BASE[draft.source.kind]
    sources = [standing.memories[id_] for id_ in draft.derived_from if id_ in standing.memories]
    if sources:
        new = BASE[lowest((draft.source.kind, *(each.source.kind for each in sources)))]
    found = [
        Rival(memory, new, trust_of(memory, standing.at), _words(draft, memory))
        for memory, relation in against
        if relation is Relation.CONFLICT
    ]
    unsure = tuple(
        Rival(
            memory,
            new,
            trust_of(memory, standing.at),
            f"possible conflict: {_words(draft, memory)}",
        )
        for memory, relation in against
        if relation is Relation.UNSURE
    )
    if not found:
        return Keep(reason="stored; a possible conflict was recorded", against=unsure)
    if schema.conflict_policy is ConflictPolicy.KEEP_BOTH:
        both = tuple(replace(rival, resolution=Resolution.KEEP_BOTH) for rival in found)
        return Keep(reason="stored beside the memory it contradicts", against=(*both, *unsure))
    stronger = [rival for rival in found if _stands(rival, new)]
    newer = [rival for rival in found if _is_newer(rival, draft, new)]
    if schema.conflict_policy is ConflictPolicy.REQUIRE_REVIEW:
        return Keep(Status.QUARANTINED, (), "its predicate requires review", tuple(found))
    if not stronger and not newer:
        superseded = tuple(replace(rival, resolution=Resolution.SUPERSEDE) for rival in found)
        old = tuple(rival.memory for rival in found)
        return Keep(supersedes=old, reason="stored; it replaces the memory it contradicts",
                    against=(*superseded, *unsure))  # fmt: skip
    if draft.keep_active:
        return Keep(
            reason="stored, although it contradicts a more trusted memory", against=tuple(found)
        )
    why = (
        "is older than the memory it contradicts"
        if not stronger
        else "contradicts a more trusted memory"
    )
    return Keep(Status.QUARANTINED, (), f"it {why}", tuple(found))


def _stands(rival: Rival, new: float) -> bool:
    """True if the memory is trusted more, or would be if it were not for its age."""
    memory = rival.memory
    if BASE[memory.source.kind] <= new:
        return rival.old_trust > new
    ageless = trust(
        memory.source.kind,
        origins=memory.origins,
        reinforcements=memory.reinforcements,
        disputes=memory.disputes,
    )
    return ageless > new


def _is_newer(rival: Rival, draft: Draft, new: float) -> bool:
    """True if the memory is at least as trusted and newer than an imported draft."""
    memory, origin = rival.memory, draft.origin
    return (
        origin is not None and origin.created < memory.created and BASE[memory.source.kind] >= new
    )


def _words(draft: Draft, memory: Memory) -> str:
    """Describes the contradiction in words."""
    new, old = draft.claim, memory.claim
    if new is None or old is None:
        return "two claims"
    return f"{new.subject} {new.predicate}: {new.value} against {old.value}"[:400]


def _overlap(said: Statement, memory: Memory) -> bool:
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


def _judge_lesson(draft: Draft, lesson: Lesson, standing: Standing) -> Verdict:
    """Judges a lesson: it replaces less certain lessons of its pattern, or waits for review.

    A lesson that waits changes nothing else.
    """
    sources = [
        authority(standing.memories[id_].source)
        for id_ in draft.derived_from
        if id_ in standing.memories
    ]
    trusted = is_authoritative(lowest((authority(draft.source), *sources)))
    same = [
        memory
        for memory in standing.lessons.get((lesson.pattern_id, draft.scope), ())
        if memory.lesson is not None and same_pattern(memory.lesson, lesson)
    ]
    active = [memory for memory in same if memory.status is Status.ACTIVE]
    for memory in active if trusted else same:
        if memory.lesson is not None and memory.lesson.confidence >= lesson.confidence:
            return Known(memory, f"{memory.id} teaches the same with at least the same confidence")
    if trusted:
        return Keep(supersedes=tuple(active))
    reason = f"a lesson from {draft.source.kind} waits for review"
    return Keep(status=Status.QUARANTINED, reason=reason)


def same_pattern(one: Lesson, other: Lesson) -> bool:
    """True if pattern and scope are equal; their joint hash could mix up ab + c and a + bc."""
    return (one.error_pattern, one.applies_to) == (other.error_pattern, other.applies_to)


def _same(memory: Memory, draft: Draft, standing: Standing) -> bool:
    """True if the draft repeats the memory: same valid time and same stated claim."""
    if not _true_together(memory, draft):
        return False
    if draft.claim is None or draft.claim.read:
        return True
    schema = standing.schemas.get(draft.claim.predicate, _DEFAULT)
    return schema.dedup_policy is DedupPolicy.CORROBORATE and memory.claim == draft.claim


def _true_together(memory: Memory, said: Statement) -> bool:
    """True if the valid times are equal; otherwise merging would lose a true text."""
    return (memory.valid_from, memory.valid_until) == (said.valid_from, said.valid_until)
