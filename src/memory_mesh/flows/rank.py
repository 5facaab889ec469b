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

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.flows import rivals
from memory_mesh.flows.access import Access
from memory_mesh.flows.prepare import PreparedQuery
from memory_mesh.flows.search_plan import gather
from memory_mesh.model import (
    Conflict,
    Explanation,
    Fused,
    Hit,
    Lens,
    Memory,
    Query,
    Question,
    Span,
)
from memory_mesh.policy.ranking import features, forest, models, profiles, relevance
from memory_mesh.ports import Search, Snapshot
from memory_mesh.typed import TypeAlias

MOST_GUESSES = 256  # guesses read for the hits of one search
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


def ranked(  # noqa: PLR0917  # as a search calls it
    access: Access,
    snapshot: Snapshot,
    query: Query,
    prepared: PreparedQuery,
    many: int,
    pending: int = 0,
    look: Look | None = None,
) -> Found:
    """Returns the best `many` candidates as hits, with all that orders them later."""
    profile = profiles.named(query.profile)
    legs, explanation = gather(access, snapshot, query, prepared, pending)
    explanation = replace(explanation, note=prepared.note)
    table = features.Table()
    if profile.weighs:
        table = features.table(evidence(snapshot, query, prepared, legs))
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
    profile = profiles.named(query.profile)
    if profile.weighs:
        found = forest.best(table, many, models.order(prepared.space, query.text))
        return _with_called(snapshot, query, found, many, table)
    if profile.by_triggers:
        from memory_mesh.flows.injection import by_points

        return by_points(snapshot, query)
    from memory_mesh.policy.ranking import fusion

    return fusion.fuse(profile, legs, profiles.RERANK_DEPTH if profile.reorders else many)


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
    profile = profiles.named(query.profile)
    return profile.least_score(query.min_relevance, (hit.score for hit in best[:1]))


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


def evidence(
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


def _reordered(
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
    reading, literal = prepared.reading, profiles.named(query.profile).literal
    words = reading.terms if literal else reading.asked
    return {
        version: excerpts.nearest(parts[version], prepared.vector)
        if version in parts
        else excerpts.best(memories[version].text, words)
        for version in long
    }


def _known_by(guess: Conflict, lens: Lens) -> bool:
    return lens.as_of is None or guess.created <= lens.as_of
