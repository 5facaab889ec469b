"""Store a text as the newer statement of what is known: find the memory that it takes the place of.

The caller asks for it, so a memory whose claim cannot be true beside the new one is superseded in
the transaction that stores the new one, if its source is not trusted more. `undo_review` brings it
back. Else, and where the two are only similar, both stay, and a link joins them.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from memory_mesh.fastdataclass import replace
from memory_mesh.flows import decide as flows_decide, keyword_plan
from memory_mesh.flows.access import Access
from memory_mesh.flows.linking import comparable, similar_stored
from memory_mesh.flows.prepare import Worded, clean, embed
from memory_mesh.model import (
    Commit,
    Draft,
    Keep,
    Lens,
    Link,
    Memory,
    Receipt,
    Resolution,
    Rival,
    Standing,
    Status,
)
from memory_mesh.policy.learning.similar_goals import cosine
from memory_mesh.policy.linking import telling_words
from memory_mesh.policy.writing import evolving
from memory_mesh.policy.writing.contradictions import as_believed
from memory_mesh.policy.writing.trust import trust, trust_of

CANDIDATES = 20  # memories that are looked at, by meaning and by words
_TRIES = 3  # as often as others supersede what is looked at
_NONE_FOUND = "no memory on the same subject was found"
_REPLACES = "stored; it takes the place of the memory on the same subject"
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
    old = evolving.related(holds, [*_rivals(standing), *known])
    hindrance = None
    if old is not None:
        hindrance = evolving.hindrance(_believed(draft, standing), old, access.kind, standing)
    beside: list[Memory] = []  # what the new memory is linked to, once it is known to be stored

    def revise(_: Draft, keep: Keep) -> Keep:
        if keep.status is not Status.ACTIVE or keep.supersedes:
            return keep  # it waits and changes nothing else, or its claim decided
        if old is None:
            return replace(keep, reason=f"{keep.reason}; {_NONE_FOUND}")
        if hindrance is None:
            return _superseding(draft, keep, old, standing)
        beside.append(old)
        return replace(keep, reason=f"stored; linked to {old.id}, which stays: {hindrance}")

    commit = flows_decide.decide(access, [worded], standing, revise=revise)
    made = commit.receipts[0].id
    links = (Link(made, each.id, "related") for each in beside if made is not None)
    return replace(commit, links=(*commit.links, *links))


def _superseding(draft: Draft, keep: Keep, old: Memory, standing: Standing) -> Keep:
    """The verdict with the related memory superseded."""
    rival = Rival(
        old,
        trust(_believed(draft, standing).source.kind),
        trust_of(old, standing.at),
        _EVOLVED,
        Resolution.SUPERSEDE,
    )
    others = tuple(each for each in keep.against if each.memory.id != old.id)
    return replace(keep, supersedes=(old,), reason=_REPLACES, against=(*others, rival))


def _rivals(standing: Standing) -> Sequence[tuple[Memory, float | None]]:
    """Memories that claim something of the same."""
    return [(memory, 1.0) for found in standing.claims.values() for memory in found]


def _believed(draft: Draft, standing: Standing) -> Draft:
    believed = as_believed(draft, standing)
    return believed if isinstance(believed, Draft) else draft
