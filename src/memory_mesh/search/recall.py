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
      │  search_plan.py: by words, by meaning  scope, status, validity and filter inside
      ▼
    rank.py: weigh ──▶ best `limit` ──▶ load ──▶ what updates them
      ▼
    a reranker's order, if there is one        outside the transaction
      ▼
    newer above older
      ▼
    Hits(Hit(memory, score, parts) …, explanation)
      │
    note a recall block                        buffered; every 64th search writes the buffer

Where the namespace states a model as in use (model/reembedding.py)::

    the process's own model made the vector of the question
      │ the namespace states another model as in use
      ├─ this process can open that model ──▶ the question is asked in its space
      └─ it cannot ──▶ a note says so, and
                         own vectors are kept beside ──▶ the search goes on by them
                         own vectors were dropped ─────▶ the search goes on by words

A reranker orders the best hits anew: it reads question and text together.

::

    hits in their own order ── the first `candidates`, `chars` of each ──▶ reranker
      ▼                                                                     │
    sorted by its scores; without a score: below, in their own order ◀──────┘
      └── it fails or takes too long: their own order, and a note says so

It changes the order and nothing else: `hit.score` stays the estimated relevance, and the
reranker's score is `hit.parts["rerank"]`. It is asked outside every read transaction, about hits
that the reader may see, with the question and the texts as they are stored: redacted.

One question to several views: each answers for itself, and the answers are merged.

::

    for each view: its own redaction, lens, cache and read transactions ──▶ its hits
      ▼                                        a question is embedded once for all of them
    merge by score ──▶ each memory once ──▶ the first `limit`
      ▼
    each view notes a recall block             with those of its hits that were shown
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model import (
    Embedding,
    EmbeddingError,
    Explanation,
    Head,
    Hit,
    Hits,
    Lens,
    Memory,
    Pending,
    Query,
    RerankError,
    Space,
    ViewName,
)
from memory_mesh.model.ports import Embedder, Reranker, Snapshot
from memory_mesh.model.reembedding import STATED, ModelsInUse, loaded
from memory_mesh.platform import telemetry
from memory_mesh.rules.trust import filter_text
from memory_mesh.search.rank import (
    Look,
    RankedHits,
    evidence,
    gather,
    name_speakers,
    possible_names,
    ranked,
    read_question,
    with_project_names,
)
from memory_mesh.search.ranking import features, profiles
from memory_mesh.text import analyzer
from memory_mesh.text.question import Reading
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import recall_entry, use_entry
from memory_mesh.write.late_vectors import CATCH_UP_CHARS, CATCH_UP_TEXTS, catch_up
from memory_mesh.write.prepare import PreparedQuery, cut_reason, embed_question, redact

READ_AS_HITS = 10  # hits that tell how a word was read
PROBE = "which space is this"


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
    profile = profiles.named(query.profile)
    start = telemetry.started()
    query = replace(query, text=redact(access, query.text))
    use_cache = use_cache and look is None
    keeps = (
        use_cache
        and not profile.ages
        and _may_be_kept(query)
        and (reranking is None or reranking.may_be_kept)
    )
    hits = _recalled(access, query, use_cache=keeps, reranking=reranking, look=look)
    telemetry.info(
        "search",
        hits=len(hits),
        by_keyword=hits.explanation.found_by_keyword,
        by_meaning=hits.explanation.found_by_vector,
        ms=telemetry.milliseconds(start),
    )
    return query, hits


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
    reading, words = read_question(query), possible_names(query)
    many = query.limit if reranking is None else max(query.limit, reranking.candidates)
    by_words = access.embedder is None or query.keyword_only or not query.text.strip()
    key, found = None, None
    if use_cache or words or by_words or query.read_names:
        with access.ledger.read(access.namespace) as snapshot:
            query = with_project_names(snapshot, query)
            ahead = [snapshot.head, lambda: name_speakers(snapshot, query, reading, words)]
            snapshot.expect(*ahead, *(_ranking_reads(snapshot, query) if by_words else ()))
            if use_cache:
                key = _cache_key(access, snapshot.head(), query, reading, reranking)
                cached = access.cache.get(key, query.lens.now)
                if cached is not None:
                    return Hits(cached, cached.explanation)
            reading = name_speakers(snapshot, query, reading, words)
            if by_words:
                prepared = PreparedQuery(reading=reading)
                found = ranked(access, snapshot, query, prepared, many, look=look)
                if use_cache:
                    found = _kept(snapshot, query, found)
    if found is None:
        prepared = embed_question(access, query, reading)
        with _caught_up(access, query, prepared) as (snapshot, prepared, pending):
            found = ranked(access, snapshot, query, prepared, many, pending, look)
            complete = use_cache and not pending and prepared.note is None
            if complete and key == _cache_key(access, snapshot.head(), query, reading, reranking):
                found = _kept(snapshot, query, found)
    hits = _ordered(query, found, reranking)
    if key is not None and found.may_be_kept and hits.explanation.note is None:
        access.cache.put(key, hits, query.lens.now, found.bound)
    return hits


