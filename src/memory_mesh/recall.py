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

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from memory_mesh.cache import SearchCache
from memory_mesh.errors import EmbeddingError, InvalidInput, StoreError, StoreIsFull
from memory_mesh.formats import yamo
from memory_mesh.model import (
    Body,
    Entry,
    Explanation,
    Fused,
    Head,
    Hit,
    Hits,
    Json,
    Lens,
    Memory,
    Operation,
    Query,
    Question,
    Space,
    Span,
)
from memory_mesh.policy import analyze, features, fusion, passages, questions, weighing
from memory_mesh.policy.questions import Reading
from memory_mesh.ports import Embedder, Ids, Index, Ledger, Redactor, Snapshot
from memory_mesh.values import dataclass, replace

CATCH_UP = 32  # waiting texts one search embeds at most
_SHOWN = 10  # hits that tell how a word was read
_LONG = 300  # characters: below that a text is always one chunk


@dataclass(frozen=True, slots=True)
class Reader:
    """Where and by whom is read: the parts every read needs."""

    ledger: Ledger
    ids: Ids
    cache: SearchCache
    namespace: str
    agent: str
    yamo: bool = True
    embedder: Embedder | None = None
    index: Index | None = None
    redactor: Redactor | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The question by meaning: its vector and space, or why there is none."""

    space: Space | None = None
    vector: bytes = b""
    note: str | None = None
    reading: Reading = Reading("", ())


def recall(reader: Reader, query: Query, *, use_cache: bool = True) -> Hits:
    """The best memories for a question, from best to worst, and how they were found."""
    if query.profile not in (*fusion.PROFILES, *fusion.RANKED):
        known = ", ".join((*fusion.PROFILES, *fusion.RANKED))
        message = f"there is no profile {query.profile!r}; choose one of: {known}"
        raise InvalidInput(message)
    if reader.redactor is not None:
        query = replace(query, text=reader.redactor.text(query.text))
    asked = _embedded(reader, query, _read(reader, query))
    _catch_up(reader, asked)
    with reader.ledger.read(reader.namespace) as snapshot:
        key = _cache_key(snapshot.head(), query, asked)
        use_cache = use_cache and query.profile not in fusion.RANKED  # they move with time and use
        use_cache = use_cache and not _asks_for_use(query.lens)
        hits = reader.cache.get(key, query.lens.now) if use_cache else None
        if hits is None:
            hits = _answer(reader, snapshot, query, asked)
            if use_cache:
                bound = snapshot.next_bound(query.lens.now)
                reader.cache.put(key, hits, query.lens.now, bound)
    if reader.yamo:
        reader.ledger.note(reader.namespace, _recall_entry(reader, query, hits))
    return Hits(hits, replace(hits.explanation, note=asked.note))


def looked_at(reader: Reader, query: Query) -> tuple[features.Table, dict[int, Memory]]:
    """All candidates of a question and what ranking would look at: for those who train it."""
    asked = _embedded(reader, query, _read(reader, query))
    with reader.ledger.read(reader.namespace) as snapshot:
        legs, _ = _gathered(reader, snapshot, query, asked)
        table = _weighed(snapshot, query, asked, legs)
        return table, snapshot.load(table.versions)


def open_memories(reader: Reader, ids: Sequence[str], lens: Lens) -> list[Memory]:
    """Memories by id; opening one counts as use, and the record is written before it returns."""
    with reader.ledger.read(reader.namespace) as snapshot:
        found = snapshot.get(ids, lens)
    if found and lens.as_of is None:
        used = [memory.id for memory in found]
        entry = _use_entry(reader, used, lens.now) if reader.yamo else None
        try:
            reader.ledger.use(reader.namespace, used, entry)
        except StoreIsFull:  # a full disk must not hide what it holds; other faults are told
            return found
    return found


def _read(reader: Reader, query: Query) -> Reading:
    """The question taken apart; profiles of other makers ask it as it stands."""
    if query.profile != fusion.MESH:
        return Reading(query.text, tuple(analyze.query_terms(query.text)))
    words = questions.words(query.text)
    with reader.ledger.read(reader.namespace) as snapshot:
        names = snapshot.speakers(words, query.lens) if words else frozenset()
    return questions.read(query.text, names, query.lens.now)


def _embedded(reader: Reader, query: Query, reading: Reading) -> Asked:
    """The query's vector; without one the words alone are asked, and the answer says why."""
    if reader.embedder is None or query.keyword_only or not query.text.strip():
        return Asked(reading=reading)
    try:
        embedding = reader.embedder.embed([reading.text], query=True)
    except EmbeddingError as error:
        return Asked(note=str(error), reading=reading)
    return Asked(embedding.space, embedding.vectors[0][0], embedding.note, reading)


def _catch_up(reader: Reader, asked: Asked) -> None:
    """Texts stored without a vector get one before they are looked for, a few at a time."""
    if reader.embedder is None or asked.space is None:
        return
    from memory_mesh.wording import embed_waiting  # a search by words has no use for it

    try:
        embed_waiting(reader.ledger, reader.namespace, reader.embedder, asked.space, CATCH_UP)
    except (EmbeddingError, StoreError):  # they go on waiting, and the answer counts them
        return


