"""From candidates to hits, inside the read transaction of a search.

::

    both legs (search_plan.py)
      ▼
    around(candidates, lens) ──▶ features ──▶ weigh          profile `mesh`
    or fuse, or points, or more than relevance               the other profiles
      ▼
    best ──▶ load ──▶ the best part of each long text ──▶ what updates them
      ▼
    Found(hits, guesses, brought, explanation)
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import product

from memory_mesh.base.typed import TypeAlias, dataclass, replace
from memory_mesh.model import (
    Conflict,
    Explanation,
    Fused,
    Hit,
    Lens,
    Memory,
    Part,
    Placed,
    Query,
    Question,
    Scope,
    Space,
    Span,
    Wanted,
)
from memory_mesh.model.ports import Search, Snapshot
from memory_mesh.model.stats import outgrown
from memory_mesh.rules.trust import authority, is_authoritative, usefulness_then
from memory_mesh.search import keyword_plan
from memory_mesh.search.nearest import Ask, nearest as find_nearest
from memory_mesh.search.ranking import features, fusion, profiles, scales
from memory_mesh.text import analyzer, embedding_models, question as ranking_question
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import PreparedQuery
from memory_mesh.write.projects import names_in

_LEAST = 600  # characters of a part; shorter paragraphs are taken together

MOST_VOTES = 1_000  # and other blocks of a memory, read for its votes of an earlier time
MOST_GUESSES = 256  # guesses read for the hits of one search
LONG_TEXT_CHARS = 300  # characters: below that a text is always one chunk


@dataclass(frozen=True, slots=True)
class RankingRecord:
    """What ranking saw of one search, for an explanation."""

    prepared: PreparedQuery
    legs: fusion.Legs
    table: features.FeatureTable  # of profile mesh
    best: Sequence[Fused]  # in the order of the profile, before any threshold
    found: "RankedHits"


Look: TypeAlias = Callable[[Snapshot, RankingRecord], None]  # called inside the read transaction


@dataclass(frozen=True, slots=True)
class RankedHits:
    """What a read transaction found: hits in their order, and what updates them."""

    hits: list[Hit]
    below: Mapping[str, float]  # scores of the first `limit` that min_relevance left out, by id
    guesses: list[Conflict]
    brought: list[Memory]  # named by a guess, or rivals of a hit, and not among the hits
    read_as: Mapping[str, Sequence[str]]
    explanation: Explanation
    may_be_kept: bool = False
    bound: datetime | None = None  # until when the answer holds


def ranked(  # noqa: PLR0917  # as a search calls it
    access: Access,
    snapshot: Snapshot,
    query: Query,
    prepared: PreparedQuery,
    many: int,
    pending: int = 0,
    look: Look | None = None,
) -> RankedHits:
    """Returns the best `many` candidates as hits, with all that orders them later."""
    profile = profiles.named(query.profile)
    legs, explanation = gather(access, snapshot, query, prepared, pending)
    explanation = replace(explanation, note=prepared.note)
    table = features.FeatureTable()
    if profile.weighs:
        seen = evidence(snapshot, query, prepared, legs)
        if query.lens.as_of is not None:
            seen = replace(seen, placed=_voted_then(snapshot, query.lens.as_of, seen.placed))
        table = features.table(seen)
    weighed = best = _best(snapshot, query, prepared, (legs, table), many)
    memories = snapshot.load([candidate.version for candidate in best], query.lens)
    if profile.reorders:
        weighed, near, explanation = _reordered(query, best, memories, explanation)
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
    found = RankedHits(hits, below, guesses, brought, legs.keyword.read_as, explanation)
    if look is not None:
        look(snapshot, RankingRecord(prepared, legs, table, weighed, found))
    return found


def _voted_then(
    snapshot: Snapshot, then: datetime, placed: Mapping[int, Placed]
) -> dict[int, Placed]:
    """The candidates with the votes of that time, which blocks tell."""
    found, voted = dict(placed), [one.version for one in placed.values() if one.usefulness != 1.0]
    for version, memory in (snapshot.load(voted) if voted else {}).items():
        blocks = snapshot.blocks_about(memory.id, MOST_VOTES)
        useful = usefulness_then(memory.usefulness, blocks, lambda one: one.entry.at <= then)
        found[version] = replace(found[version], usefulness=useful)
    return found


def _best(
    snapshot: Snapshot,
    query: Query,
    prepared: PreparedQuery,
    seen: tuple[fusion.Legs, features.FeatureTable],
    many: int,
) -> list[Fused]:
    """Returns the best candidates by the query's profile, before the memories are read."""
    legs, table = seen
    profile = profiles.named(query.profile)
    if profile.weighs:
        found = scales.best(table, many, embedding_models.order(prepared.space, query.text))
        return _with_called(snapshot, query, found, many, table)
    if profile.by_triggers:
        from memory_mesh.search.triggered import by_points

        return by_points(snapshot, query)
    return fusion.fuse(profile, legs, profiles.RERANK_DEPTH if profile.reorders else many)


