"""Why a memory is in a pack or not: the pack is made once more, and nothing is recorded.

::

    what the lens of the pack hides ──────────────▶ gate namespace, scope, status, validity, filter
      ▼
    the pack ── in it ────────────────────────────▶ no gate
      │  left out: below the floor, older, no room ▶ gate threshold, older, packed
      ▼
    not considered: the search of the pack ────────▶ gate candidates or limit

The search of the pack is explained in any case: it says why the memory ranks where it does.
"""

from memory_mesh.base.typed import replace
from memory_mesh.context import explain_rank, pack as context
from memory_mesh.context.packing.token_budget import PackRules
from memory_mesh.model.pack import LeftOut, LeftOutBy, Pack, PackItem, Section
from memory_mesh.model.why import Gate, Why
from memory_mesh.platform.cache import SearchCache
from memory_mesh.rules.trust import seen_through
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import redact

_IN: dict[Section, str] = {
    Section.PINNED: "it is pinned",
    Section.PROFILE: "it is a part of the profile",
    Section.LESSON: "it is a lesson",
    Section.FOUND: "the search found it",
    Section.LINKED: "it is linked to a memory that the search found",
    Section.NEWER: "it seems to update a memory that the search found",
    Section.OLDER: "the search found it, below the newer statement that seems to update it",
    Section.RECENT: "it is among the newest",
    Section.USED: "it is among the most used",
}
_OUT: dict[LeftOutBy, str] = {
    LeftOutBy.BUDGET: "there was no room left for it",
    LeftOutBy.REDUNDANT: "another memory of the pack says the same",
    LeftOutBy.SHARE: "pinned memories and lessons had used up their share of the budget",
    LeftOutBy.OLDER: "a newer statement is in the pack, and there was no room for both",
    LeftOutBy.RELEVANCE: "it is not relevant enough",
    LeftOutBy.COUNT: "the pack has as many memories as were asked for",
    LeftOutBy.GIVEN: "the reader has it already",
    LeftOutBy.ORPHANED: "the code that it is about is gone from the repository",
}
_OPENS: dict[LeftOutBy, str] = {
    LeftOutBy.BUDGET: "A higher max_tokens makes room.",
    LeftOutBy.SHARE: "A higher max_tokens makes room.",
    LeftOutBy.OLDER: "A higher max_tokens makes room.",
    LeftOutBy.COUNT: "A higher max_memories makes room.",
    LeftOutBy.RELEVANCE: "A lower min_relevance lets it in.",
    LeftOutBy.ORPHANED: "memory-mesh check says where its code was, and puts it up for review.",
}

_GATES = {LeftOutBy.RELEVANCE: Gate.THRESHOLD, LeftOutBy.OLDER: Gate.OLDER}


def why_packed(access: Access, asked: explain_rank.ExplainedSearch, rules: PackRules) -> Why:
    """Explains why a memory is in the pack for a question, or why not."""
    asked = replace(asked, query=replace(asked.query, text=redact(access, asked.query.text)))
    with access.ledger.read(access.namespace) as snapshot:
        sighted = explain_rank.sight(snapshot, asked)
    if sighted.memory is None or sighted.gate is not None:
        return explain_rank.unseen(asked, sighted)
    pack = context.pack(
        _apart(access, keyword_only=asked.query.keyword_only),
        context.PackRequest(asked.query.text, asked.query.lens, rules),
        record=False,
        reranking=asked.reranking,
    )
    entry = _entry(asked, pack)
    why = _searched(access, asked, rules)
    if entry is None:
        if why.gate is Gate.LIMIT:
            return replace(why, sentences=not_considered(asked.id, pack))
        if why.gate is not None:
            return why
        return replace(why, gate=Gate.PACKED, sentences=not_considered(asked.id, pack))
    least = context.floor(rules, (item.score or 0.0 for item in pack.items))
    told, gate = sentences_of(entry, pack, least), None
    if isinstance(entry, LeftOut):
        gate = _GATES.get(entry.by, Gate.PACKED)
    weighed = explain_rank.weighed(why.rank) if why.rank is not None else ()
    return replace(why, sentences=(*told, *weighed), gate=gate, packed=entry)


