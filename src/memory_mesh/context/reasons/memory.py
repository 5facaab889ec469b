"""Says why a memory is as it is: how it came in, what became of it, how far it is trusted."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from memory_mesh.context.reasons.gates import audience
from memory_mesh.model import (
    Block,
    Conflict,
    Json,
    Memory,
    Observed,
    Outcome,
    Resolution,
    Status,
    times as model_times,
)
from memory_mesh.model.pack import Injection
from memory_mesh.model.why import BlockSummary, Version, Why

_ID = re.compile(r"\b(?:mem|reflect)_[0-9]+_[0-9a-z]+|\btrace-[0-9]+-[0-9a-z]+")
_OTHER_ENDS = (
    "target",
    "successor",
    "sources",
    "memories",
)  # of a block's metadata: ids of memories
_SAID = ("reasons", "why")
_FIRST = 60  # characters of another memory's text
_VERBS: Mapping[Status, str] = {
    Status.ACTIVE: "made active",
    Status.QUARANTINED: "set aside until somebody reviews it",
    Status.DISPUTED: "marked as disputed",
    Status.SUPERSEDED: "superseded",
    Status.ARCHIVED: "archived",
    Status.DELETED: "deleted",
    Status.EXPIRED: "hidden since it expired",
}
_TRUST = {"source": "source", "origins": "origins", "votes": "votes", "age": "age"}


def named_ids(texts: Sequence[str]) -> set[str]:
    """Returns the ids of memories that sentences name."""
    return {found for text in texts for found in _ID.findall(text)}


def other_ends(block: Block) -> frozenset[str]:
    """Returns the other memories that a block is about: a link's target, a successor, sources."""
    found: set[str] = set()
    for key, value in block.entry.metadata.items():
        if key in _OTHER_ENDS:
            found |= {value} if isinstance(value, str) else set(_texts(value))
        elif key not in _SAID:
            found |= named_ids(list(_texts(value)))
    return frozenset(found)


def _texts(value: Json) -> Iterator[str]:
    """Every text within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)


def without(texts: Sequence[str], hidden: frozenset[str]) -> tuple[str, ...]:
    """Returns the sentences that name nothing of what is hidden."""
    return tuple(text for text in texts if not any(id_ in text for id_ in hidden))


def sentences(why: Why, at: datetime) -> tuple[str, ...]:
    """The sentences for a memory, given all that is known of it."""
    memory = why.memory
    if memory is None or not why.versions:
        return ()
    return (
        _came_in(why, memory),
        *_changes(why),
        _is_now(why, memory),
        *_said_again(why.observations),
        _trusted(why, memory),
        *_contradicts(why, memory),
        *_counts(why, memory, at),
    )


def block_sentences(block: BlockSummary, outcome: str | None) -> tuple[str, ...]:
    """The sentences for one block."""
    by = f" by {block.agent}" if block.agent else ""
    when = model_times.iso(block.at)
    if outcome == Outcome.REFUSED:
        return (
            f"A text was refused at {when}{by}; nothing of it was stored.",
            *(f"Why: {reason}." for reason in block.reasons),
        )
    about = f" of {', '.join(block.memories)}" if block.memories else ""
    ended = f" It ended {outcome}." if outcome else ""
    return (
        f"The block records a {block.what}{about} at {when}{by}.{ended}",
        *(f"Why: {reason}." for reason in block.reasons),
    )


def in_short(block: Block, hidden: frozenset[str]) -> BlockSummary:
    """A block without the words of memories, and without what the reader does not see."""
    entry, metadata = block.entry, block.entry.metadata
    what = metadata.get("type") or metadata.get("use")
    return BlockSummary(
        entry.id,
        entry.operation,
        entry.at,
        entry.agent,
        what if isinstance(what, str) else entry.operation.value,
        without(block_reasons(block), hidden),
        tuple(id_ for id_ in entry.memories if id_ not in hidden),
        block.position,
        None if block.hash is None else block.hash.hex(),
    )


def block_reasons(block: Block) -> tuple[str, ...]:
    """The reasons that a block gives."""
    listed, why = block.entry.metadata.get("reasons"), block.entry.metadata.get("why")
    if isinstance(listed, list | tuple):
        return tuple(str(reason) for reason in listed)
    return (why,) if isinstance(why, str) and why else ()


def entered(memory: Memory, recorded: datetime) -> str:
    """Says what became of a memory since a version of it entered a prompt."""
    if memory.status is not Status.ACTIVE:
        told = f"it is {memory.status} now"
        return f"{told}, replaced by {memory.successor}" if memory.successor else told
    if memory.recorded_from > recorded:
        return f"it was changed at {model_times.iso(memory.recorded_from)}"
    return "it is unchanged"


def injection_sentences(injection: Injection, told: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The sentences for what entered one prompt; `told` has what became of each memory."""
    asked = f" for {injection.question!r}" if injection.question else ""
    count = "1 memory" if len(told) == 1 else f"{len(told)} memories"
    budget = f"{injection.tokens} of {injection.max_tokens} tokens"
    return (
        f"{count} entered a prompt at {model_times.iso(injection.at)}{asked}: {budget}.",
        f"It was read by {audience(injection.reader)}.",
        *(f"{id_}: {since}." for id_, since in told),
    )


