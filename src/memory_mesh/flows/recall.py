"""THE read path, one story.

::

    Query ── read ─────▶ terms, the time it names
      ▼
    ledger.read(namespace)                     first read transaction
      │  head ──▶ cached for this seq? then that is the answer
      │  speakers ──▶ who of those that speak here
      ▼
    embed ─────────────▶ vector, in the space of the embedder that answered; or keywords only
      │                  new texts that wait for a vector get one, for at most 0.25 s
      ▼
    ledger.read(namespace)                     second one; without an embedder still the first
      │  match(terms, lens)                    scope, status, validity and filter inside
      │  near(vector, lens)                    body by index, tail by exact scan, same checks
      │  around(candidates, lens)              what was said before and after, same checks
      ▼
    features ──▶ weigh ──▶ best `limit` ──▶ load ──▶ what updates them
      ▼
    a reranker's order, if there is one        outside the transaction (reranking.py)
      ▼
    newer above older
      ▼
    Hits(Hit(memory, score, parts) …, explanation)
      │
    note a recall block                        buffered; every 64th search writes the buffer
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from memory_mesh import log
from memory_mesh.errors import InvalidInput, StoreIsFull
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.flows import rivals
from memory_mesh.flows.access import Access
from memory_mesh.flows.blocks import recall_entry, use_entry
from memory_mesh.flows.late_vectors import CATCH_UP_CHARS, CATCH_UP_TEXTS, catch_up
from memory_mesh.flows.prepare import PreparedQuery, embed_question, redact
from memory_mesh.flows.search_plan import gather, name_speakers, read_question
from memory_mesh.model import (
    Conflict,
    Explanation,
    Fused,
    Head,
    Hit,
    Hits,
    Lens,
    Memory,
    Pending,
    Query,
    Question,
    Space,
    Span,
)
from memory_mesh.policy.audience import filter_text
from memory_mesh.policy.ranking import (
    features,
    forest,
    models,
    profiles,
    relevance,
)
from memory_mesh.policy.ranking.question import Reading
from memory_mesh.policy.text import analyze
from memory_mesh.ports import Search, Snapshot
from memory_mesh.typed import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from memory_mesh.flows.reranking import Reranking

MOST_GUESSES = 256  # guesses read for the hits of one search
READ_AS_HITS = 10  # hits that tell how a word was read
LONG_TEXT_CHARS = 300  # characters: below that a text is always one chunk


@dataclass(frozen=True, slots=True)
class Looked:
    """What ranking saw of one search, for an explanation."""

    prepared: PreparedQuery
    legs: relevance.Legs
    table: features.Table  # of profile mesh
    best: Sequence[Fused]  # in the order of the profile, before any threshold
    found: "Found"


Look: TypeAlias = Callable[[Snapshot, Looked], None]  # called inside the read transaction


@dataclass(frozen=True, slots=True)
class Found:
    """What a read transaction found: hits in their order, and what updates them."""

    hits: list[Hit]
    below: Mapping[str, float]  # scores of the first `limit` that min_relevance left out, by id
    guesses: list[Conflict]
    brought: list[Memory]  # named by a guess, or rivals of a hit, and not among the hits
    read_as: Mapping[str, Sequence[str]]
    explanation: Explanation
    may_be_kept: bool = False
    bound: datetime | None = None  # until when the answer holds


def recall(
    access: Access,
    query: Query,
    *,
    use_cache: bool = True,
    reranking: "Reranking | None" = None,
) -> Hits:
    """Returns the best memories for a query, best first, and how they were found."""
    query, hits = find(access, query, use_cache=use_cache, reranking=reranking)
    note_search(access, query, hits)
    return hits


def find(
    access: Access,
    query: Query,
    *,
    use_cache: bool = True,
    reranking: "Reranking | None" = None,
    look: Look | None = None,
) -> tuple[Query, Hits]:
    """Returns the query as it was asked, redacted, and its hits; records nothing.

    `look` is shown what ranking saw, and the cache is left alone then.
    """
    check_profile(query.profile)
    start = log.started()
    query = replace(query, text=redact(access, query.text))
    use_cache = use_cache and look is None
    keeps = use_cache and _may_be_kept(query) and (reranking is None or reranking.may_be_kept)
    hits = _recalled(access, query, use_cache=keeps, reranking=reranking, look=look)
    log.info(
        "search",
        hits=len(hits),
        by_keyword=hits.explanation.found_by_keyword,
        by_meaning=hits.explanation.found_by_vector,
        ms=log.milliseconds(start),
    )
    return query, hits


def check_profile(profile: str) -> None:
    """Raises InvalidInput for a profile that does not exist."""
    known = (*profiles.PROFILES, *profiles.RANKED)
    if profile not in known:
        listed = ", ".join(known)
        raise InvalidInput(f"there is no profile {profile!r}; choose one of: {listed}")


def note_search(access: Access, query: Query, hits: Sequence[Hit]) -> None:
    """Records a search and the hits that it showed, unless this view records nothing."""
    if access.yamo:
        access.ledger.note(access.namespace, recall_entry(access, query, hits))


def _recalled(
    access: Access,
    query: Query,
    *,
    use_cache: bool,
    reranking: "Reranking | None",
    look: Look | None,
) -> Hits:
    """The answer of the cache, or of one read transaction.

    A vector is computed between two transactions, never inside one, and a reranker is asked after
    the last: a model may be far away, and no process forks while a transaction is open.
    """
    reading, found = read_question(query), None
    reranked = reranking is not None
    many = query.limit if reranking is None else max(query.limit, reranking.candidates)
    with access.ledger.read(access.namespace) as snapshot:
        key = _cache_key(access.namespace, snapshot.head(), query, reading, reranked)
        cached = access.cache.get(key, query.lens.now) if use_cache else None
        if cached is not None:
            return Hits(cached, cached.explanation)
        reading = name_speakers(snapshot, query, reading)
        if access.embedder is None or query.keyword_only or not query.text.strip():
            found = _found(access, snapshot, query, PreparedQuery(reading=reading), many, look=look)
            if use_cache:
                found = _kept(snapshot, query, found)
    if found is None:
        prepared = embed_question(access, query, reading)
        with _caught_up(access, prepared.space) as (snapshot, pending):
            found = _found(access, snapshot, query, prepared, many, pending, look)
            complete = not pending and prepared.note is None
            now = _cache_key(access.namespace, snapshot.head(), query, reading, reranked)
            if use_cache and complete and key == now:
                found = _kept(snapshot, query, found)
    hits = _ordered(query, found, reranking)
    if found.may_be_kept and hits.explanation.note is None:
        access.cache.put(key, hits, query.lens.now, found.bound)
    return hits


@contextmanager
def _caught_up(access: Access, space: Space | None) -> Iterator[tuple[Snapshot, int]]:
    """One read transaction, and how many texts wait for a vector in it.

    Where texts wait, a few get their vectors first, and the transaction is begun anew.
    """
    waiting = Pending()
    with access.ledger.read(access.namespace) as snapshot:
        if space is not None:
            waiting = snapshot.pending(space, CATCH_UP_TEXTS, CATCH_UP_CHARS)
        if space is None or not waiting.texts:
            yield snapshot, waiting.count
            return
    catch_up(access, space, waiting.texts)
    with access.ledger.read(access.namespace) as snapshot:
        yield snapshot, snapshot.pending(space, 0).count


def looked_at(access: Access, query: Query) -> tuple[features.Evidence, dict[int, Memory]]:
    """Returns all that ranking looks at for a query, for training."""
    with access.ledger.read(access.namespace) as snapshot:
        reading = name_speakers(snapshot, query, read_question(query))
    prepared = embed_question(access, query, reading)
    with access.ledger.read(access.namespace) as snapshot:
        legs, _ = gather(access, snapshot, query, prepared)
        evidence = _evidence(snapshot, query, prepared, legs)
        return evidence, snapshot.load(list(evidence.placed))


def open_memories(access: Access, ids: Sequence[str], lens: Lens) -> list[Memory]:
    """Returns memories by id and records the use; soon, if another process writes now."""
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.get(ids, lens)
    if found and lens.as_of is None:
        used = [memory.id for memory in found]
        entry = use_entry(access, used, lens) if access.yamo else None
        try:
            access.ledger.use(access.namespace, used, entry)
        except StoreIsFull:  # a full disk must not hide what it holds; other faults are told
            return found
    return found


def _found(  # noqa: PLR0917  # as it is called above
    access: Access,
    snapshot: Snapshot,
    query: Query,
    prepared: PreparedQuery,
    many: int,
    pending: int = 0,
    look: Look | None = None,
) -> Found:
    """Returns the best `many` candidates as hits, with all that orders them later."""
    legs, explanation = gather(access, snapshot, query, prepared, pending)
    explanation = replace(explanation, note=prepared.note)
    table = features.Table()
    if query.profile == profiles.MESH:
        table = features.table(_evidence(snapshot, query, prepared, legs))
    weighed = best = _best(snapshot, query, prepared, (legs, table), many)
    memories = snapshot.load([candidate.version for candidate in best], query.lens)
    if query.profile in profiles.RANKED:
        weighed, near, explanation = _ranked(query, best, memories, explanation)
        best = near[:many]
    spans = _spans(snapshot, prepared, query, memories)
    least = least_score(query, best)
    hits = [
        Hit(memories[found.version], found.score, found.parts, spans.get(found.version))
        for found in best
        if found.score >= least
    ]
    below = {
        memories[found.version].id: found.score
        for found in best[: query.limit]
        if found.score < least
    }
    guesses, brought = _guesses(snapshot, query.lens, hits)
    found = Found(hits, below, guesses, brought, legs.keyword.read_as, explanation)
    if look is not None:
        look(snapshot, Looked(prepared, legs, table, weighed, found))
    return found


def _best(
    snapshot: Snapshot,
    query: Query,
    prepared: PreparedQuery,
    seen: tuple[relevance.Legs, features.Table],
    many: int,
) -> list[Fused]:
    """Returns the best candidates by the query's profile, before the memories are read."""
    legs, table = seen
    if query.profile == profiles.MESH:
        found = forest.best(table, many, models.order(prepared.space, query.text))
        return _with_called(snapshot, query, found, many, table)
    if query.profile == profiles.POINTS:
        from memory_mesh.flows.injection import by_points

        return by_points(snapshot, query)
    from memory_mesh.policy.ranking import fusion

    depth = profiles.RERANK_DEPTH if query.profile in profiles.RANKED else many
    return fusion.fuse(query.profile, legs, depth)