def _answer(reader: Reader, snapshot: Snapshot, query: Query, asked: Asked) -> Hits:
    legs, explanation = _gathered(reader, snapshot, query, asked)
    if query.profile == fusion.MESH:
        table = _weighed(snapshot, query, asked, legs)
        best = weighing.best(table, query.limit, by_meaning=asked.space is not None)
    else:
        many = fusion.DEEP if query.profile in fusion.RANKED else query.limit
        best = fusion.fuse(query.profile, legs, many)
    memories = snapshot.load([candidate.version for candidate in best])
    if query.profile in fusion.RANKED:
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
    from memory_mesh.policy import spelling

    shown = (hit.memory for hit in hits[:_SHOWN])
    return spelling.told(meant, ((memory.text, *memory.tags) for memory in shown))


def _weighed(snapshot: Snapshot, query: Query, asked: Asked, legs: fusion.Legs) -> features.Table:
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
    reading = replace(asked.reading, forms=forms)
    return features.table(reading, legs.keyword, placed)


def _gathered(
    reader: Reader, snapshot: Snapshot, query: Query, asked: Asked
) -> tuple[fusion.Legs, Explanation]:
    """Both legs, each as deep as the profile wants."""
    head = snapshot.head()
    depth = fusion.depth(query.profile, query.limit, head.position)
    literal = query.profile == "rrf"  # RFC-0011 knows no other names of a word
    matches = snapshot.match(_terms(query), query.lens, depth, literal=literal)
    explanation = Explanation(
        query.profile,
        dropped=matches.dropped,
        found_by_keyword=len(matches.found),
        to_reindex=head.to_reindex(analyze.ANALYZER, matches.rows),
    )
    if asked.space is None:
        return fusion.Legs(matches), explanation
    ranked = query.profile in fusion.RANKED
    also = tuple(match.version for match in matches.found) if ranked else ()
    question = Question(
        asked.space, asked.vector, depth, also, _body_search(reader, asked, asked.space)
    )
    nearest = snapshot.near(question, query.lens)
    explanation = replace(
        explanation,
        space=asked.space.name,
        pending=snapshot.pending(asked.space, 0).count,
        found_by_vector=len(nearest.found),
        from_body=nearest.from_body,
    )
    return fusion.Legs(matches, (*nearest.found, *nearest.also)), explanation


def _ranked(query: Query, found: Sequence[Fused], memories: Mapping[int, Memory]) -> list[Fused]:
    """By a profile that looks at the memories themselves."""
    from memory_mesh.policy import ranking

    pairs = [(fused, memories[fused.version]) for fused in found]
    return ranking.rank(query, pairs)[: query.limit]


def _spans(
    snapshot: Snapshot, asked: Asked, query: Query, memories: Mapping[int, Memory]
) -> dict[int, Span | None]:
    """Of each long text the part that answers best: by meaning, or by the words it holds."""
    long = [version for version, memory in memories.items() if len(memory.text) > _LONG]
    if not long:
        return {}
    parts = snapshot.parts(asked.space, long) if asked.space is not None else {}
    words = analyze.query_terms(query.text)
    return {
        version: passages.nearest(parts[version], asked.vector)
        if version in parts
        else passages.best(memories[version].text, words)
        for version in long
    }


def _terms(query: Query) -> list[str]:
    """Profile `rrf` looks up RFC-0011's tokens, the others every term of ours."""
    if query.profile == "rrf":
        return analyze.query_terms(" ".join(analyze.rfc_tokens(query.text)))
    return analyze.query_terms(query.text)


def _body_search(
    reader: Reader, asked: Asked, space: Space
) -> Callable[[Body, int], list[tuple[int, float]] | None] | None:
    """How the ledger asks the index, while it checks what it finds."""
    index = reader.index
    if index is None:
        return None
    return lambda body, limit: index.near(
        reader.namespace, space.name, body=body, vector=asked.vector, limit=limit
    )


def _asks_for_use(lens: Lens) -> bool:
    """Counters of use move without the seq: an answer that depends on them is not kept."""
    where = _filter_text(lens) or ""
    return "access_count" in where or "last_accessed" in where


def _cache_key(head: Head, query: Query, asked: Asked) -> tuple[object, ...]:
    """RFC-0011's query, limit and filter, and all else that can change the answer."""
    lens = query.lens
    where = _filter_text(lens)
    return (
        "search", query.text, query.limit, where, head.identity, head.seq, query.profile,
        asked.space, lens.scope, lens.across, lens.statuses, lens.as_of, lens.valid_at,
        lens.any_validity, tuple(sorted(query.weights.items())), query.least,
        query.relevant, asked.reading.names, asked.reading.period,
    )  # fmt: skip


def _filter_text(lens: Lens) -> str | None:
    if lens.where is None:
        return None
    from memory_mesh.policy import filters

    return filters.canonical(lens.where)


def _recall_entry(reader: Reader, query: Query, hits: Sequence[Hit]) -> Entry:
    top = max((hit.score for hit in hits), default=0.0)
    block = yamo.recall(
        query.text,
        agent_id=reader.agent,
        limit=query.limit,
        filter=_filter_text(query.lens),
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
