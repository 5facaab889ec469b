"""Says which gate kept a memory out of an answer, and what would let it in."""

from collections.abc import Sequence
from datetime import datetime

from memory_mesh.base.typed import dataclass
from memory_mesh.model import Lens, Memory, Query, Scope, Status, times
from memory_mesh.model.why import Gate, Rank
from memory_mesh.rules.trust import filter_text, read_by
from memory_mesh.search.ranking import profiles
from memory_mesh.search.ranking.fusion import least_similarity

_PARTS = ("project", "agent", "session")


@dataclass(frozen=True, slots=True)
class Missed:
    """What is known of a memory that was not among the candidates."""

    shared: tuple[str, ...]  # words of the question that it holds, as search terms
    asked: int  # words of the question
    by_words: int  # candidates that the keyword search found
    by_meaning: int
    cosine: float | None = None
    last_cosine: float | None = None  # of the last candidate by meaning


def not_here(memory_id: str) -> tuple[str, ...]:
    """The sentences for a memory that does not exist for who asks, whatever the reason."""
    return (
        f"There is no memory {memory_id} here for who asks.",
        "Check the id, the namespace and the project: memory-mesh list --all-projects.",
    )


def out_of_sight(gate: Gate, memory: Memory, lens: Lens, then: Memory | None) -> tuple[str, ...]:
    """The sentences for a memory that the lens of the search does not see.

    `then` is the memory as it was recorded at the time that the search asks about.
    """
    seen = memory if then is None else then
    if gate is Gate.SCOPE:
        return _other_scope(seen, lens)
    if gate is Gate.STATUS:
        return _hidden_status(seen, lens)
    if gate is Gate.VALIDITY:
        return _other_time(memory, then, lens)
    return (
        f"The filter of the search does not hold for {memory.id}: {filter_text(lens)}.",
        "Leave the filter out, or change it.",
    )


def not_found(memory: Memory, missed: Missed) -> tuple[str, ...]:
    """The sentences for a memory that no leg of the search brought up."""
    sentences = [
        (
            f"{memory.id} was not among the candidates: {missed.by_words} were found by words"
            f" and {missed.by_meaning} by meaning, and it is none of them."
        )
    ]
    if missed.shared:
        words = ", ".join(missed.shared)
        sentences.append(
            f"It holds {len(missed.shared)} of the {missed.asked} words of the question ({words}), "
            "and enough others fit better."
        )
    else:
        sentences.append("It holds no word of the question.")
    if missed.cosine is not None:
        last = ""
        if missed.last_cosine is not None:
            last = f"; the last candidate by meaning has {missed.last_cosine:.2f}"
        sentences.append(f"Its meaning is near to the question by {missed.cosine:.2f}{last}.")
    sentences.append("Ask in the words of the memory, or for more results (limit).")
    return tuple(sentences)


def below_limit(memory: Memory, query: Query, rank: Rank) -> tuple[str, ...]:
    """The sentences for a candidate that enough others rank above."""
    if rank.place <= query.limit:  # it was among them before a reranker or newer statements
        told = f"{memory.id} is candidate {rank.place} of {rank.candidates}, and others were moved"
        return f"{told} above it in the end.", f"A limit above {query.limit} would reach it."
    told = f"{memory.id} is candidate {rank.place} of {rank.candidates}"
    opens = f"A limit of {rank.place} would reach it."
    if rank.threshold is not None and rank.score < rank.threshold:
        opens = f"Its score is {rank.score:.2g}, also below the threshold {rank.threshold:.2g}."
    return f"{told}, and the search returns {query.limit}.", opens


def below_threshold(memory: Memory, query: Query, rank: Rank) -> tuple[str, ...]:
    """The sentences for a candidate that scores too little."""
    if rank.similarity is not None and not rank.threshold:
        return (
            (
                f"{memory.id} is similar to the question by {rank.similarity:.2f}, less than "
                f"the search asks for ({least_similarity(query):.2f})."
            ),
            "Lower min_similarity to see it.",
        )
    if profiles.named(rank.profile).by_triggers:
        return (
            (
                f"A trigger calls {memory.id} up, but the rules of the agent leave it out: by its "
                "importance, or because votes made it less useful."
            ),
        )
    return (
        (
            f"{memory.id} is candidate {rank.place} and scores {rank.score:.2g}; the threshold is "
            f"{rank.threshold or 0.0:.2g}."
        ),
        "Lower min_relevance to see it.",
    )


def made_older(memory: Memory, newer: Sequence[Memory]) -> tuple[str, ...]:
    """The sentences for a hit that a newer statement pushed out."""
    named = ", ".join(each.id for each in newer)
    by = f" ({named})" if named else ""
    return (
        (
            f"{memory.id} seems to be updated by a newer statement{by}, which took its place in "
            "the answer."
        ),
        "Both are kept: ask for more results (limit) to see the older one below the newer one.",
    )


def _other_scope(memory: Memory, lens: Lens) -> tuple[str, ...]:
    apart = [
        part
        for part in _PARTS
        if part not in lens.across and getattr(memory.scope, part) not in read_by(lens.scope, part)
    ]
    kept = ", ".join(f"{part} {getattr(memory.scope, part)}" for part in apart)
    read = ", ".join(f"{part} {getattr(lens.scope, part) or 'none'}" for part in apart)
    return (
        f"{memory.id} is kept for {kept}; the search reads for {read}.",
        f"Search as that reader, or with across={apart!r}.",
    )


def _hidden_status(memory: Memory, lens: Lens) -> tuple[str, ...]:
    shown = ", ".join(sorted(lens.statuses))
    status = memory.status
    if status in lens.statuses:  # its own end hides it, or that of its session
        status = Status.EXPIRED
    told = f"{memory.id} is {status}; the search shows what is {shown}."
    return told, f"Search with include=['{status}'] to see it."


def _other_time(memory: Memory, then: Memory | None, lens: Lens) -> tuple[str, ...]:
    at = lens.valid_at or lens.as_of or lens.now
    if then is None:
        recorded = times.iso(memory.created)
        told = f"{memory.id} was first recorded at {recorded}, or kept for others before"
        return (f"{told}; the search asks for what was on record at {times.iso(at)}.",)
    if then.valid_from is not None and then.valid_from > at:
        when = f"from {times.iso(then.valid_from)} on"
    else:
        when = f"until {_until(then.valid_until)}"
    return (
        f"{memory.id} is true {when}; the search asks for what is true at {times.iso(at)}.",
        "Search with valid_at within that time to see it.",
    )


def _until(moment: datetime | None) -> str:
    return "then" if moment is None else times.iso(moment)


def audience(scope: Scope) -> str:
    """An audience in words."""
    parts = [f"{part} {getattr(scope, part)}" for part in _PARTS if getattr(scope, part)]
    return ", ".join(parts) if parts else "everybody in this namespace"
