"""Why a memory stands where it stands in the answer to a question, or why it is not in it.

::

    the memory, as who asks sees it ── nothing there ──▶ gate namespace
      ▼
    the lens of the search, widened part by part ──▶ gate scope, status, validity or filter
      ▼
    the search itself, watched from inside its read transaction (`recall.find`)
      │  neither leg, nor a trigger ─────────────────▶ gate candidates
      ▼
    its place, the shares of its margin ─────────────▶ gate limit, threshold or older; or none

The search is the very same code that answers a search. It is not recorded, and the cache neither
answers it nor keeps it.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.context.explain import without_successor
from memory_mesh.context.reasons import gates
from memory_mesh.model import Fused, Hit, Hits, Lens, Memory, Query, Question, Status
from memory_mesh.model.ports import Lookup, Snapshot
from memory_mesh.model.why import Gate, Rank, Why
from memory_mesh.rules.trust import AUDIENCE, seen_through
from memory_mesh.search import rank as flows_rank, recall, triggered
from memory_mesh.search.ranking import fusion, newer_first, profiles, scales, shares
from memory_mesh.search.ranking.features import NAMES
from memory_mesh.search.ranking.points import CALLED
from memory_mesh.search.recall import Reranking
from memory_mesh.text import embedding_models
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import redact

_NAMED = 3  # shares on each side that a sentence names
_SMALL = 0.005  # a share below that is not worth a word
PHRASES: Mapping[str, str] = {
    "keyword": "its words with those said before it, beside the best candidate",
    "keyword_own": "its words, beside the best candidate",
    "covered": "how much of the question it holds",
    "covered_before": "how much of the question it holds with what was said before it",
    "covered_around": "how much of the question it holds with what was said around it",
    "covered_passage": "how much of the question one passage of it holds",
    "guessed": "words that were found by a guessed spelling",
    "exact": "identifiers and quoted words of the question",
    "cosine": "its meaning",
    "cosine_mixed": "its meaning with what was said around it",
    "nearest": "its meaning, beside the nearest candidate",
    "nearest_mixed": "its meaning with what was said around it, beside the nearest candidate",
    "meaning": "its meaning, between the farthest and the nearest candidate",
    "speaker": "that the question names who said it",
    "other_speaker": "that the question names somebody else",
    "role": "whether the user or an assistant said it",
    "dated": "its date, which the question names",
    "in_period": "the time that the question names",
    "time_words": "words of time",
    "session": "how good the rest of its session is",
    "line_covered_passage": "how much of the question one passage of it holds, once more",
    "line_cosine_mixed": "its meaning with what was said around it, once more",
    "usefulness": "votes on how useful it was",
    "below_nearest": "that only a guessed spelling found it",
    "below_trusted": "that a more trusted memory answers as well",
    "rrf_keyword": "its place in the list by words",
    "rrf_vector": "its place in the list by meaning",
    "relevance": "its similarity",
    "confidence": "its trust",
    "recency": "how new it is",
    "importance": "its importance",
    "similarity": "its similarity",
    "type_weight": "the weight of its type",
    "decay_factor": "the time since it was used",
    "feedback_score": "votes on how useful it was",
    "intent_boost": "that the question asks for its type",
    "title": "words of the task in its title",
    "specialty": "tags of the agent's work",
    "discoverer": "that the same agent discovered it",
    "most": "that there are at most 100 points",
    "trigger": "a trigger that the question meets",
    "older": "an older statement below it, whose place it took",
}

_NOTHING = shares.Shares(0.0, 0.0, {})


@dataclass(frozen=True, slots=True)
class ExplainedSearch:
    """A memory, the search that is explained, and what may be looked at for it."""

    id: str
    query: Query
    sight: Lens
    reranking: "Reranking | None" = None


@dataclass(frozen=True, slots=True)
class Sighted:
    """A memory as who asks sees it, and the gate that hides it from the search."""

    memory: Memory | None
    gate: Gate | None = None
    then: Memory | None = None  # as it was recorded at the time that the search asks about


@dataclass(frozen=True, slots=True)
class Stand:
    """A memory among the candidates: how many are above it, and what its score is made of."""

    above: int
    fused: Fused
    made_of: shares.Shares = _NOTHING
    candidates: int = 0
    left_out: bool = False  # by a rule of the profile, whatever its place


def why_found(access: Access, asked: ExplainedSearch) -> Why:
    """Explains the place of a memory in the answer to a question, or its absence."""
    profiles.named(asked.query.profile)  # one that does not exist is an error at once
    asked = replace(asked, query=replace(asked.query, text=redact(access, asked.query.text)))
    with access.ledger.read(access.namespace) as snapshot:
        sighted = sight(snapshot, asked)
    if sighted.memory is None or sighted.gate is not None:
        return unseen(asked, sighted)
    watch = _Watch(asked)
    _, hits = recall.find(access, asked.query, reranking=asked.reranking, look=watch)
    if watch.vanished is not None:  # between the two transactions
        return unseen(asked, watch.vanished)
    return _answered(asked, sighted.memory, watch, hits)


def sight(snapshot: Lookup, asked: ExplainedSearch) -> Sighted:
    """Finds out whether the search can see a memory, and if not, what hides it first."""
    found = snapshot.get([asked.id], asked.sight)
    if not found:
        return Sighted(None, Gate.NAMESPACE)
    memory, lens = without_successor(snapshot, found[0], asked.sight), asked.query.lens
    if snapshot.numbers([asked.id], lens):
        return Sighted(memory)
    wide = replace(lens, across=AUDIENCE, statuses=frozenset(Status), any_validity=True, where=None)
    own = replace(wide, scope=asked.sight.scope, across=asked.sight.across)
    then = snapshot.get([asked.id], own)
    if not then:  # not on record yet, or not for who asks
        return Sighted(memory, Gate.VALIDITY)
    for gate, changed in (
        (Gate.SCOPE, replace(wide, across=lens.across)),
        (Gate.STATUS, replace(wide, across=lens.across, statuses=lens.statuses)),
        (Gate.VALIDITY, replace(lens, where=None)),
    ):
        if not snapshot.numbers([asked.id], changed):
            return Sighted(memory, gate, then[0])
    return Sighted(memory, Gate.FILTER, then[0])


def unseen(asked: ExplainedSearch, sighted: Sighted) -> Why:
    """The answer for a memory that the search cannot see."""
    if sighted.memory is None or sighted.gate is None:
        return Why(
            id=asked.id,
            subject="memory",
            sentences=gates.not_here(asked.id),
            question=asked.query.text,
            gate=Gate.NAMESPACE,
        )
    told = gates.out_of_sight(sighted.gate, sighted.memory, asked.query.lens, sighted.then)
    return _why(asked, sighted.memory, told, gate=sighted.gate)


class _Watch:
    """Looks at a search from inside its read transaction, for one memory."""

    def __init__(self, asked: ExplainedSearch) -> None:
        self._asked = asked
        self.vanished: Sighted | None = None
        self.stand: Stand | None = None
        self.missed: gates.Missed | None = None
        self.looked: flows_rank.RankingRecord | None = None

    def __call__(self, snapshot: Snapshot, looked: flows_rank.RankingRecord) -> None:
        """Keeps what was seen, and where the memory stands in it."""
        asked, self.looked = self._asked, looked
        version = snapshot.numbers([asked.id], asked.query.lens).get(asked.id)
        if version is None:
            self.vanished = sight(snapshot, asked)
            return
        self.stand = _stand(snapshot, asked.query, looked, version)
        if self.stand is None:
            self.missed = _missed(snapshot, asked.query, looked, version)


def _answered(asked: ExplainedSearch, memory: Memory, watch: _Watch, hits: Hits) -> Why:
    """The answer for a memory that the search could see."""
    for place, hit in enumerate(hits, start=1):
        if hit.id == asked.id:
            rank = _rank(asked.query, watch, hit, place)
            told = in_answer(memory, rank, len(hits), _shown_newer(asked, hit, hits))
            return _why(asked, memory, told, rank=rank, hits=hits)
    if watch.stand is None:
        assert watch.missed is not None  # noqa: S101  # one of the two is known
        told = gates.not_found(memory, watch.missed)
        return _why(asked, memory, told, gate=Gate.CANDIDATES, hits=hits)
    rank = _rank(asked.query, watch, None, watch.stand.above + 1)
    gate, newer = _cut(asked, watch, watch.stand)
    if gate is Gate.OLDER:
        shown = [each for each in newer if seen_through(asked.sight, each.scope)]
        told = gates.made_older(memory, shown)
    elif gate is Gate.LIMIT:
        told = gates.below_limit(memory, asked.query, rank)
    else:
        told = gates.below_threshold(memory, asked.query, rank)
    return _why(asked, memory, (*told, *weighed(rank)), gate=gate, rank=rank, hits=hits)


def _shown_newer(asked: ExplainedSearch, hit: Hit, hits: Sequence[Hit]) -> str | None:
    """The memory that seems to update a hit, if who asks sees it."""
    newer = next((each.memory for each in hits if each.id == hit.newer), None)
    return newer.id if newer and seen_through(asked.sight, newer.scope) else None


def _cut(asked: ExplainedSearch, watch: _Watch, stand: Stand) -> tuple[Gate, list[Memory]]:
    """The gate that kept a candidate out, and of an older statement what is newer."""
    query, looked = asked.query, watch.looked
    assert looked is not None  # noqa: S101  # there is no stand without it
    if stand.left_out:
        return Gate.THRESHOLD, []
    above = stand.above
    if _reorders(query):  # its threshold comes before the limit
        if not fusion.similar_enough(query, stand.fused):
            return Gate.THRESHOLD, []
        above = sum(fusion.similar_enough(query, each) for each in looked.best[:above])
    most = query.limit if asked.reranking is None else asked.reranking.candidates
    if above >= max(query.limit, most):
        return Gate.LIMIT, []
    if stand.fused.score < flows_rank.least_score(query, looked.best):
        return Gate.THRESHOLD, []
    newer = _newer(asked, looked.found)
    return (Gate.OLDER, newer) if newer else (Gate.LIMIT, [])


def _newer(asked: ExplainedSearch, found: flows_rank.RankedHits) -> list[Memory]:
    """What stands above a hit although it was found below it, or not at all."""
    hits = found.hits[: asked.query.limit]
    places = {hit.id: place for place, hit in enumerate(hits)}
    if asked.id not in places:
        return []
    memories = {each.id: each for each in (*(hit.memory for hit in found.hits), *found.brought)}
    question = asked.query.text if profiles.named(asked.query.profile).weighs else None
    above = newer_first.above(hits, found.guesses, memories, question)
    return [
        memories[id_]
        for id_ in above.get(asked.id, ())
        if places.get(id_, len(places)) > places[asked.id]
    ]


def _stand(
    snapshot: Snapshot, query: Query, looked: flows_rank.RankingRecord, version: int
) -> Stand | None:
    """Where a version stands among the candidates; None if it is none of them."""
    if profiles.named(query.profile).weighs:
        return _weighed(query, looked, version)
    best, left_out = looked.best, False
    if all(each.version != version for each in best):
        best, left_out = _all_candidates(snapshot, query, looked, version)
    for above, fused in enumerate(best):
        if fused.version == version:
            whole = version in {each.version for each in looked.best} or not _reorders(query)
            made = shares.of_score(query.profile, fused, query.weights) if whole else _NOTHING
            return Stand(above, fused, made, len(best), left_out)
    return None


def _reorders(query: Query) -> bool:
    return profiles.named(query.profile).reorders


def _all_candidates(
    snapshot: Snapshot, query: Query, looked: flows_rank.RankingRecord, version: int
) -> tuple[Sequence[Fused], bool]:
    """Every candidate of a profile, with those beyond its depth; True if a rule left it out."""
    profile = profiles.named(query.profile)
    if not profile.by_triggers:
        legs = looked.legs
        return fusion.fuse(profile, legs, len(legs.keyword.found) + len(legs.vector)), False
    rules = query.rules
    if rules is not None:
        rules = replace(rules, max_memories=triggered.MOST_SCANNED)
    best = triggered.by_points(snapshot, replace(query, rules=rules))
    if all(each.version != version for each in best) and version in triggered.called_by(
        snapshot, query
    ):
        return [*best, Fused(version, 0.0, {})], True
    return best, False


def _weighed(query: Query, looked: flows_rank.RankingRecord, version: int) -> Stand | None:
    """Where a version stands in the default profile."""
    table = looked.table
    known = {each.version: (above, each) for above, each in enumerate(looked.best)}
    at = next((place for place, each in enumerate(table.versions) if each == version), None)
    if at is None and version not in known:
        return None
    candidates = len({*table.versions, *known})
    if at is None:  # only a trigger calls it
        above, fused = known[version]
        return Stand(above, fused, _NOTHING, candidates)
    order = scales.fitting(table, embedding_models.order(looked.prepared.space, query.text))
    margins = scales.margins_of(table, order)
    both = (scales.margins_alone(table, order)[at], margins[at])
    made = shares.of_margin(table, at, order, both)
    if version in known:
        above, fused = known[version]
    else:
        own = (margins[at], version)
        above = sum(pair > own for pair in zip(margins, table.versions, strict=True))
        fused = scales.best(table, above + 1, order)[-1]
    return Stand(above, fused, made, candidates)


def _missed(
    snapshot: Snapshot, query: Query, looked: flows_rank.RankingRecord, version: int
) -> gates.Missed:
    """What is known of a version that is no candidate."""
    prepared, legs = looked.prepared, looked.legs
    space = prepared.space
    question = None if space is None else Question(space, prepared.vector, 0)
    placed = snapshot.around([version], query.lens, question).get(version)
    terms = prepared.reading.asked
    held = frozenset(() if placed is None else placed.terms.split())
    return gates.Missed(
        tuple(dict.fromkeys(term for term in terms if term in held)),
        len(dict.fromkeys(terms)),
        len(legs.keyword.found),
        len(legs.vector),
        None if placed is None else placed.cosine,
        min((near.cosine for near in legs.vector), default=None),
    )


def _rank(query: Query, watch: _Watch, hit: Hit | None, place: int) -> Rank:
    """The place of a memory, its score, and what both are made of."""
    stand, looked = watch.stand, watch.looked
    assert looked is not None  # noqa: S101  # the search was watched
    if stand is None:  # what it updates was found, and brought it along
        score = 0.0 if hit is None else hit.score
        return Rank(place, score, 0.0, 0.0, lifts={"older": score}, profile=query.profile)
    score = stand.fused.score if hit is None else hit.score
    lifts: dict[str, float] = {}
    if "trigger" in stand.fused.parts and profiles.named(query.profile).weighs:
        lifts["trigger"] = (1 - stand.fused.score) / (1 - CALLED) * CALLED
    if score > stand.fused.score:
        lifts["older"] = score - stand.fused.score
    return Rank(
        place,
        score,
        stand.made_of.margin,
        stand.made_of.base,
        stand.made_of.shares,
        lifts,
        stand.fused.parts,
        query.profile,
        stand.candidates,
        flows_rank.least_score(query, looked.best) if query.min_relevance else None,
        fusion.similarity(stand.fused.parts) if _reorders(query) else None,
    )


def _why(
    asked: ExplainedSearch,
    memory: Memory,
    sentences: Sequence[str],
    *,
    gate: Gate | None = None,
    rank: Rank | None = None,
    hits: Hits | None = None,
) -> Why:
    return Why(
        id=asked.id,
        subject="memory",
        sentences=tuple(sentences),
        question=asked.query.text,
        gate=gate,
        rank=rank,
        memory=memory,
        found=None if hits is None else hits.explanation,
        answer=tuple(hit for hit in hits or () if seen_through(asked.sight, hit.memory.scope)),
    )


# Says why a memory stands where it stands among the hits.


def in_answer(memory: Memory, rank: Rank, hits: int, newer: str | None) -> tuple[str, ...]:
    """The sentences for a memory that is among the hits."""
    sentences = [f"{memory.id} is hit {rank.place} of {hits}, with a score of {rank.score:.2f}."]
    sentences += weighed(rank)
    if newer is not None:
        sentences.append(f"It seems to be updated by {newer}, which stands above it.")
    return tuple(sentences)


def weighed(rank: Rank) -> list[str]:
    """Names the largest shares for and against a candidate, and what lifted its score.

    A feature that a candidate does not have has a share, too: it could have had it. Those are told
    together.
    """
    largest = sorted(rank.shares.items(), key=lambda share: (-abs(share[1]), share[0]))
    held = [each for each in largest if _held(each[0], rank) and abs(each[1]) >= _SMALL]
    speaks = _listed([(name, share) for name, share in held if share > 0])
    against = _listed([(name, share) for name, share in held if share < 0])
    missing = sum(share for name, share in largest if not _held(name, rank))
    sentences = [f"For it: {speaks}."] if speaks else []
    sentences += [f"Against it: {against}."] if against else []
    if abs(missing) >= _SMALL:
        sentences.append(f"What it could have and has not: {missing:+.2f} together.")
    sentences += [
        f"{PHRASES[name][0].upper()}{PHRASES[name][1:]} lifts its score by {lift:.2f}."
        for name, lift in rank.lifts.items()
    ]
    return sentences


def _held(name: str, rank: Rank) -> bool:
    """True if a share is not of a feature that is 0 here."""
    return name not in NAMES or name in rank.features


def _listed(shares: Sequence[tuple[str, float]]) -> str:
    return "; ".join(f"{PHRASES.get(name, name)} ({share:+.2f})" for name, share in shares[:_NAMED])
