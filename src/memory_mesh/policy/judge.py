"""The verdict on a draft, given what the ledger holds at the moment of decision. Pure and total."""

from memory_mesh.errors import IdempotencyConflict
from memory_mesh.model import (
    Draft,
    Keep,
    Known,
    Lesson,
    Memory,
    Merge,
    Refuse,
    Repeat,
    Rivals,
    Status,
    Verdict,
    Wording,
)
from memory_mesh.policy.trust import lowest, speaks_for_itself

MAX_CHARACTERS = 100_000  # RFC-0011's implementation cuts off here


def judge(draft: Draft, wording: Wording, rivals: Rivals) -> Verdict:
    """Keep, merge into a twin, repeat an earlier answer, or refuse with a reason."""
    seen = rivals.keys.get(draft.key) if draft.key is not None else None
    if seen is not None:
        if (seen.hash, seen.memory.scope) != (wording.hash, draft.scope):
            raise IdempotencyConflict
        return Repeat(seen)
    if not draft.text.strip():
        return Refuse("the text is empty")
    if len(draft.text) > MAX_CHARACTERS:
        return Refuse(f"the text has {len(draft.text)} characters, at most {MAX_CHARACTERS} fit")
    if draft.born is not None and draft.born.id in rivals.memories:
        memory = rivals.memories[draft.born.id]
        if memory.text == wording.text:
            return Known(memory, "it was brought here before")
        return Refuse(f"{memory.id} is another memory here")
    if draft.lesson is not None:
        return _judge_lesson(draft, draft.lesson, rivals)
    known = rivals.twins.get((wording.hash, draft.scope), ())
    twin = next((memory for memory in known if _true_together(memory, draft)), None)
    if twin is not None and not draft.allow_duplicate:
        return Merge(twin)
    return Keep()


def _judge_lesson(draft: Draft, lesson: Lesson, rivals: Rivals) -> Verdict:
    """A lesson replaces a less certain one of its pattern; from low trust it waits for review.

    One that waits changes nothing else, and gives way to any that is as certain.
    """
    sources = [rivals.memories[id_].source.kind for id_ in draft.derived_from
               if id_ in rivals.memories]  # fmt: skip
    trusted = speaks_for_itself(lowest((draft.source.kind, *sources)))
    same = [
        memory
        for memory in rivals.lessons.get((lesson.pattern_id, draft.scope), ())
        if memory.lesson is not None and same_pattern(memory.lesson, lesson)
    ]
    active = [memory for memory in same if memory.status is Status.ACTIVE]
    for memory in active if trusted else same:
        if memory.lesson is not None and memory.lesson.confidence >= lesson.confidence:
            return Known(memory, f"{memory.id} already teaches this, and no less certainly")
    if trusted:
        return Keep(supersedes=tuple(active))
    reason = f"a lesson from {draft.source.kind} waits for review"
    return Keep(status=Status.QUARANTINED, reason=reason)


def same_pattern(one: Lesson, other: Lesson) -> bool:
    """The hash has no separator between its two parts: ab + c must not be taken for a + bc."""
    return (one.error_pattern, one.applies_to) == (other.error_pattern, other.applies_to)


def _true_together(memory: Memory, draft: Draft) -> bool:
    """What holds at other times says something else: merging would make a true text vanish."""
    span = (draft.valid_from, draft.valid_until)
    return (memory.valid_from, memory.valid_until) == span