def _with_called(
    snapshot: Snapshot, query: Query, found: list[Fused], many: int, table: features.Table
) -> list[Fused]:
    """Returns the candidates with those that a trigger calls up raised; none is of the past."""
    if query.lens.as_of is not None:
        return found
    versions = [each.version for each in found]
    scanned = snapshot.triggered(query.lens, profiles.MOST_TRIGGERED, versions)
    if not scanned:  # most stores have no triggers, and load nothing for them
        return found
    from memory_mesh.flows.injection import called_among
    from memory_mesh.policy.ranking.called import lift

    authority = dict(zip(table.versions, table.authority, strict=False))
    return lift(found, called_among(scanned, query), many, authority)


def least_score(query: Query, best: Sequence[Fused]) -> float:
    """The score that a hit needs: less below a best hit that reaches the threshold."""
    return profiles.least_score(query.profile, query.min_relevance, (hit.score for hit in best[:1]))


def _guesses(
    snapshot: Snapshot, lens: Lens, hits: Sequence[Hit]
) -> tuple[list[Conflict], list[Memory]]:
    """Returns the guesses that order the hits, and memories that may stand above, not found."""
    shown = dict.fromkeys(hit.id for hit in hits)
    found = snapshot.guesses(list(shown), MOST_GUESSES) if shown else []
    guesses = [guess for guess in found if _known_by(guess, lens)]
    wanted = [id_ for guess in guesses for id_ in (guess.new, guess.existing)]
    missing = [id_ for id_ in dict.fromkeys(wanted) if id_ not in shown]
    brought = snapshot.get(missing, lens) if missing else []
    return guesses, brought + rivals.brought(snapshot, lens, [hit.memory for hit in hits])