def _with_called(
    snapshot: Snapshot, query: Query, found: list[Fused], many: int, table: features.FeatureTable
) -> list[Fused]:
    """Returns the candidates with those that a trigger calls up raised."""
    versions = [each.version for each in found]
    scanned = snapshot.triggered(query.lens, profiles.MOST_TRIGGERED, versions)
    if not scanned:  # most stores have no triggers, and load nothing for them
        return found
    from memory_mesh.search.ranking.points import lift
    from memory_mesh.search.triggered import called_among

    authority = dict(zip(table.versions, table.authority, strict=False))
    return lift(found, called_among(scanned, query), many, authority)


def least_score(query: Query, best: Sequence[Fused]) -> float:
    """The score that a hit needs: less below a best hit that reaches the threshold."""
    profile = profiles.named(query.profile)
    return profile.least_score(query.min_relevance, (hit.score for hit in best[:1]))


def _guesses(
    snapshot: Snapshot, lens: Lens, hits: Sequence[Hit], *, rivals: bool = True
) -> tuple[list[Conflict], list[Memory]]:
    """Returns the guesses that order the hits, and memories that may stand above, not found."""
    shown = dict.fromkeys(hit.id for hit in hits)
    found = snapshot.guesses(list(shown), MOST_GUESSES) if shown else []
    guesses = [guess for guess in found if lens.as_of is None or guess.created <= lens.as_of]
    wanted = [id_ for guess in guesses for id_ in (guess.new, guess.existing)]
    missing = [id_ for id_ in dict.fromkeys(wanted) if id_ not in shown]
    brought = snapshot.get(missing, lens) if missing else []
    if rivals:
        brought += rivals_of(snapshot, lens, [hit.memory for hit in hits])
    return guesses, brought


def below_newer(
    snapshot: Snapshot, lens: Lens, memories: Sequence[Memory], *, rivals: bool = True
) -> list[Hit]:
    """Returns memories that no search found, each below the newest statement that updates it.

    Without `rivals`, other memories that contradict one are not looked for: they update nothing,
    and the look costs as much as there are claims on the same.
    """
    hits = [Hit(memory, 0.0, {}) for memory in memories]
    guesses, brought = _guesses(snapshot, lens, hits, rivals=rivals)
    if not guesses and not brought:
        return hits
    from memory_mesh.search.ranking import newer_first

    return newer_first.place(hits, guesses, {one.id: one for one in (*memories, *brought)})