def _entry(asked: explain_rank.ExplainedSearch, pack: Pack) -> PackItem | LeftOut | None:
    """The memory's entry in a pack, or in what was left out of it, if there is one.

    It names no other memory that who asks does not see.
    """
    seen = {item.id for item in pack.items if seen_through(asked.sight, item.memory.scope)}
    for item in pack.items:
        if item.id == asked.id:
            newer = item.newer if item.newer in seen else None
            return replace(
                item, because=item.because if item.because in seen else None, newer=newer
            )
    for left in pack.left_out:
        if left.id == asked.id:
            left = _with_its_newer(left, pack)  # noqa: PLW2901  # the same entry
            return left if left.because in seen else replace(left, because=None)
    return None


def _with_its_newer(left: LeftOut, pack: Pack) -> LeftOut:
    """What was left out; an older statement whose newer one is not in either had no room."""
    alone = left.by is LeftOutBy.OLDER and all(item.id != left.because for item in pack.items)
    return replace(left, by=LeftOutBy.BUDGET, because=None) if alone else left


def _apart(access: Access, *, keyword_only: bool) -> Access:
    """The access without the cache of the store, and without a model where none is wanted."""
    alone = replace(access, cache=SearchCache())
    return replace(alone, embedder=None) if keyword_only else alone


def _searched(access: Access, asked: explain_rank.ExplainedSearch, rules: PackRules) -> Why:
    """Explains the search of the pack, which has no floor."""
    query = replace(asked.query, limit=context.hits_wanted(rules), min_relevance=0.0)
    return explain_rank.why_found(access, replace(asked, query=query))


# Says why a memory is in a pack, or what kept it out of it.


def sentences_of(entry: PackItem | LeftOut, pack: Pack, floor: float) -> tuple[str, ...]:
    """The sentences for a memory that is in a pack or was left out of it."""
    return _taken(entry, pack) if isinstance(entry, PackItem) else _left_out(entry, pack, floor)


def not_considered(memory_id: str, pack: Pack) -> tuple[str, ...]:
    """The sentences for a hit that the pack did not even consider."""
    return (
        f"{memory_id} can be found, but the pack of {pack.max_tokens} tokens did not come to it.",
        "A higher max_tokens looks further.",
    )


def _taken(item: PackItem, pack: Pack) -> tuple[str, ...]:
    """The sentences for a memory that is in the pack."""
    place = 1 + [each.id for each in pack.items].index(item.id)
    score = "" if item.score is None else f", with a score of {item.score:.2f}"
    sentences = [
        f"{item.id} is memory {place} of {len(pack.items)} in the pack: {_IN[item.section]}{score}."
    ]
    if item.because is not None:
        sentences.append(f"{item.because} brought it along.")
    part = " for a part of its text" if item.cut else ""
    sentences.append(f"It takes {item.tokens} of {pack.max_tokens} tokens{part}.")
    return tuple(sentences)


def _left_out(left: LeftOut, pack: Pack, floor: float) -> tuple[str, ...]:
    """The sentences for a memory that was considered and left out."""
    by = f" ({left.because})" if left.because is not None else ""
    sentences = [f"{left.id} was considered and left out of the pack: {_OUT[left.by]}{by}."]
    if left.by is LeftOutBy.RELEVANCE and left.score is not None:
        sentences.append(f"Its score is {left.score:.2g}; the floor of the pack is {floor:g}.")
    elif left.tokens:
        used = f"the pack has {pack.tokens} of {pack.max_tokens}"
        sentences.append(f"It would take {left.tokens} tokens; {used}.")
    if left.by in _OPENS:
        sentences.append(_OPENS[left.by])
    return tuple(sentences)
