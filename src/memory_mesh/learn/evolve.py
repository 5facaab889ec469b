"""Store a text as the newer statement of what is known: find the memory that it takes the place of.

The caller asks for it, so a memory whose claim cannot be true beside the new one is superseded in
the transaction that stores the new one, if its source is not trusted more. `review.undo` brings it
back. Else, and where the two are only similar, both stay, and a link joins them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from memory_mesh.base.typed import replace
from memory_mesh.learn.rules.trace_groups import cosine
from memory_mesh.model import (
    Cardinality,
    Commit,
    ConflictPolicy,
    Draft,
    Keep,
    Kind,
    Lens,
    Link,
    Memory,
    Receipt,
    Resolution,
    Rival,
    SourceKind,
    Standing,
    Status,
)
from memory_mesh.model.graph import EPISODE
from memory_mesh.model.trace import LABEL as TRACE, LEARNING_LABEL
from memory_mesh.rules.trust import (
    dominates,
    is_less_trusted,
    may_change,
    said_by_different,
    trust,
    trust_of,
)
from memory_mesh.search import keyword_plan
from memory_mesh.text import analyzer
from memory_mesh.write import transaction as flows_decide
from memory_mesh.write.access import Access
from memory_mesh.write.claims import predicates_of
from memory_mesh.write.prepare import Worded, clean, embed
from memory_mesh.write.rules.contradictions import (
    as_believed,
    may_alter,
    overlap,
    replacing,
    schema_for,
    updates,
)
from memory_mesh.write.similar_links import comparable, similar_stored, telling_words

LEAST_SIMILARITY = 0.6  # of two texts on one subject
LEAST_SHARED = 1 / 3  # of the words of the shorter text, beside a similarity
LEAST_SHARED_ALONE = 0.6  # where there are no vectors
_SAME_CLAIM = 2.0  # nearer than any similarity
_OTHER_FORMS = frozenset((TRACE, LEARNING_LABEL, EPISODE))
_OTHER_KINDS = frozenset((Kind.LESSON, Kind.REFLECTION, Kind.DIGEST))

CANDIDATES = 20  # memories that are looked at, by meaning and by words
_TRIES = 3  # as often as others supersede what is looked at
_NONE_FOUND = "no memory on the same subject was found"
_REPLACES = "stored; it takes the place of the memory on the same subject"
_SIMILAR = "it is only similar, and both may be true"
_UNSURE = "no rule says which of the two holds"
_EVOLVED = "the caller asked for the newer statement to take its place"


def evolve(access: Access, draft: Draft) -> Receipt:
    """Stores a text, and supersedes the memory on the same subject or links to it."""
    (worded,) = embed(access, [clean(access, draft)], news=[True])
    for tries in reversed(range(_TRIES)):
        candidates = _candidates(access, worded)
        wanted = flows_decide.wanted([worded])
        wanted = replace(wanted, ids=(*wanted.ids, *candidates))
        decide = partial(_decided, access, worded, candidates, last=not tries)
        receipts = access.ledger.commit(access.namespace, wanted, decide).receipts
        if receipts:
            break
    return receipts[0]


def _candidates(access: Access, worded: Worded) -> dict[str, float | None]:
    """Memories that may be on the same subject, with their similarity if there are vectors."""
    draft, wording = worded
    space = wording.space if comparable(wording.space, wording.vectors, wording.text) else None
    found: dict[str, float | None] = {}
    if space is not None:
        found |= dict(similar_stored(access, draft.scope, wording, CANDIDATES))
    with access.ledger.read(access.namespace) as snapshot:
        lens = Lens(snapshot.head().recorded_at, scope=draft.scope, any_validity=True)
        words = telling_words(wording.terms)
        matches = keyword_plan.match(snapshot, words, lens, CANDIDATES, literal=True)
        ids = [each.id for each in snapshot.load([one.version for one in matches.found]).values()]
        compared = {} if space is None else snapshot.vectors(space, ids)
    for id_ in ids:  # without vectors words alone decide
        parts = compared.get(id_)
        found.setdefault(id_, cosine(space, wording.vectors[0], parts) if parts else None)
    return found


def _decided(
    access: Access,
    worded: Worded,
    candidates: Mapping[str, float | None],
    standing: Standing,
    *,
    last: bool,
) -> Commit:
    """What the draft changes, with the related memory superseded or linked.

    Nothing, unless it is the last try, if another write superseded a candidate meanwhile: what took
    its place is to be looked at.
    """
    draft, _ = worded
    now = [standing.memories[id_] for id_ in candidates if id_ in standing.memories]
    if not last and any(memory.status is Status.SUPERSEDED for memory in now):
        return Commit()
    known = [(memory, candidates[memory.id]) for memory in now if memory.status is Status.ACTIVE]
    holds = draft if draft.valid_from is not None else replace(draft, valid_from=standing.at)
    old = related(
        holds, [*((memory, 1.0) for found in standing.claims.values() for memory in found), *known]
    )
    reason, believed = None, _believed(draft, standing)
    if old is not None:
        reason = hindrance(believed, old, access.kind, standing)
    every = {memory.id: memory for found in standing.claims.values() for memory in found}
    every |= {memory.id: memory for memory, _ in known}
    others = [
        memory
        for memory in every.values()
        if (old is None or memory.id != old.id)
        and memory.status is Status.ACTIVE
        and _nearness(holds, memory, None) == _SAME_CLAIM
        and hindrance(believed, memory, access.kind, standing) is None
    ]
    beside: list[Memory] = []  # what the new memory is linked to, once it is known to be stored

    def revise(_: Draft, keep: Keep) -> Keep:
        if keep.status is not Status.ACTIVE or keep.supersedes:
            return keep  # it waits and changes nothing else, or its claim decided
        if old is None:
            return replace(keep, reason=f"{keep.reason}; {_NONE_FOUND}")
        if reason is None:
            return _superseding(draft, keep, [old, *others], standing)
        beside.append(old)
        against = any(rival.memory.id == old.id for rival in keep.against)
        why = reason.replace(_SIMILAR, _UNSURE) if against else reason
        return replace(keep, reason=f"stored; linked to {old.id}, which stays: {why}")

    commit = flows_decide.decide(access, [worded], standing, revise=revise)
    made = commit.receipts[0].id
    links = (Link(made, each.id, "related") for each in beside if made is not None)
    return replace(commit, links=(*commit.links, *links))


def _superseding(draft: Draft, keep: Keep, olds: Sequence[Memory], standing: Standing) -> Keep:
    """The verdict with the related memories superseded."""
    ours = trust(_believed(draft, standing).source.kind)
    rivals = [
        Rival(old, ours, trust_of(old, standing.at), _EVOLVED, Resolution.SUPERSEDE) for old in olds
    ]
    return replacing(replace(keep, reason=_REPLACES), rivals)


def _believed(draft: Draft, standing: Standing) -> Draft:
    believed = as_believed(draft, standing)
    return believed if isinstance(believed, Draft) else draft


# Decides which memory a text is a newer statement of, when a caller asks for it. Pure: no I/O.


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
        return f'{_SIMILAR}; to replace its text: memory-mesh update {old.id} "the new text"'
    if not may_change(writer, old.source):
        return "it comes from a more trusted source than this channel may change"
    if not may_alter(writer, old, standing.history):
        return "the user pinned it or let it in"
    return None


def _nearness(said: Draft, memory: Memory, similarity: float | None) -> float | None:
    """How near a memory is, or None if it is about something else or cannot be replaced."""
    if memory.scope != said.scope or memory.text == said.text or said_by_different(said, memory):
        return None
    if not overlap(said, memory) or (
        memory.kind in _OTHER_KINDS or memory.label in _OTHER_FORMS or memory.lesson is not None
    ):
        return None
    if said.claim is not None and memory.claim is not None:
        if memory.claim.subject != said.claim.subject:
            return None
        if memory.claim.predicate in predicates_of(said.claim):
            return _SAME_CLAIM
        if not (said.claim.read or memory.claim.read):
            return None
    if not _same_subject(said.text, memory.text):
        return None
    shared = _shared(said.text, memory.text)
    if similarity is None:
        return shared if shared >= LEAST_SHARED_ALONE else None
    return similarity if similarity > LEAST_SIMILARITY and shared >= LEAST_SHARED else None


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
    ours, theirs = analyzer.terms(new), analyzer.terms(old)
    return bool(ours and theirs) and (ours[0] in theirs or theirs[0] in ours)


def _shared(new: str, old: str) -> float:
    """Which part of the shorter text's words both have."""
    ours, theirs = frozenset(analyzer.terms(new)), frozenset(analyzer.terms(old))
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))