@contextmanager
def _caught_up(
    access: Access, query: Query, prepared: PreparedQuery
) -> Iterator[tuple[Snapshot, PreparedQuery, int]]:
    """One read transaction, the question, and how many texts wait for a vector in its space.

    Where texts wait, a few get their vectors first, and the transaction is begun anew. Where the
    namespace states that another model is in use, the question is embedded by that one.
    """
    with access.ledger.read(access.namespace) as snapshot:
        snapshot.expect(
            snapshot.head,
            lambda: _waiting(snapshot, prepared, CATCH_UP_TEXTS),
            lambda: prepared.space and snapshot.reach(prepared.space, query.lens),
            *_ranking_reads(snapshot, query),
        )
        waiting = _waiting(snapshot, prepared, CATCH_UP_TEXTS)
        other = waiting.stated is not None and differs(access, prepared, waiting.stated)
        if not waiting.texts and not other:
            yield snapshot, prepared, waiting.count
            return
    if other:
        access, prepared = turn(access, query, prepared, waiting.stated)
        with access.ledger.read(access.namespace) as snapshot:
            waiting = _waiting(snapshot, prepared, CATCH_UP_TEXTS)
    if prepared.space is not None and waiting.texts:
        catch_up(access, prepared.space, waiting.texts)
    with access.ledger.read(access.namespace) as snapshot:
        yield snapshot, prepared, _waiting(snapshot, prepared, 0).count


def _ranking_reads(snapshot: Snapshot, query: Query) -> list[Callable[[], object]]:
    """What ranking reads of any question."""
    return [
        lambda: snapshot.keywords(query.lens).texts(),
        lambda: snapshot.triggered(query.lens, profiles.MOST_TRIGGERED),
        lambda: snapshot.next_bound(query.lens),
    ]


def _waiting(snapshot: Snapshot, prepared: PreparedQuery, most: int) -> Pending:
    """How many texts wait for a vector in the space of the question, and some of them."""
    if prepared.space is None:
        return Pending()
    return snapshot.pending(prepared.space, most, CATCH_UP_CHARS)


def looked_at(access: Access, query: Query) -> tuple[features.Evidence, dict[int, Memory]]:
    """Returns all that ranking looks at for a query, for training."""
    with access.ledger.read(access.namespace) as snapshot:
        reading = read_question(query)
        reading = name_speakers(snapshot, query, reading, possible_names(query))
    prepared = embed_question(access, query, reading)
    with access.ledger.read(access.namespace) as snapshot:
        legs, _ = gather(access, snapshot, query, prepared)
        seen = evidence(snapshot, query, prepared, legs)
        return seen, snapshot.load(list(seen.placed))


def open_memories(access: Access, ids: Sequence[str], lens: Lens) -> list[Memory]:
    """Returns memories by id and records the use soon: nothing is written first."""
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.get(ids, lens)
    if found and lens.as_of is None:
        used = [memory.id for memory in found]
        entry = use_entry(access, used, lens) if access.yamo else None
        access.ledger.use(access.namespace, used, entry)
    return found


def _kept(snapshot: Snapshot, query: Query, found: RankedHits) -> RankedHits:
    """Returns what was found with the time until which its answer may be cached."""
    return replace(found, may_be_kept=True, bound=snapshot.next_bound(query.lens))


def _ordered(query: Query, found: RankedHits, reranking: "Reranking | None") -> Hits:
    """Returns the answer: in the reranker's order if there is one, newer above older."""
    hits, explanation = found.hits, found.explanation
    if reranking is not None:
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


def _newest_first(query: Query, hits: list[Hit], found: RankedHits) -> list[Hit]:
    """Returns the hits, each below the newest statement that updates it, found or not."""
    few = len(hits) < 2  # noqa: PLR2004
    if few and not found.guesses and not found.brought:  # nothing to put in order
        return hits
    from memory_mesh.search.ranking import newer_first  # a write has no use for it

    looked_at = (*(hit.memory for hit in found.hits), *found.brought)
    memories = {memory.id: memory for memory in looked_at}
    question = query.text if profiles.named(query.profile).weighs else None
    return newer_first.place(hits, found.guesses, memories, question)[: query.limit]


def _read_as(meant: Mapping[str, Sequence[str]], hits: Sequence[Hit]) -> dict[str, tuple[str, ...]]:
    """Says how words were read, as far as the hits show it; other memories may be hidden."""
    shown = (hit.memory for hit in hits[:READ_AS_HITS])
    return analyzer.told(meant, ((memory.text, *memory.tags) for memory in shown))


