"""THE read path, one story.

::

    Query ── read ─────▶ terms, the time it names, who of those that speak here
      │  └── embed ────▶ vector, in the space of the embedder that answered; or keywords only
      │                  what waits for a vector in that space gets one, up to a bound
      ▼
    ledger.read(namespace)                     one read transaction
      │  head ──▶ cached for this seq? then that is the answer
      │  match(terms, lens)                    scope, status, validity and filter inside
      │  near(vector, lens)                    body by index, tail by exact scan, same checks
      │  around(candidates, lens)              what was said before and after, same checks
      ▼
    features ──▶ weigh ──▶ best `limit` ──▶ load ──▶ Hits(Hit(memory, score, parts) …, explanation)
      │
    note a recall block                        recorded soon, never chained, nobody waits
"""

from collections.abc import Mapping, Sequence

from memory_mesh.errors import InvalidInput, StoreIsFull
from memory_mesh.fastdataclass import replace
from memory_mesh.flows.access import Access
from memory_mesh.flows.blocks import recall_entry, use_entry
from memory_mesh.flows.late_vectors import catch_up
from memory_mesh.flows.prepare import PreparedQuery, embed_question, redact
from memory_mesh.flows.search_plan import gather, read_question
from memory_mesh.model import (
    Fused,
    Head,
    Hit,
    Hits,
    Lens,
    Memory,
    Query,
    Question,
    Span,
)
from memory_mesh.policy.audience import filter_text
from memory_mesh.policy.ranking import (
    excerpts,
    features,
    forest,
    fusion,
    profiles,
    relevance,
)
from memory_mesh.policy.text import analyze
from memory_mesh.ports import Snapshot

READ_AS_HITS = 10  # hits that tell how a word was read
LONG_TEXT_CHARS = 300  # characters: below that a text is always one chunk


def recall(access: Access, query: Query, *, use_cache: bool = True) -> Hits:
    """The best memories for a question, from best to worst, and how they were found."""
    if query.profile not in (*profiles.PROFILES, *profiles.RANKED):
        known = ", ".join((*profiles.PROFILES, *profiles.RANKED))
        raise InvalidInput(f"there is no profile {query.profile!r}; choose one of: {known}")
    query = replace(query, text=redact(access.redactor, query.text))
    asked = embed_question(access, query, read_question(access, query))
    catch_up(access, asked)
    with access.ledger.read(access.namespace) as snapshot:
        key = _cache_key(snapshot.head(), query, asked)
        use_cache = (
            use_cache and query.profile not in profiles.RANKED
        )  # they move with time and use
        use_cache = use_cache and not _asks_for_use(query.lens)
        hits = access.cache.get(key, query.lens.now) if use_cache else None
        if hits is None:
            hits = _answer(access, snapshot, query, asked)
            if use_cache:
                access.cache.put(key, hits, query.lens.now, snapshot.next_bound(query.lens.now))
    if access.yamo:
        access.ledger.note(access.namespace, recall_entry(access, query, hits))
    return Hits(hits, replace(hits.explanation, note=asked.note))


def looked_at(access: Access, query: Query) -> tuple[features.Table, dict[int, Memory]]:
    """All candidates of a question and what ranking would look at: for those who train it."""
    asked = embed_question(access, query, read_question(access, query))
    with access.ledger.read(access.namespace) as snapshot:
        legs, _ = gather(access, snapshot, query, asked)
        table = _weighed(snapshot, query, asked, legs)
        return table, snapshot.load(table.versions)


def open_memories(access: Access, ids: Sequence[str], lens: Lens) -> list[Memory]:
    """Memories by id; opening one counts as use, and the record is written before it returns."""
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.get(ids, lens)
    if found and lens.as_of is None:
        used = [memory.id for memory in found]
        entry = use_entry(access, used, lens.now) if access.yamo else None
        try:
            access.ledger.use(access.namespace, used, entry)
        except StoreIsFull:  # a full disk must not hide what it holds; other faults are told
            return found
    return found


