"""The memories that a trigger calls up for a question or a task, by their points."""

from collections.abc import Iterable, Mapping, Sequence

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model import EmbeddingError, Fused, Lens, Query
from memory_mesh.model.ports import Snapshot
from memory_mesh.model.trigger import (
    Form,
    InjectionRules,
    MatchContext,
    MemoryMetadata,
    RelevantMemory,
    Strength,
    Triggered,
    TriggerMatch,
)
from memory_mesh.search.triggers import patterns, selection
from memory_mesh.write.access import Access
from memory_mesh.write.prepare import embedder_failed

MOST_EMBEDDED = 200  # patterns that one call embeds, the newest; the next calls go on
MOST_KEPT = 4_096  # vectors that a process keeps

MOST_SCANNED = 10_000  # memories with triggers that one selection looks at, the newest
MOST_CALLED = 1_000  # called memories whose points are counted: the best matches, then the newest
NOTHING: Mapping[int, TriggerMatch] = {}


@dataclass(frozen=True, slots=True)
class TriggerRequest:
    """What an agent is about to do, what it may see, and how to select."""

    context: MatchContext
    lens: Lens
    rules: InjectionRules


def called_among(scanned: Iterable[Triggered], query: Query) -> dict[int, TriggerMatch]:
    """Returns the versions that a trigger calls up for a query, each with its match."""
    return _called(scanned, MatchContext(query.text))


def by_points(snapshot: Snapshot, query: Query) -> list[Fused]:
    """Returns the answer of the profile `points`: a hundredth of the points is the score."""
    rules = query.rules or InjectionRules(max_memories=query.limit)
    context = MatchContext(query.text, query.lens.scope.agent or "")
    found = select(snapshot, TriggerRequest(context, query.lens, rules))
    return [
        Fused(
            each.memory.version,
            each.points / 100,
            {**each.parts, "points": each.points, "trigger": float(each.match.strength)},
        )
        for each in found
    ]


def called_by(snapshot: Snapshot, query: Query) -> dict[int, TriggerMatch]:
    """Returns the versions that a trigger calls up for the profile `points`."""
    context = MatchContext(query.text, query.lens.scope.agent or "")
    return _called(snapshot.triggered(query.lens, MOST_SCANNED), context)


def select(
    snapshot: Snapshot, asked: TriggerRequest, meant: Mapping[int, TriggerMatch] = NOTHING
) -> list[RelevantMemory]:
    """Returns the best of what the triggers call up, and of what the task means."""
    scanned = snapshot.triggered(asked.lens, MOST_SCANNED)
    visible = {memory.version for memory in scanned} if meant else set()
    found = {version: met for version, met in meant.items() if version in visible}
    found |= _called(scanned, asked.context)
    kept = sorted(found, key=lambda version: (-found[version].strength, -version))[:MOST_CALLED]
    pairs = ((memory, found[memory.version]) for memory in describe(snapshot, kept))
    return selection.best(pairs, asked.context, asked.lens.now, asked.rules)


def _called(scanned: Iterable[Triggered], context: MatchContext) -> dict[int, TriggerMatch]:
    there = patterns.situation(context)
    matches = ((memory.version, selection.called(memory, there)) for memory in scanned)
    return {version: met for version, met in matches if met is not None}


def describe(snapshot: Snapshot, versions: Sequence[int]) -> list[MemoryMetadata]:
    """Returns what is known of memories without their texts, each with its title."""
    return [
        replace(memory, title=selection.title_of(memory.title))
        for memory in snapshot.described(versions)
    ]


# Triggers in natural language that a task meets by meaning: the setting trigger_min_similarity.
#
# Off by default: it needs an embedder, and each pattern is embedded once per process. Vectors are
# made between two read transactions, never inside one.


def by_meaning(
    access: Access, task: str, scanned: Iterable[Triggered], least: float
) -> dict[int, TriggerMatch]:
    """Returns the versions whose natural-language trigger means what the task means."""
    natural = {
        memory: [
            pattern
            for pattern in memory.triggers
            if any(part.form is Form.WORDS for part in patterns.read(pattern))
        ]
        for memory in scanned
        if selection.NEEDED[memory.level] <= Strength.CLOSE
    }
    wanted = list(dict.fromkeys(pattern for found in natural.values() for pattern in found))
    if not wanted or not task.strip():
        return {}
    near = _similarities(access, task[: patterns.MAX_WORDS_TEXT], wanted)
    found: dict[int, TriggerMatch] = {}
    for memory, said in natural.items():
        best = max(said, key=lambda pattern: near.get(pattern, -1.0), default="")
        if near.get(best, -1.0) >= least:
            shown = f"similarity {near[best]:.2f}"
            found[memory.version] = TriggerMatch(best, Form.MEANING, Strength.CLOSE, shown)
    return found


def _similarities(access: Access, task: str, wanted: Sequence[str]) -> Mapping[str, float]:
    """The cosine of each pattern and the task; without an embedder none."""
    if access.embedder is None:
        return {}
    kept = access.pattern_vectors
    try:
        asked = access.embedder.embed([task], query=True)
        space = asked.space.name
        missing = [text for text in wanted if (space, text) not in kept][:MOST_EMBEDDED]
        made = access.embedder.embed(missing) if missing else asked
    except EmbeddingError as error:
        embedder_failed(error)
        return {}
    if len(kept) + len(missing) > MOST_KEPT:
        kept.clear()
    if made.space == asked.space:
        new = zip(missing, made.vectors, strict=False)
        kept.update({(space, text): vectors[0] for text, vectors in new})
    known = {text: kept[space, text] for text in wanted if (space, text) in kept}
    return _cosines(asked.vectors[0][0], known)


def _cosines(task: bytes, known: Mapping[str, bytes]) -> dict[str, float]:
    import numpy as np  # most stores have this switched off

    if not known:
        return {}
    matrix = np.frombuffer(b"".join(known.values()), np.float32).reshape(len(known), -1)
    near = matrix @ np.frombuffer(task, np.float32)
    return {text: float(value) for text, value in zip(known, near, strict=True)}
