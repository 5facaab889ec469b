"""Why a memory is in a pack or not: the pack is made once more, and nothing is recorded.

::

    what the lens of the pack hides ──────────────▶ gate namespace, scope, status, validity, filter
      ▼
    the pack ── in it ────────────────────────────▶ no gate
      │  left out: below the floor, older, no room ▶ gate threshold, older, packed
      ▼
    not considered: the search of the pack ────────▶ gate candidates or limit
"""

from collections.abc import Sequence

from memory_mesh.fastdataclass import replace
from memory_mesh.flows import context, explain_rank
from memory_mesh.flows.access import Access
from memory_mesh.flows.explain_rank import Asked
from memory_mesh.flows.prepare import redact
from memory_mesh.model import Memory
from memory_mesh.model.pack import LeftOut, LeftOutBy, Pack
from memory_mesh.model.why import Gate, Why
from memory_mesh.policy.audience import seen_through
from memory_mesh.policy.explaining import packs
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
    query = asked.query
    pack = context.pack(
        _apart(access, keyword_only=query.keyword_only),
        context.Asked(query.text, query.lens, rules),
        record=False,
        reranking=asked.reranking,
    )
    for item in pack.items:
        if item.id == asked.id:
            told = packs.taken(item, pack, _shown(asked, sighted.memory, pack))
            return _why(asked, sighted.memory, told, pack, packed=item)
    for left in pack.left_out:
        if left.id == asked.id:
            return _left_out(asked, sighted.memory, pack, _with_its_newer(left, pack), rules)
    return _not_considered(access, asked, rules, pack)


def _left_out(asked: Asked, memory: Memory, pack: Pack, left: LeftOut, rules: PackRules) -> Why:
    """The answer for a memory that was considered and left out."""
    told = packs.left_out(left, pack, rules.min_relevance, _shown(asked, memory, pack))
    gate = _GATES.get(left.by, Gate.PACKED)
    return _why(asked, memory, told, pack, packed=left, gate=gate)


def _with_its_newer(left: LeftOut, pack: Pack) -> LeftOut:
    """What was left out; an older statement whose newer one is not in either had no room."""
    alone = left.by is LeftOutBy.OLDER and all(item.id != left.because for item in pack.items)
    return replace(left, by=LeftOutBy.BUDGET, because=None) if alone else left


def _apart(access: Access, *, keyword_only: bool) -> Access:
    """The access without the cache of the store, and without a model where none is wanted."""
    alone = replace(access, cache=SearchCache())
    return replace(alone, embedder=None) if keyword_only else alone


def _not_considered(access: Access, asked: Asked, rules: PackRules, pack: Pack) -> Why:
    """Explains the search of the pack, which did not bring the memory along."""
    hits = max(context.LEAST_HITS, min(context.MOST_HITS, rules.max_tokens // context.HIT_TOKENS))
    query = replace(asked.query, limit=hits, min_relevance=0.0)
    why = explain_rank.why_found(access, replace(asked, query=query))
    if why.gate is not None:
        return why
    return replace(why, gate=Gate.PACKED, sentences=packs.not_considered(asked.id, pack))


def _shown(asked: Asked, memory: Memory, pack: Pack) -> frozenset[str]:
    """The memories of a pack that who asks sees, and may read the ids of."""
    seen = (item.memory for item in pack.items if seen_through(asked.sight, item.memory.scope))
    return frozenset({memory.id, *(each.id for each in seen)})


def _why(
    asked: Asked,
    memory: Memory,
    sentences: Sequence[str],
    pack: Pack,
    *,
    packed: "packs.Packed",
    gate: Gate | None = None,
) -> Why:
    return Why(
        id=asked.id,
        subject="memory",
        sentences=tuple(sentences),
        question=asked.query.text,
        gate=gate,
        packed=packed,
        memory=memory,
        found=pack.explanation,
    )
