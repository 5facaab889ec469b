"""Records and finds traces: memories whose text is the goal, through the gates of every write.

::

    Trace ──▶ Draft(label trace, the rest in extra) ──▶ remember: redact, scrub, embed, decide
                                                           │
                         the ties to other traces become links in the same transaction

    goal ── redact, normalise ──▶ recall, traces only ──▶ similarity ──▶ the nearest
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_mesh.base.typed import replace
from memory_mesh.learn.rules import trace_groups, trace_learnings
from memory_mesh.model import (
    Commit,
    Draft,
    InvalidInput,
    Json,
    Lens,
    Link,
    Memory,
    NotFound,
    Outcome,
    Part,
    Query,
    Receipt,
    Standing,
    Status,
)
from memory_mesh.model.query import And, Compare, Filter, Sign
from memory_mesh.model.trace import KEY, LABEL, LEARNING_LABEL, TIES, is_trace, unpacked
from memory_mesh.rules import trust
from memory_mesh.rules.arguments import MAX_RESULTS
from memory_mesh.search.recall import recall
from memory_mesh.text import embedding_models
from memory_mesh.text.question import Reading
from memory_mesh.write import transaction as flows_decide
from memory_mesh.write.access import Access
from memory_mesh.write.add import remember
from memory_mesh.write.prepare import Worded, embed_question, goal_as_kept, redact_in_trace

_FEW = 200  # learnings or lessons up to which all are compared
_LEARNINGS = Compare("label", Sign.EQUAL, LEARNING_LABEL)
_LESSONS = Compare("severity", Sign.AT_LEAST, 0)  # only lessons have one
_LOOKED_AT, _LEAST_LOOKED_AT = 4, 20  # hits of the search for each match, and at least


def draw_id(access: Access) -> str:
    """A new trace id: trace-{milliseconds}-{random}."""
    return access.ids.draw("trace").replace("_", "-")


def projects(access: Access, now: datetime) -> list[str]:
    """Returns the projects of the namespace that have traces, of any status; reads every trace."""
    lens = Lens(
        now=now,
        across=trust.AUDIENCE,
        statuses=frozenset(Status),
        any_validity=True,
        where=Compare("label", Sign.EQUAL, LABEL),
    )
    found: set[str | None] = set()
    cursor: str | None = None
    while True:
        with access.ledger.read(access.namespace) as snapshot:
            page = snapshot.page(lens, MAX_RESULTS, cursor)
        found |= {memory.scope.project for memory in page}
        if (cursor := page.cursor) is None:
            return sorted(filter(None, found))


def record(
    access: Access, drafts: Sequence[Draft], drawn: frozenset[str], *, all_known: bool
) -> list[Receipt]:
    """Records traces; with `all_known` one that is tied to an unknown trace is refused.

    Goals are requests: nothing is claimed in them, so no claim is read from them. `drawn` are the
    ids that were drawn here, and are drawn anew if another process was faster.
    """
    for draft in drafts:
        _check_ids(access, draft)

    def decide(access: Access, worded: Sequence[Worded], standing: Standing) -> Commit:
        worded = [
            (_with_free_id(access, draft, drawn, standing), wording) for draft, wording in worded
        ]
        commit = flows_decide.decide(access, worded, standing)
        given = [draft for draft, _ in worded]
        told = [
            _told(access, draft, receipt, standing)
            for draft, receipt in zip(given, commit.receipts, strict=True)
        ]
        return replace(
            commit,
            receipts=tuple(receipt for part in told for receipt in part.receipts),
            entries=(*commit.entries, *(entry for part in told for entry in part.entries)),
            links=(*commit.links, *_links(given, commit, standing, all_known=all_known)),
        )

    named = tuple(id_ for draft in drafts for _, id_ in _ties(draft))
    return remember(replace(access, read_claims=False), drafts, decide=decide, named=named)


def similar(
    access: Access, goal: str, lens: Lens, *, limit: int, min_similarity: float
) -> list[tuple[Memory, float]]:
    """Returns the memories nearest to a goal among those the lens sees, nearest first."""
    text = trace_groups.normalised(goal_as_kept(access, goal))
    if not text:
        return []
    many = min(MAX_RESULTS, max(_LEAST_LOOKED_AT, _LOOKED_AT * limit))
    hits = recall(access, Query(text, lens, many))
    space = hits.explanation.space
    reads = space is not None and embedding_models.reads(space, text)
    found = [
        (
            hit.memory,
            trace_groups.similarity(
                text, _subject(hit.memory), hit.parts.get("cosine", 0.0) if reads else 0.0
            ),
        )
        for hit in hits
    ]
    near = [each for each in found if each[1] >= min_similarity]
    near.sort(key=lambda each: (each[1], each[0].occurred_at or each[0].created), reverse=True)
    return near[:limit]


def learned(
    access: Access, goal: str, lens: Lens, *, limit: int, min_similarity: float
) -> list[Memory]:
    """Returns the learnings and lessons nearest to a goal, nearest first.

    They are few beside the traces: where a search would look for them among all, they are listed.
    """
    text = trace_groups.normalised(goal_as_kept(access, goal))
    seen = [_narrowed(lens, _LEARNINGS), _narrowed(lens, _LESSONS)]
    with access.ledger.read(access.namespace) as snapshot:
        learnings = snapshot.page(seen[0], _FEW + 1, None)
        lessons = snapshot.page(seen[1], _FEW + 1, None, worst_first=True)
    found = [
        near
        for listed, own in ((learnings, seen[0]), (lessons, seen[1]))
        for near in (
            _compared(access, text, listed)
            if len(listed) <= _FEW
            else similar(access, goal, own, limit=limit, min_similarity=min_similarity)
        )
    ]
    near = [each for each in found if each[1] >= min_similarity]
    near.sort(key=lambda each: (each[1], each[0].created), reverse=True)
    return [memory for memory, _ in near[:limit]]


def _compared(access: Access, goal: str, memories: Sequence[Memory]) -> list[tuple[Memory, float]]:
    """Memories with their similarity to a goal."""
    if not memories or not goal:
        return []
    prepared = embed_question(access, Query(goal, Lens(memories[0].created)), Reading(goal, ()))
    space, vectors = prepared.space, dict[str, list[Part]]()
    about = {memory.id: _goals(memory) for memory in memories}
    if space is not None and embedding_models.reads(space.name, goal):
        ids = [id_ for each in memories for id_ in (each.id, *about[each.id])]
        with access.ledger.read(access.namespace) as snapshot:
            vectors = snapshot.vectors(space, ids)
    found: list[tuple[Memory, float]] = []
    for memory in memories:
        parts = [part for id_ in about[memory.id] for part in vectors.get(id_, ())]
        near = trace_groups.cosine(space, prepared.vector, parts or vectors.get(memory.id, ()))
        found.append((memory, trace_groups.similarity(goal, _subject(memory), near)))
    return found


def _goals(memory: Memory) -> tuple[str, ...]:
    """The traces whose goals a learning is about; none for one that consolidation did not make."""
    held = trace_learnings.read(memory)
    return () if held is None else held.exemplars


def _subject(memory: Memory) -> str:
    """What is compared with a goal: of a learning its pattern, as its steps are about more."""
    held = trace_learnings.read(memory)
    return memory.text if held is None else held.pattern


def _narrowed(lens: Lens, test: Filter) -> Lens:
    return replace(lens, where=test if lens.where is None else And((test, lens.where)))


def _check_ids(access: Access, draft: Draft) -> None:
    """An id is stored as it is, so it must hold no personal data and no name of the user."""
    for id_ in (_id(draft), *(id_ for _, id_ in _ties(draft))):
        if redact_in_trace(access, id_) != id_:
            raise InvalidInput("a trace_id looks like personal data or a secret; use another one")


def _with_free_id(access: Access, draft: Draft, drawn: frozenset[str], standing: Standing) -> Draft:
    id_ = _id(draft)
    if draft.origin is None or id_ not in drawn:
        return draft
    while standing.taken(id_):
        id_ = draw_id(access)
    return replace(draft, origin=replace(draft.origin, id=id_))


def _told(access: Access, draft: Draft, receipt: Receipt, standing: Standing) -> Commit:
    """The receipt in words for a trace that was recorded before, and the block of a refusal."""
    memory = standing.memories.get(_id(draft))
    if memory is None or receipt.outcome is not Outcome.MERGED:
        return Commit(receipts=(receipt,))
    if _same(draft, memory):
        return Commit(receipts=(replace(receipt, reasons=("this trace is recorded already",)),))
    reason = (
        f"the trace id {memory.id} is taken by another trace; a trace is written once: "
        "use another trace_id"
    )
    return flows_decide.refused(access, draft, reason, standing)


def _same(draft: Draft, memory: Memory) -> bool:
    """True if the memory holds the same trace for a reader of the draft."""
    new, held = _plain(draft.extra), unpacked(_plain(memory.extra))
    same = all(held.get(name) == value for name, value in new.items())
    return same and trust.sees(draft.scope, memory.scope)


def _links(
    drafts: Sequence[Draft], commit: Commit, standing: Standing, *, all_known: bool
) -> list[Link]:
    """The ties of newly recorded traces to those that their readers see."""
    here = {put.memory.id: put.memory for put in commit.puts}
    links: list[Link] = []
    for draft in drafts:
        for tie, id_ in _ties(draft) if _id(draft) in here else ():
            target = here.get(id_) or standing.memories.get(id_)
            if target and is_trace(target) and trust.sees(draft.scope, target.scope):
                links.append(Link(_id(draft), id_, tie))
            elif all_known:
                raise NotFound(
                    f"{tie} names the trace {id_}, which is not recorded here. Record it first, or "
                    "list the traces: memory-mesh trace list"
                )
    return links


def _ties(draft: Draft) -> list[tuple[str, str]]:
    plain = _plain(draft.extra)
    return [(tie, str(id_)) for tie in TIES for id_ in _list(plain.get(tie))]


def _plain(extra: Mapping[str, Json]) -> Mapping[str, Json]:
    held = extra.get(KEY)
    return held if isinstance(held, Mapping) else {}


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) else ()


def _id(draft: Draft) -> str:
    return "" if draft.origin is None else draft.origin.id
