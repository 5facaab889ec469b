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

from memory_mesh.fastdataclass import replace
from memory_mesh.flows import context, explain_rank
from memory_mesh.flows.access import Access
from memory_mesh.flows.explain_rank import Asked
from memory_mesh.flows.prepare import redact
from memory_mesh.model.pack import LeftOut, LeftOutBy, Pack, PackItem
from memory_mesh.model.why import Gate, Why
from memory_mesh.policy.audience import seen_through
from memory_mesh.policy.explaining import packs, ranks
from memory_mesh.policy.packing.rules import PackRules
from memory_mesh.process.cache import SearchCache

_GATES = {LeftOutBy.RELEVANCE: Gate.THRESHOLD, LeftOutBy.OLDER: Gate.OLDER}


def why_packed(access: Access, asked: Asked, rules: PackRules) -> Why:
    """Explains why a memory is in the pack for a question, or why not."""
    asked = replace(asked, query=replace(asked.query, text=redact(access, asked.query.text)))
    with access.ledger.read(access.namespace) as snapshot:
        sighted = explain_rank.sight(snapshot, asked)
    if sighted.memory is None or sighted.gate is not None:
        return explain_rank.unseen(asked, sighted)
    pack = context.pack(
        _apart(access, keyword_only=asked.query.keyword_only),
        context.Asked(asked.query.text, asked.query.lens, rules),
        record=False,
        reranking=asked.reranking,
    )
    entry = _entry(asked, pack)
    why = _searched(access, asked, rules)
    if entry is None:
        if why.gate is Gate.LIMIT:
            return replace(why, sentences=packs.not_considered(asked.id, pack))
        if why.gate is not None:
            return why
        return replace(why, gate=Gate.PACKED, sentences=packs.not_considered(asked.id, pack))
    least = context.floor(rules, (item.score or 0.0 for item in pack.items))
    told, gate = packs.told(entry, pack, least), None
    if isinstance(entry, LeftOut):
        gate = _GATES.get(entry.by, Gate.PACKED)
    weighed = ranks.weighed(why.rank) if why.rank is not None else ()
    return replace(why, sentences=(*told, *weighed), gate=gate, packed=entry)


def _entry(asked: Asked, pack: Pack) -> PackItem | LeftOut | None:
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


def _searched(access: Access, asked: Asked, rules: PackRules) -> Why:
    """Explains the search of the pack, which has no floor."""
    query = replace(asked.query, limit=context.hits_wanted(rules), min_relevance=0.0)
    return explain_rank.why_found(access, replace(asked, query=query))