def _came_in(why: Why, memory: Memory) -> str:
    first = why.versions[0]
    source = memory.source
    who = f", said by {source.agent}" if source.agent else ""
    told = (
        f"{memory.id} was {_stored_as(first)} at {model_times.iso(first.memory.recorded_from)} as "
        f"{source.kind} through {source.channel}{who}, for {audience(memory.scope)}"
    )
    return f"{told}: {'; '.join(first.reasons)}." if first.reasons else f"{told}."


def _stored_as(first: Version) -> str:
    waits = first.memory.status is Status.QUARANTINED
    return "stored and set aside for review" if waits else "stored"


def _changes(why: Why) -> list[str]:
    """One sentence for each later version."""
    found = []
    for before, version in zip(why.versions, why.versions[1:], strict=False):
        was, now = before.memory, version.memory
        if now.status is not was.status:
            what = f"It was {_VERBS[now.status]}"
        elif now.text != was.text:
            what = "Its text was changed"
        else:
            what = "It was changed"
        because = f": {'; '.join(version.reasons)}" if version.reasons else ""
        found.append(f"{what} at {model_times.iso(now.recorded_from)}{because}.")
    return found


def _is_now(why: Why, memory: Memory) -> str:
    if memory.status is Status.ACTIVE:
        return "It is active: a search can find it."
    later = next((each for each in why.chain if each.id == memory.successor), None)
    if later is not None:
        return f"It is {memory.status}, replaced by {later.id}: {first_words(later.text)!r}."
    return f"It is {memory.status}: a search shows it only with include=['{memory.status}']."


def _said_again(observations: Sequence[Observed]) -> list[str]:
    again = [each for each in observations if each.outcome is Outcome.MERGED]
    if not again:
        return []
    origins = sorted({each.origin for each in again})
    times = "once more" if len(again) == 1 else f"{len(again)} more times"
    return [f"The same came in {times}, from {', '.join(origins)}, and was merged into it."]


def _trusted(why: Why, memory: Memory) -> str:
    parts = [
        f"{why.trust[name]:+.2f} by {word}"
        for name, word in _TRUST.items()
        if name != "source" and why.trust.get(name)
    ]
    said = "".join(f", {part}" for part in parts)
    base = f"{why.trust['source']:.2f} for {memory.source.kind}"
    return f"Its trust is {why.trust['trust']:.2f}: {base}{said}."


def _contradicts(why: Why, memory: Memory) -> list[str]:
    found = []
    for conflict in why.conflicts:
        other = conflict.existing if conflict.new == memory.id else conflict.new
        said = next(
            (f" ({first_words(each.text)!r})" for each in why.chain if each.id == other), ""
        )
        found.append(f"It contradicts {other}{said}: {_ended(conflict, memory)}.")
    return found


def _ended(conflict: Conflict, memory: Memory) -> str:
    newer = conflict.new == memory.id
    by = " by a rule" if conflict.by_rule else ""
    match conflict.resolution:
        case None:
            return f"it waits for a decision ({conflict.id})"
        case Resolution.SUPERSEDE:
            return f"the {'other was' if newer else 'other took its place and it was'} replaced{by}"
        case Resolution.REJECT:
            return f"{'it' if newer else 'the other'} was rejected{by}"
        case Resolution.KEEP_BOTH:
            return f"both were kept{by}"
        case Resolution.NEWER_THAN:
            return f"{'it' if newer else 'the other'} seems to be the newer statement"


def _counts(why: Why, memory: Memory, at: datetime) -> list[str]:
    """Votes, use and links, as far as there are any."""
    votes = {name: int(count) for name, count in why.votes.items() if count}
    votes.pop("usefulness", None)
    found = []
    if votes:
        told = ", ".join(f"{count} {name}" for name, count in votes.items())
        found.append(f"Votes: {told}; its usefulness is {memory.usefulness:g}.")
    if memory.uses:
        last = "" if memory.last_used is None else f", last {_days_ago(at - memory.last_used)}"
        found.append(f"It was used {_times(memory.uses)}{last}.")
    if why.links:
        count = "1 link" if len(why.links) == 1 else f"{len(why.links)} links"
        found.append(f"It has {count} to memories that are visible here.")
    if why.injections:
        entered = _times(len(why.injections))
        found.append(f"By the records for this reader it entered a prompt {entered}.")
    return found


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _days_ago(age: timedelta) -> str:
    if age.days < 1:
        return "within a day"
    return "1 day ago" if age.days == 1 else f"{age.days} days ago"


def first_words(text: str) -> str:
    """The first words of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _FIRST else f"{line[:_FIRST].rpartition(' ')[0] or line[:_FIRST]} …"
