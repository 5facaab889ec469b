"""Decides which memory a text is a newer statement of, when a caller asks for it. Pure: no I/O."""

from collections.abc import Iterable

from memory_mesh.model import (
    Cardinality,
    ConflictPolicy,
    Draft,
    Kind,
    Memory,
    SourceKind,
    Standing,
)
from memory_mesh.model.graph import EPISODE
from memory_mesh.model.trace import LABEL as TRACE, LEARNING_LABEL
from memory_mesh.policy.claims import predicates_of
from memory_mesh.policy.text import analyze
from memory_mesh.policy.writing.contradictions import overlap, schema_for, updates
from memory_mesh.policy.writing.holding import may_alter
from memory_mesh.policy.writing.persons import said_by_different
from memory_mesh.policy.writing.trust import (
    dominates,
    is_less_trusted,
    may_change,
    trust,
    trust_of,
)

LEAST_SIMILARITY = 0.6  # of two texts on one subject
LEAST_SHARED = 1 / 3  # of the words of the shorter text, beside a similarity
LEAST_SHARED_ALONE = 0.6  # where there are no vectors
_OTHER_FORMS = frozenset((TRACE, LEARNING_LABEL, EPISODE))
_OTHER_KINDS = frozenset((Kind.LESSON, Kind.REFLECTION, Kind.DIGEST))


def related(said: Draft, candidates: Iterable[tuple[Memory, float | None]]) -> Memory | None:
    """The nearest memory on the same subject and for the same audience, or None.

    A candidate comes with its similarity, or with None where there are no vectors.
    """
    found = [
        (nearness, memory)
        for memory, similarity in candidates
        if (nearness := _nearness(said, memory, similarity)) is not None
    ]
    return max(found, key=lambda pair: pair[0], default=(0.0, None))[1]


def hindrance(said: Draft, old: Memory, writer: SourceKind, standing: Standing) -> str | None:
    """Why a text may not take the place of a memory; None if it may."""
    if is_less_trusted(said, old):
        return f"its source ({old.source.kind}) is trusted more than {said.source.kind}"
    confirmed = trust_of(old, standing.at) > trust(said.source.kind)
    if confirmed and not dominates(said.source, old.source):
        return "others confirmed it, so it is trusted more"
    if _several(said, old, standing):
        return "both values can be true at once"
    if not updates(said, old, standing):
        return (
            "it is only similar, and both may be true; state a claim (subject, predicate, value) "
            "with each, or use update"
        )
    if not may_change(writer, old.source):
        return "it comes from a more trusted source than this channel may change"
    if not may_alter(writer, old, standing.history):
        return "the user pinned it or let it in"
    return None


def _nearness(said: Draft, memory: Memory, similarity: float | None) -> float | None:
    """How near a memory is, or None if it is about something else or cannot be replaced."""
    if memory.scope != said.scope or memory.text == said.text or said_by_different(said, memory):
        return None
    if not overlap(said, memory) or _is_of_its_own_kind(memory):
        return None
    if said.claim is not None and memory.claim is not None:
        if memory.claim.subject != said.claim.subject:
            return None
        if memory.claim.predicate in predicates_of(said.claim):
            return 2.0
        if not (said.claim.read or memory.claim.read):
            return None
    if not _same_subject(said.text, memory.text):
        return None
    shared = _shared(said.text, memory.text)
    if similarity is None:
        return shared if shared >= LEAST_SHARED_ALONE else None
    return similarity if similarity > LEAST_SIMILARITY and shared >= LEAST_SHARED else None


def _is_of_its_own_kind(memory: Memory) -> bool:
    """True for a lesson, a reflection, a trace or an episode: no statement that grows old."""
    return memory.kind in _OTHER_KINDS or memory.label in _OTHER_FORMS or memory.lesson is not None


def _several(said: Draft, old: Memory, standing: Standing) -> bool:
    """True if two claims of one predicate stand side by side, as stated or by the user's rule."""
    new, known = said.claim, old.claim
    if new is None or known is None or known.predicate not in predicates_of(new):
        return False
    schema = schema_for(new, standing)
    stated = not (new.read or known.read)
    return (
        schema.cardinality is Cardinality.MULTI
        or schema.conflict_policy is ConflictPolicy.KEEP_BOTH
        or (stated and not (new.exclusive and known.exclusive))
    )


def _same_subject(new: str, old: str) -> bool:
    """True if one of the texts begins with a word that the other has too."""
    ours, theirs = analyze.terms(new), analyze.terms(old)
    return bool(ours and theirs) and (ours[0] in theirs or theirs[0] in ours)


def _shared(new: str, old: str) -> float:
    """Which part of the shorter text's words both have."""
    ours, theirs = frozenset(analyze.terms(new)), frozenset(analyze.terms(old))
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))