def _answer(access: Access, snapshot: Snapshot, query: Query, asked: PreparedQuery) -> Hits:
    legs, explanation = gather(access, snapshot, query, asked)
    if query.profile == profiles.MESH:
        table = _weighed(snapshot, query, asked, legs)
        best = forest.best(table, query.limit, by_meaning=asked.space is not None)
    else:
        many = profiles.RERANK_DEPTH if query.profile in profiles.RANKED else query.limit
        best = fusion.fuse(query.profile, legs, many)
    memories = snapshot.load([candidate.version for candidate in best])
    if query.profile in profiles.RANKED:
        best = _ranked(query, best, memories)
    spans = _spans(snapshot, asked, query, memories)
    hits = [
        Hit(memories[found.version], found.score, found.parts, spans.get(found.version))
        for found in best
        if found.score >= query.relevant
    ]
    if legs.keyword.read_as:
        explanation = replace(explanation, read_as=_read_as(legs.keyword.read_as, hits))
    return Hits(hits, explanation)


def _read_as(meant: Mapping[str, Sequence[str]], hits: Sequence[Hit]) -> dict[str, tuple[str, ...]]:
    """How words were read, told by the hits alone: others may be of memories nobody should see."""
    from memory_mesh.policy.text import spelling

    shown = (hit.memory for hit in hits[:READ_AS_HITS])
    return spelling.told(meant, ((memory.text, *memory.tags) for memory in shown))


def _weighed(
    snapshot: Snapshot, query: Query, asked: PreparedQuery, legs: relevance.Legs
) -> features.Table:
    """What both legs found and its neighbours, with everything that ranking looks at."""
    versions = [match.version for match in legs.keyword.found]
    versions += [near.version for near in legs.vector]
    question = None if asked.space is None else Question(asked.space, asked.vector, 0)
    placed = snapshot.around(list(dict.fromkeys(versions)), query.lens, question)
    shares = legs.keyword.counts_as
    forms = {
        term: tuple(zip(others, shares[term], strict=True))
        for term, others in legs.keyword.read_as.items()
    }
    return features.table(replace(asked.reading, forms=forms), legs.keyword, placed)


def _ranked(query: Query, found: Sequence[Fused], memories: Mapping[int, Memory]) -> list[Fused]:
    """By a profile that looks at the memories themselves."""
    from memory_mesh.policy.ranking import rerank

    pairs = [(fused, memories[fused.version]) for fused in found]
    return rerank.rank(query, pairs)[: query.limit]


def _spans(
    snapshot: Snapshot, asked: PreparedQuery, query: Query, memories: Mapping[int, Memory]
) -> dict[int, Span | None]:
    """Of each long text the part that answers best: by meaning, or by the words it holds."""
    long = [version for version, memory in memories.items() if len(memory.text) > LONG_TEXT_CHARS]
    if not long:
        return {}
    parts = snapshot.parts(asked.space, long) if asked.space is not None else {}
    words = analyze.query_terms(query.text)
    return {
        version: excerpts.nearest(parts[version], asked.vector)
        if version in parts
        else excerpts.best(memories[version].text, words)
        for version in long
    }


def _asks_for_use(lens: Lens) -> bool:
    """Counters of use move without the seq: an answer that depends on them is not kept."""
    where = filter_text(lens) or ""
    return "access_count" in where or "last_accessed" in where


def _cache_key(head: Head, query: Query, asked: PreparedQuery) -> tuple[object, ...]:
    """RFC-0011's query, limit and filter, and all else that can change the answer."""
    lens = query.lens
    where = filter_text(lens)
    return (
        "search", query.text, query.limit, where, head.identity, head.seq, query.profile,
        asked.space, lens.scope, lens.across, lens.statuses, lens.as_of, lens.valid_at,
        lens.any_validity, tuple(sorted(query.weights.items())), query.least,
        query.relevant, asked.reading.names, asked.reading.period,
    )  # fmt: skip