def below_newer(snapshot: Snapshot, lens: Lens, memories: Sequence[Memory]) -> list[Hit]:
    """Returns memories that no search found, each below the newest statement that updates it."""
    hits = [Hit(memory, 0.0, {}) for memory in memories]
    guesses, brought = _guesses(snapshot, lens, hits)
    if not guesses and not brought:
        return hits
    from memory_mesh.policy.ranking import newer_first

    return newer_first.place(hits, guesses, {one.id: one for one in (*memories, *brought)})


def _kept(snapshot: Snapshot, query: Query, found: Found) -> Found:
    """Returns what was found with the time until which its answer may be cached."""
    return replace(found, may_be_kept=True, bound=snapshot.next_bound(query.lens))


def _ordered(query: Query, found: Found, reranking: "Reranking | None") -> Hits:
    """Returns the answer: in the reranker's order if there is one, newer above older."""
    hits, explanation = found.hits, found.explanation
    if reranking is not None:
        from memory_mesh.flows.reranking import rerank

        hits, explanation = rerank(reranking, query.text, hits, explanation)
    hits = _newest_first(query, hits[: query.limit], found)
    if query.min_relevance:
        explanation = _cut(explanation, query.limit, hits, found.below)
    if found.read_as:
        explanation = replace(explanation, read_as=_read_as(found.read_as, hits))
    return Hits(hits, explanation)


def _cut(
    explanation: Explanation, limit: int, hits: Sequence[Hit], below: Mapping[str, float]
) -> Explanation:
    """Says what the threshold left out of an answer that has room for more hits."""
    shown = {hit.id for hit in hits}
    scores = [score for id_, score in below.items() if id_ not in shown][: limit - len(hits)]
    return replace(explanation, below=len(scores), best_below=max(scores, default=None))