def _may_be_kept(query: Query) -> bool:
    """False if the answer can change without a write, with the use counters."""
    where = filter_text(query.lens) or ""
    return "access_count" not in where and "last_accessed" not in where


def _cache_key(
    access: Access, head: Head, query: Query, reading: Reading, reranking: "Reranking | None"
) -> tuple[object, ...]:
    """Returns all that can change the answer: RFC-0011's query, limit and filter, and more."""
    lens = query.lens
    where = filter_text(lens)
    return (
        "search", access.namespace, query.text, query.limit, where,
        head.identity, head.seq, head.hash, query.profile, query.keyword_only,
        lens.scope, lens.across, lens.statuses, lens.as_of,
        lens.valid_at, lens.any_validity, lens.session_days, tuple(sorted(query.weights.items())),
        query.min_similarity, query.min_relevance, reading.period, reranking is not None,
    )  # fmt: skip


def stated_in(access: Access) -> ModelsInUse | None:
    """What the namespace states about its models."""
    with access.ledger.read(access.namespace) as snapshot:
        return loaded(snapshot.states(STATED).get(STATED))


def differs(access: Access, prepared: PreparedQuery, value: str | None) -> bool:
    """Whether the namespace states another model than the one that embedded the question.

    A fallback that answers for a service that is down says so itself.
    """
    if value is None or prepared.space is None or prepared.note is not None or access.stays:
        return False
    stated = loaded(value)
    return stated is not None and stated.in_use.space != prepared.space.name


def turn(
    access: Access, query: Query, prepared: PreparedQuery, value: str | None
) -> tuple[Access, PreparedQuery]:
    """The access and the question in the space in use; else as they were, with a note."""
    stated, own = loaded(value), prepared.space
    if stated is None or own is None:
        return access, prepared
    embedder = embedder_in_use(access, stated)
    if embedder is not None:
        turned = replace(access, embedder=embedder)
        asked = embed_question(turned, query, prepared.reading)
        if asked.space is not None and asked.space.name == stated.in_use.space:
            return turned, asked
    note = other_model(stated, own)
    telemetry.warn_once("model in use", note)
    if own.name in stated.dropped:
        return access, PreparedQuery(note=note, reading=prepared.reading)
    return access, replace(prepared, note=note)


def embedder_in_use(access: Access, stated: ModelsInUse) -> Embedder | None:
    """The model that the namespace states as in use, for this and all later calls; None if away."""
    found = None if access.models is None else access.models.find(stated.in_use)
    if found is not None and access.models is not None:
        access.models.use(access.namespace, found)
    return found


def space_of(embedder: Embedder) -> Space:
    """The space of an embedder's vectors."""
    return embedder.embed([PROBE], query=True).space


def away(access: Access) -> str | None:
    """Why this process does not search by the model in use; None if it does, or none is stated."""
    stated = stated_in(access)
    if stated is None or access.embedder is None or embedder_in_use(access, stated) is not None:
        return None
    try:
        own = space_of(access.embedder)
    except EmbeddingError:  # the check of the embedder tells of it
        return None
    return other_model(stated, own)


def other_model(stated: ModelsInUse, own: Space) -> str:
    """The note for a process that cannot open the model in use."""
    rest = "words" if own.name in stated.dropped else f"words and by the vectors of {own.name}"
    return (
        f"searches of this namespace use the model {stated.in_use.space}, and this process has "
        f"{own.name}: it searches by {rest}. Set the embedder and its model to the one in use "
        "(memory-mesh reembed status), or roll back (memory-mesh reembed rollback)"
    )


@dataclass(frozen=True, slots=True)
class Reranking:
    """A reranker and what it may cost; its time limit is its own (models/rerankers/__init__.py)."""

    reranker: Reranker
    candidates: int
    chars: int
    may_be_kept: bool = True  # an answer may be cached: it is the store's one reranker


def rerank(
    reranking: Reranking, question: str, hits: Sequence[Hit], explanation: Explanation
) -> tuple[list[Hit], Explanation]:
    """Returns the hits in the reranker's order, or as they are with a note that says why."""
    asked, rest = hits[: reranking.candidates], hits[reranking.candidates :]
    if len(asked) < 2 or not question.strip():  # noqa: PLR2004  # nothing to put in order
        return list(hits), explanation
    texts = [
        hit.content if len(hit.content) <= reranking.chars else hit.excerpt[: reranking.chars]
        for hit in asked
    ]
    try:
        scores = reranking.reranker.rank(question, texts)
    except RerankError as error:
        return list(hits), replace(explanation, note=_failed(error, explanation.note))
    pairs = list(zip(scores, asked, strict=True))
    told = [
        (score, replace(hit, parts={**hit.parts, "rerank": round(score, 6)}))
        for score, hit in pairs
        if score is not None
    ]
    told.sort(key=lambda pair: -pair[0])  # stable: in a tie our own order stays
    untold = [hit for score, hit in pairs if score is None]
    ordered = [*(hit for _, hit in told), *untold, *rest]
    return ordered, replace(explanation, reranked=len(told))


