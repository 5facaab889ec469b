"""THE read path, one story.

::

    Query ── analyze ──▶ terms
               │
        ledger.read(namespace)                 one read transaction
               │  head ──▶ cached for this seq? then that is the answer
               │  match(terms, lens)           scope, status, validity and filter inside
               ▼
            relevance ──▶ best `limit` ──▶ load ──▶ Hit(memory, score, parts)
               │
            note a recall block                recorded soon, never chained, nobody waits
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_mesh.cache import SearchCache
from memory_mesh.errors import InvalidInput, StoreIsFull
from memory_mesh.formats import yamo
from memory_mesh.model import Entry, Hit, Json, Lens, Matches, Memory, Operation, Query
from memory_mesh.policy import analyze, filters
from memory_mesh.policy.scoring import keyword_relevance
from memory_mesh.ports import Ids, Ledger, Snapshot

DEPTH = 100  # candidates per leg, or more when more are asked for
PROFILES = ("mesh",)


@dataclass(frozen=True, slots=True)
class Reader:
    """Where and by whom is read: the parts every read needs."""

    ledger: Ledger
    ids: Ids
    cache: SearchCache
    namespace: str
    agent: str
    yamo: bool = True


def recall(reader: Reader, query: Query, *, use_cache: bool = True) -> list[Hit]:
    """The best memories for a question, from best to worst, each with the parts of its score."""
    if query.profile not in PROFILES:
        message = f"there is no profile {query.profile!r}; choose one of: {', '.join(PROFILES)}"
        raise InvalidInput(message)
    with reader.ledger.read(reader.namespace) as snapshot:
        key = _cache_key(reader.namespace, snapshot.head().seq, query)
        hits = reader.cache.get(key, query.lens.now) if use_cache else None
        if hits is None:
            hits = _answer(snapshot, query)
            if use_cache:
                bound = snapshot.next_bound(query.lens.now)
                reader.cache.put(key, hits, query.lens.now, bound)
    if reader.yamo:
        reader.ledger.note(reader.namespace, _recall_entry(reader, query, hits))
    return list(hits)


def open_memories(reader: Reader, ids: Sequence[str], lens: Lens) -> list[Memory]:
    """Memories by id; opening one counts as use, and the record is written before it returns."""
    with reader.ledger.read(reader.namespace) as snapshot:
        found = snapshot.get(ids, lens)
    if found and lens.as_of is None:
        used = [memory.id for memory in found]
        entry = _use_entry(reader, used, lens.now) if reader.yamo else None
        try:
            reader.ledger.use(reader.namespace, used, entry)
        except StoreIsFull:  # a full disk must not make what is stored unreadable
            return found
    return found


def _answer(snapshot: Snapshot, query: Query) -> tuple[Hit, ...]:
    terms = analyze.query_terms(query.text)
    matches = snapshot.match(terms, query.lens, max(DEPTH, query.limit))
    best = matches.found[: query.limit]
    memories = snapshot.load([match.version for match in best])
    return tuple(Hit(memories[match.version], *_scored(match.bm25, matches)) for match in best)


def _scored(bm25: float, matches: Matches) -> tuple[float, Mapping[str, float]]:
    """The relevance and what it was made of."""
    relevance = keyword_relevance(bm25, matches.ceiling)
    return relevance, {
        "keyword": relevance,
        "bm25": bm25,
        "bm25_ceiling": matches.ceiling,
        "terms_dropped": float(len(matches.dropped)),
    }


def _cache_key(namespace: str, seq: int, query: Query) -> tuple[object, ...]:
    """RFC-0011's query, limit and filter, and all else that can change the answer."""
    lens = query.lens
    where = filters.canonical(lens.where) if lens.where is not None else None
    return (
        "search", query.text, query.limit, where, namespace, seq, query.profile, lens.scope,
        lens.across, lens.statuses, lens.as_of, lens.valid_at, lens.any_validity,
    )  # fmt: skip


def _recall_entry(reader: Reader, query: Query, hits: Sequence[Hit]) -> Entry:
    top = max((hit.score for hit in hits), default=0.0)
    where = query.lens.where
    block = yamo.recall(
        query.text,
        agent_id=reader.agent,
        limit=query.limit,
        filter=filters.canonical(where) if where is not None else None,
        at=query.lens.now,
        results=len(hits),
        top_score=top,
    )
    return _entry(reader, block, [hit.id for hit in hits], query.lens.now, {"use": "search"})


def _use_entry(reader: Reader, ids: Sequence[str], now: datetime) -> Entry:
    block = yamo.recall(
        f"id IN ({', '.join(ids)})",
        agent_id=reader.agent,
        limit=len(ids),
        at=now,
        results=len(ids),
        top_score=1.0,
    )
    return _entry(reader, block, ids, now, {"use": "get"})


def _entry(
    reader: Reader,
    block: yamo.YamoBlock,
    memories: Sequence[str],
    at: datetime,
    metadata: dict[str, Json],
) -> Entry:
    return Entry(
        id=reader.ids.draw("yamo_recall"),
        operation=Operation.RECALL,
        agent=reader.agent,
        at=at,
        memories=tuple(memories),
        wire=yamo.render(block),
        metadata=metadata,
    )