def evidence(
    search: Search, query: Query, prepared: PreparedQuery, legs: fusion.Legs
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
    return features.Evidence(reading, legs.keyword, placed, embedding_models.traits(prepared.space))


def _reordered(
    query: Query,
    found: Sequence[Fused],
    memories: Mapping[int, Memory],
    explanation: Explanation,
) -> tuple[list[Fused], list[Fused], Explanation]:
    """Ranks with a profile that looks at the memories themselves, and says what it left out.

    Returns all candidates in their order, and those that are similar enough.
    """
    ranked = fusion.rank(query, [(fused, memories[fused.version]) for fused in found])
    near = [fused for fused in ranked if fusion.similar_enough(query, fused)]
    far = [
        fusion.similarity(fused.parts)
        for fused in ranked[: query.limit]
        if not fusion.similar_enough(query, fused)
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
    parts = search.parts(prepared.space, long) if prepared.space is not None else {}
    reading, literal = prepared.reading, profiles.named(query.profile).literal
    words = reading.terms if literal else reading.asked
    return {
        version: nearest(parts[version], prepared.vector)
        if version in parts
        else best(memories[version].text, words)
        for version in long
    }


# Finds the part of a long text that answers a question, by words or by meaning.


def best(content: str, terms: Sequence[str]) -> Span | None:
    """Returns the span with most of the question's terms; None if there is only one part."""
    parts = list(_parts(content))
    if len(parts) < 2:  # noqa: PLR2004
        return None
    wanted = set(terms)
    return max(
        parts, key=lambda part: len(wanted.intersection(analyzer.terms(content[slice(*part)])))
    )


def nearest(parts: Sequence[Part], vector: bytes) -> Span | None:
    """Returns the span with the nearest vector; None if the text has only one part."""
    import numpy as np

    placed = [part for part in parts if part.span is not None]
    if not placed:
        return None
    matrix = np.frombuffer(b"".join(part.vector for part in placed), np.float32)
    cosines = matrix.reshape(len(placed), -1) @ np.frombuffer(vector, np.float32)
    return placed[int(cosines.argmax())].span


def _parts(content: str) -> Iterator[Span]:
    """Groups whole paragraphs into parts; a short remainder joins the last part."""
    start, stop, at = -1, -1, 0
    waiting: Span | None = None
    for line in content.splitlines(keepends=True):
        if line.strip():
            start, stop = (at if start < 0 else start), at + len(line.rstrip())
        elif 0 <= start <= stop - _LEAST:
            if waiting is not None:
                yield waiting
            waiting, start = (start, stop), -1
        at += len(line)
    if waiting is None:
        return
    if start >= 0 and stop - start >= _LEAST:
        yield from (waiting, (start, stop))
    else:
        yield (waiting[0], stop) if start >= 0 else waiting


# Finds what contradicts a hit of a lower source, for any audience of the reader.
#
# Across audiences nothing supersedes, so a poison for one session stays beside the user's word. A
# reader of both sees the more trusted one first, whether a search found it or not.


def rivals_of(snapshot: Snapshot, lens: Lens, memories: Sequence[Memory]) -> list[Memory]:
    """Returns other memories that claim something of what those of lower sources claim."""
    claims = {
        (claim.subject, claim.predicate)
        for memory in memories
        if (claim := memory.claim) is not None and not is_authoritative(authority(memory.source))
    }
    if not claims:
        return []
    wanted = tuple((*about, scope) for about in sorted(claims) for scope in _audiences(lens.scope))
    found = snapshot.standing(Wanted(claims=wanted)).claims.values()
    shown = {memory.id for memory in memories}
    ids = dict.fromkeys(one.id for known in found for one in known if one.id not in shown)
    return snapshot.get(list(ids), lens) if ids else []


def _audiences(reader: Scope) -> list[Scope]:
    """The audiences that a reader belongs to."""
    parts = ((reader.project, *reader.names), (reader.agent,), (reader.session,))
    return [Scope(*each) for each in product(*(dict.fromkeys((None, *part)) for part in parts))]


# What a search asks of the ledger and the index, and in which order. It knows ports, not engines.
#
# ::
#
#     Query ── read once ──▶ Reading(terms, names, times, what is asked for)
#       ▼
#     keyword leg            keyword_plan.py: terms, other names, spellings, budgets, visibility
#       ▼
#     vector leg             near(question, lens): body by index, tail by exact scan
#       ▼
#     Legs, and what an explanation tells of them


def read_question(query: Query) -> ranking_question.Reading:
    """Analyses the question, once; only the profile `mesh` reads times and speakers from it."""
    profile = profiles.named(query.profile)
    if profile.weighs:
        return ranking_question.read(query.text, (), query.lens.now)
    terms = tuple(analyzer.query_terms(query.text))
    if not profile.literal:
        return ranking_question.Reading(query.text, terms, asked=terms)
    tokens = " ".join(analyzer.rfc_tokens(query.text))
    return ranking_question.Reading(query.text, terms, asked=tuple(analyzer.query_terms(tokens)))


def with_project_names(snapshot: Snapshot, query: Query) -> Query:
    """The query with the further names of the reader's project, if nobody read them before."""
    lens, project = query.lens, query.lens.scope.project
    if not query.read_names or project is None:
        return query
    scope = replace(lens.scope, names=names_in(snapshot, project).all)
    return replace(query, lens=replace(lens, scope=scope), read_names=False)


def possible_names(query: Query) -> list[str]:
    """The words of the question that may name a speaker; only the profile `mesh` looks for them."""
    weighs = profiles.named(query.profile).weighs
    return ranking_question.words(query.text) if weighs else []


def name_speakers(
    snapshot: Snapshot, query: Query, reading: ranking_question.Reading, words: list[str]
) -> ranking_question.Reading:
    """Adds the speakers that the question names, if their memories are visible."""
    if not words:
        return reading
    return ranking_question.without_names(reading, snapshot.speakers(words, query.lens))


def gather(
    access: Access, snapshot: Snapshot, query: Query, prepared: PreparedQuery, pending: int = 0
) -> tuple[fusion.Legs, Explanation]:
    """Runs keyword and vector search to the profile's depth; `pending` texts have no vector."""
    head, profile = snapshot.head(), profiles.named(query.profile)
    depth = profile.depth(query.limit, head.position)
    asked, space = prepared.reading.asked, prepared.space
    if space is not None and not profile.reorders and access.index() is None:  # legs apart
        alone = Question(space, prepared.vector, depth, ())
        snapshot.expect(
            lambda: keyword_plan.match(snapshot, asked, query.lens, depth, literal=profile.literal),
            lambda: find_nearest(snapshot, alone, query.lens),
        )
    matches = keyword_plan.match(snapshot, asked, query.lens, depth, literal=profile.literal)
    explanation = Explanation(
        query.profile,
        dropped=matches.dropped,
        found_by_keyword=len(matches.found),
        to_reindex=head.old_texts if head.analyzer == analyzer.ANALYZER else matches.rows,
    )
    if prepared.space is None:
        return fusion.Legs(matches), explanation
    also = tuple(match.version for match in matches.found) if profile.reorders else ()
    question = Question(prepared.space, prepared.vector, depth, also)
    ask = body_search(access, prepared, prepared.space)
    nearest = find_nearest(snapshot, question, query.lens, ask)
    explanation = replace(
        explanation,
        space=prepared.space.name,
        pending=pending,
        found_by_vector=len(nearest.found),
        from_body=nearest.from_body,
        outgrown=outgrown(nearest.scanned),
    )
    return fusion.Legs(matches, (*nearest.found, *nearest.also)), explanation


def body_search(access: Access, prepared: PreparedQuery, space: Space) -> Ask | None:
    """Returns the function that asks the index, or None without an index."""
    index = access.index()
    if index is None:
        return None
    return lambda body, limit, audiences: index.near(
        access.namespace,
        space.name,
        body=body,
        vector=prepared.vector,
        limit=limit,
        audiences=audiences,
    )