def _newest_first(query: Query, hits: list[Hit], found: Found) -> list[Hit]:
    """Returns the hits, each below the newest statement that updates it, found or not."""
    few = len(hits) < 2  # noqa: PLR2004
    if few and not found.guesses and not found.brought:  # nothing to put in order
        return hits
    from memory_mesh.policy.ranking import newer_first  # a write has no use for it

    looked_at = (*(hit.memory for hit in found.hits), *found.brought)
    memories = {memory.id: memory for memory in looked_at}
    question = query.text if query.profile == profiles.MESH else None
    return newer_first.place(hits, found.guesses, memories, question)[: query.limit]


def _known_by(guess: Conflict, lens: Lens) -> bool:
    return lens.as_of is None or guess.created <= lens.as_of


def _read_as(meant: Mapping[str, Sequence[str]], hits: Sequence[Hit]) -> dict[str, tuple[str, ...]]:
    """Says how words were read, as far as the hits show it; other memories may be hidden."""
    from memory_mesh.policy.text import spelling

    shown = (hit.memory for hit in hits[:READ_AS_HITS])
    return spelling.told(meant, ((memory.text, *memory.tags) for memory in shown))


def _evidence(
    search: Search, query: Query, prepared: PreparedQuery, legs: relevance.Legs
) -> features.Evidence:
    """Returns the question as read, and the candidates of both legs with their neighbours."""
    versions = [match.version for match in legs.keyword.found]
    versions += [near.version for near in legs.vector]
    question = None if prepared.space is None else Question(prepared.space, prepared.vector, 0)
    placed = search.around(list(dict.fromkeys(versions)), query.lens, question)
    shares = legs.keyword.counts_as
    forms = {
        term: tuple(zip(others, shares[term], strict=True))
        for term, others in legs.keyword.read_as.items()
    }
    reading = replace(prepared.reading, forms=forms)
    return features.Evidence(reading, legs.keyword, placed, models.traits(prepared.space))


def _ranked(
    query: Query,
    found: Sequence[Fused],
    memories: Mapping[int, Memory],
    explanation: Explanation,
) -> tuple[list[Fused], list[Fused], Explanation]:
    """Ranks with a profile that looks at the memories themselves, and says what it left out.

    Returns all candidates in their order, and those that are similar enough.
    """
    from memory_mesh.policy.ranking import rerank

    ranked = rerank.rank(query, [(fused, memories[fused.version]) for fused in found])
    near = [fused for fused in ranked if rerank.similar_enough(query, fused)]
    far = [
        relevance.similarity(fused.parts)
        for fused in ranked[: query.limit]
        if not rerank.similar_enough(query, fused)
    ]
    told = replace(explanation, dissimilar=len(far), best_dissimilar=max(far, default=None))
    return ranked, near, told


def _spans(
    search: Search, prepared: PreparedQuery, query: Query, memories: Mapping[int, Memory]
) -> dict[int, Span | None]:
    """Finds the best part of each long text, by vector or by words."""
    long = [version for version, memory in memories.items() if len(memory.text) > LONG_TEXT_CHARS]
    if not long:
        return {}
    from memory_mesh.policy.ranking import excerpts

    parts = search.parts(prepared.space, long) if prepared.space is not None else {}
    words = analyze.query_terms(query.text)
    return {
        version: excerpts.nearest(parts[version], prepared.vector)
        if version in parts
        else excerpts.best(memories[version].text, words)
        for version in long
    }


def _may_be_kept(query: Query) -> bool:
    """False if the answer can change without a write: with time, or with use counters."""
    where = filter_text(query.lens) or ""
    by_use = "access_count" in where or "last_accessed" in where
    aging = (*profiles.RANKED, profiles.POINTS)
    return query.profile not in aging and not by_use


def _cache_key(
    namespace: str,
    head: Head,
    query: Query,
    reading: Reading,
    reranked: bool,  # noqa: FBT001
) -> tuple[object, ...]:
    """Returns all that can change the answer: RFC-0011's query, limit and filter, and more."""
    lens = query.lens
    where = filter_text(lens)
    return (
        "search", namespace, query.text, query.limit, where, head.identity, head.seq, head.hash,
        query.profile, query.keyword_only, lens.scope, lens.across, lens.statuses, lens.as_of,
        lens.valid_at, lens.any_validity, lens.session_days, tuple(sorted(query.weights.items())),
        query.min_similarity, query.min_relevance, reading.period, reranked,
    )  # fmt: skip
