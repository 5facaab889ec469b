"""Decides what happens to a draft, given what the ledger holds. Pure: no I/O.

::

    key seen ▶ Repeat     empty, too long ▶ Refuse     brought here before ▶ Known | Refuse
    an echo of what was recalled ▶ Refuse
    a lesson ▶ by its pattern          a claim ▶ by its rivals          else ▶ by its text

Rules come before trust, and trust before time. A newcomer that has to wait changes nothing else.
"""

from collections.abc import Sequence

from memory_mesh.formats.looks import as_seen
from memory_mesh.model import (
    DedupPolicy,
    Draft,
    IdempotencyConflict,
    Keep,
    Kind,
    KnownLesson,
    Lesson,
    Memory,
    Merge,
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
from memory_mesh.rules import trust
from memory_mesh.rules.arguments import unfit
from memory_mesh.text import recited
from memory_mesh.write.rules.contradictions import judge_claim, schema_for, true_together


def judge(draft: Draft, wording: Wording, standing: Standing) -> Verdict:
    """Returns the verdict on a draft: keep, merge, repeat an earlier receipt, or refuse."""
    seen = standing.keys.get(draft.key) if draft.key is not None else None
    if seen is not None:
        if (seen.hash, seen.memory.scope) != (wording.hash, draft.scope):
            raise IdempotencyConflict
        return Repeat(seen)
    if fault := unfit(draft.text):
        return Refuse(fault)
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
    verdict: Verdict = Keep()
    if draft.claim is not None:
        verdict = judge_claim(draft, draft.claim, standing)
    doubt = draft.quarantine or (
        _waits(draft) if is_called_lesson(draft) and not _may_teach(draft, standing) else None
    )
    if doubt is not None and isinstance(verdict, Keep):
        verdict = Keep(status=Status.QUARANTINED, reason=doubt)
    waits = next((memory for memory in same if memory.status is Status.QUARANTINED), None)
    if waits and isinstance(verdict, Keep) and verdict.status is Status.QUARANTINED:
        return KnownLesson(waits, f"the same text waits for review as {waits.id}")
    return verdict


def _known(draft: Draft, wording: Wording, standing: Standing) -> Verdict | None:
    """Returns the verdict on an imported memory whose id is already in this store."""
    memory = standing.memories.get(draft.origin.id) if draft.origin is not None else None
    if memory is None:
        return None
    if memory.text == wording.text and trust.sees(draft.scope, memory.scope):
        return KnownLesson(memory, "it was imported before")
    return Refuse(f"the id {memory.id} is used by another memory in this store")


def _echo(draft: Draft, wording: Wording, standing: Standing) -> Verdict | None:
    """Refuses a text that was recalled from memory; an agent may repeat its own."""
    suspects = recited.suspects(draft, wording.echo)
    plain = suspects == (wording.echo,)  # not in the form of search results: others may say it too
    seen = [
        memory
        for suspect in suspects
        for memory in [_heard(draft, standing.echoes.get(suspect, ()), plain=plain)]
        if memory is not None
    ]
    if not suspects or len(seen) < len(suspects):
        return None
    own, spoken = seen[0], (draft.source.channel, draft.scope, wording.text)
    if plain and (own.source.channel, own.scope, own.text) == spoken:
        return KnownLesson(
            own, f"the same memory is stored as {own.id}; a repeat adds no weight to it"
        )
    ids = ", ".join(dict.fromkeys(memory.id for memory in seen))
    return Refuse(f"the text was recalled from memory: {ids}")


def _heard(draft: Draft, known: Sequence[Memory], *, plain: bool) -> Memory | None:
    """Returns the first memory with these words that the draft can be an echo of."""
    return next(
        (
            memory
            for memory in known
            if trust.sees(draft.scope, memory.scope)
            and not (plain and trust.said_by_different(draft, memory))
        ),
        None,
    )


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


def _judge_lesson(draft: Draft, lesson: Lesson, standing: Standing) -> Verdict:
    """Judges a lesson: it replaces less certain lessons of its pattern, or waits for review.

    A lesson that waits changes nothing else.
    """
    trusted = _may_teach(draft, standing)
    same = [
        memory
        for memory in standing.lessons.get((lesson.pattern_id, draft.scope), ())
        if memory.lesson is not None and same_pattern(memory.lesson, lesson)
    ]
    active = [memory for memory in same if memory.status is Status.ACTIVE]
    for memory in active if trusted else same:
        if trusted and trust.dominates(draft.source, memory.source):
            continue  # let in from a lower source: the more trusted one takes its place
        if memory.lesson is not None and memory.lesson.confidence >= lesson.confidence:
            return KnownLesson(
                memory, f"{memory.id} teaches the same with at least the same confidence"
            )
    if trusted:
        return Keep(supersedes=tuple(active), against=tuple(_outdone(active, lesson)))
    return Keep(status=Status.QUARANTINED, reason=_waits(draft))


def _may_teach(draft: Draft, standing: Standing) -> bool:
    """True if a lesson teaches without review: all it comes from speaks for the user."""
    sources = [
        trust.authority(standing.memories[id_].source)
        for id_ in draft.derived_from
        if id_ in standing.memories
    ]
    return trust.is_authoritative(trust.lowest((trust.authority(draft.source), *sources)))


def _waits(draft: Draft) -> str:
    return f"a lesson from {draft.source.kind} waits for review"


def is_called_lesson(said: Statement) -> bool:
    """True if a reader is told that this is a lesson, by its kind or by a label that looks so."""
    return (
        said.kind is Kind.LESSON
        or said.lesson is not None
        or as_seen(said.label or "").strip().casefold().startswith(Kind.LESSON.value)
    )


def _outdone(active: list[Memory], lesson: Lesson) -> list[Rival]:
    """Returns the lessons of the same pattern that a more certain one replaces."""
    return [
        Rival(
            memory,
            lesson.confidence,
            memory.lesson.confidence if memory.lesson is not None else 0.0,
            f"the same failure pattern, taught with more confidence: {lesson.error_pattern}"[:400],
            Resolution.SUPERSEDE,
        )
        for memory in active
    ]


def same_pattern(one: Lesson, other: Lesson) -> bool:
    """True if pattern and scope are equal; their joint hash could mix up ab + c and a + bc."""
    return (one.error_pattern, one.applies_to) == (other.error_pattern, other.applies_to)


def _same(memory: Memory, draft: Draft, standing: Standing) -> bool:
    """True if the draft repeats the memory: same person, valid time and stated claim."""
    if trust.said_by_different(memory, draft) or not true_together(memory, draft):
        return False
    if draft.claim is None or draft.claim.read:
        return True
    schema = schema_for(draft.claim, standing)
    return schema.dedup_policy is DedupPolicy.CORROBORATE and memory.claim == draft.claim