def _failed(error: RerankError, note: str | None) -> str:
    """Warns once per process, and returns the note of the search."""
    reason = cut_reason(error)
    telemetry.warn_once(
        "reranker", f"the reranker fails: {reason}. Searches answer in their usual order"
    )
    told = f"the reranker fails: {reason}; the hits are in their usual order"
    return told if note is None else f"{note}; {told}"


@dataclass(frozen=True, slots=True)
class ViewQuestion:
    """The question as one view asks it."""

    access: Access
    query: Query
    view: ViewName


def recall_views(asked: Sequence[ViewQuestion], *, use_cache: bool = True) -> Hits:
    """Returns the best memories of all views, best first; the asking view comes first."""
    limit = asked[0].query.limit
    found = [
        find(access, one.query, use_cache=use_cache)
        for one, access in zip(asked, _embedding_once(asked), strict=True)
    ]
    answers = [
        [replace(hit, view=one.view) for hit in hits]
        for one, (_, hits) in zip(asked, found, strict=True)
    ]
    shown = list(_merged(answers))[:limit]
    for place, (one, (query, _)) in enumerate(zip(asked, found, strict=True)):
        note_search(one.access, query, [hit for of, hit in shown if of == place])
    told = [
        replace(hits.explanation, view=one.view)
        for one, (_, hits) in zip(asked, found, strict=True)
    ]
    return Hits([hit for _, hit in shown], _explained(told, limit - len(shown)))


def _merged(answers: Sequence[Sequence[Hit]]) -> Iterator[tuple[int, Hit]]:
    """Yields the hits by score, each memory once, with the place of the view it came from.

    A view's own order stays as it is. Of equal scores that of the earlier view comes first.
    """
    numbered = [[(place, hit) for hit in hits] for place, hits in enumerate(answers)]
    seen: set[tuple[str, str, str]] = set()
    for place, hit in heapq.merge(*numbered, key=lambda one: -one[1].score):
        memory = (*_namespace(hit.view), hit.id)
        if memory not in seen:
            seen.add(memory)
            yield place, hit


def _namespace(view: ViewName | None) -> tuple[str, str]:
    return ("", "") if view is None else (view.folder, view.namespace)


def _explained(told: Sequence[Explanation], room: int) -> Explanation:
    """Sums up how the views answered; `views` keeps what each said.

    What waits in a namespace counts once, however many views of it were asked.
    """
    namespaces = {_namespace(how.view): how for how in told}.values()
    scores = [how.best_below for how in told if how.best_below is not None]
    below = min(room, sum(how.below for how in told))
    read_as = {word: others for how in reversed(told) for word, others in how.read_as.items()}
    return Explanation(
        told[0].profile,
        space=", ".join(dict.fromkeys(how.space for how in told if how.space)) or None,
        note="; ".join(dict.fromkeys(how.note for how in told if how.note)) or None,
        pending=sum(how.pending for how in namespaces),
        dropped=tuple(dict.fromkeys(word for how in told for word in how.dropped)),
        found_by_keyword=sum(how.found_by_keyword for how in told),
        found_by_vector=sum(how.found_by_vector for how in told),
        from_body=sum(how.from_body for how in told),
        read_as=read_as,
        outgrown=any(how.outgrown for how in told),
        to_reindex=sum(how.to_reindex for how in namespaces),
        below=below,
        best_below=max(scores) if below else None,
        views=tuple(told),
    )


def _embedding_once(asked: Sequence[ViewQuestion]) -> Iterator[Access]:
    """Yields the access of each view; those with the same embedder share its answers."""
    shared: dict[Embedder, _OnceEmbedder] = {}
    for access in (one.access for one in asked):
        if access.embedder is None:
            yield access
            continue
        once = shared.setdefault(access.embedder, _OnceEmbedder(access.embedder))
        yield replace(access, embedder=once)


class _OnceEmbedder:
    """An embedder that remembers its vectors of questions for the length of one search."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, ...], Embedding] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Embedding:
        """The vectors of the texts; those of a question are asked for once."""
        if not query:
            return self._embedder.embed(texts)
        question = tuple(texts)
        if question not in self._known:
            self._known[question] = self._embedder.embed(texts, query=True)
        return self._known[question]

    def close(self) -> None:
        """Leave the embedder open: its store owns it."""
