"""Why a memory is as it is, what a block records, and what entered a prompt.

::

    id ── a memory that the reader sees? ── no ── a block about one, or a refusal for this reader?
      │                                                │                      └─ no ──▶ NotFound
      ▼                                                ▼
    versions with their reasons, observations,       the block in short
    trust, votes, links, conflicts, blocks,
    what superseded what, prompts it entered
      ▼
    Why(sentences, …)

Everything is read under the reader's lens. A reason, block, link, conflict or prompt that is about
a memory the reader does not see is left out, and such a block is not found by its id either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from memory_mesh.base.typed import replace
from memory_mesh.context.fence import fence_word
from memory_mesh.context.reasons import memory as kept
from memory_mesh.context.records import audience_of
from memory_mesh.model import (
    Block,
    BlockOperation,
    Conflict,
    Lens,
    Link,
    Memory,
    NotFound,
    Resolution,
    SkillQuery,
    Status,
    times,
)
from memory_mesh.model.pack import Injection
from memory_mesh.model.ports import Lookup, Snapshot
from memory_mesh.model.why import Entered, Rank, Version, Why
from memory_mesh.rules.trust import seen_through, trust_parts_of
from memory_mesh.write.access import Access
from memory_mesh.write.audit_entries import reader_of

MOST = 100  # observations, blocks, conflicts and links that are read
MOST_INJECTIONS = 20
MOST_CHAIN = 100
_TICK = timedelta(milliseconds=1)  # blocks are dated less finely than versions


def sight_of(lens: Lens) -> Lens:
    """The lens of who asks why: every status and any time, the same audience."""
    return replace(
        lens,
        statuses=frozenset(Status),
        any_validity=True,
        where=None,
        as_of=None,
        valid_at=None,
    )


def explain(access: Access, id_: str, sight: Lens) -> Why:
    """Explains a memory or a block that the reader sees; else NotFound."""
    access.ledger.flush(access.namespace)
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.get([id_], sight)
        if found:
            return _memory(snapshot, found[0], sight)
        block = snapshot.block(id_)
        why = None if block is None else _block(snapshot, block, sight)
    if why is None:
        raise NotFound.of(id_)
    return why


def explain_injection(access: Access, id_: str, sight: Lens) -> Why:
    """Explains what entered one prompt, for the reader that it was for; else NotFound.

    The prompt is named by the id of the record or by the fence word, which the same memories share:
    of those the latest is explained.
    """
    access.ledger.flush(access.namespace)
    with access.ledger.read(access.namespace) as snapshot:
        word = fence_word(id_)
        found = [snapshot.injection(id_)] if word is None else snapshot.injections_fenced(word)
        injection = next(
            (one for one in found if one is not None and seen_through(sight, one.reader)), None
        )
        if injection is None:
            raise NotFound.of(id_)
        ids = [one.memory for one in injection.memories]
        memories = {
            memory.id: without_successor(snapshot, memory, sight)
            for memory in snapshot.get(ids, sight)
        }
    entered = [
        Entered(one, memory, kept.entered(memory, one.recorded))
        for one in injection.memories
        if (memory := memories.get(one.memory)) is not None
    ]
    told = [(each.memory.id, each.since) for each in entered]
    shown = replace(injection, memories=tuple(each.injected for each in entered))
    return Why(
        id=injection.id,
        subject="injection",
        sentences=kept.injection_sentences(injection, told),
        question=injection.question or None,
        injections=(shown,),
        entered=tuple(entered),
    )


def prompts(access: Access, sight: Lens, limit: int, before: str | None) -> list[Injection]:
    """What entered the latest prompts, newest first; without the memories that are not seen."""
    access.ledger.flush(access.namespace)
    with access.ledger.read(access.namespace) as snapshot:
        found = snapshot.latest_injections(sight, limit, before)
        named = {one.memory for injection in found for one in injection.memories}
        seen = {memory.id for memory in snapshot.get(list(named), sight)}
    return [
        replace(each, memories=tuple(one for one in each.memories if one.memory in seen))
        for each in found
    ]


def without_successor(snapshot: Lookup, memory: Memory, sight: Lens) -> Memory:
    """The memory, without the name of a successor that the reader does not see."""
    if memory.successor is None:
        return memory
    return _shown(memory, _hidden(snapshot, [memory.successor], sight))


def _memory(snapshot: Snapshot, memory: Memory, sight: Lens) -> Why:
    history = [each for each in snapshot.history(memory.id) if seen_through(sight, each.scope)]
    reasons = snapshot.reasons(memory.id)
    blocks = [
        block for block in snapshot.blocks_about(memory.id, MOST) if _held(history, block.entry.at)
    ]
    observed = [each for each in snapshot.observations(memory.id, MOST) if _held(history, each.at)]
    beside = _Beside(snapshot, memory.id, sight)
    chain = _chain(snapshot, memory, sight)
    said = (
        *reasons.values(),
        *map(kept.block_reasons, blocks),
        *(each.reasons for each in observed),
    )
    hidden = _hidden(
        snapshot,
        {
            *kept.named_ids([text for texts in said for text in texts]),
            *(each.successor for each in (*history, *chain) if each.successor),
            *(id_ for block in blocks for id_ in kept.other_ends(block)),
            *beside.ends,
        },
        sight,
    )
    blocks = [block for block in blocks if hidden.isdisjoint(kept.other_ends(block))]
    why = Why(
        id=memory.id,
        subject="memory",
        sentences=(),
        memory=_shown(memory, hidden),
        versions=tuple(
            Version(_shown(each, hidden), kept.without(_reasons(each, reasons, blocks), hidden))
            for each in history
        ),
        observations=tuple(
            replace(each, reasons=kept.without(each.reasons, hidden)) for each in observed
        ),
        trust=trust_parts_of(memory, sight.now),
        votes=(
            {
                "helpful": memory.helpful,
                "harmful": memory.harmful,
                "reinforcements": memory.reinforcements,
                "disputes": memory.disputes,
                "usefulness": memory.usefulness,
            }
        ),
        links=beside.links,
        conflicts=beside.conflicts,
        blocks=tuple(kept.in_short(block, hidden) for block in blocks),
        chain=tuple(_shown(each, hidden) for each in chain),
        rationale=_rationale(snapshot, chain, beside.conflicts, hidden),
        injections=tuple(
            each
            for each in snapshot.injections(memory.id, MOST_INJECTIONS)
            if seen_through(sight, each.reader)
        ),
    )
    return replace(why, sentences=kept.sentences(why, sight.now))


def _shown(memory: Memory, hidden: frozenset[str]) -> Memory:
    """The memory without the name of a successor that the reader does not see."""
    return replace(memory, successor=None) if memory.successor in hidden else memory


def _hidden(snapshot: Lookup, ids: Iterable[str], sight: Lens) -> frozenset[str]:
    """Those of the ids that the reader does not see, or that do not exist."""
    wanted = sorted(set(ids))
    return frozenset(wanted).difference(snapshot.numbers(wanted, sight)) if wanted else frozenset()


def _reasons(
    version: Memory, reasons: Mapping[datetime, Sequence[str]], blocks: Sequence[Block]
) -> Sequence[str]:
    """Why a version came to be: by its row, else by the block of the same time."""
    if found := reasons.get(version.recorded_from):
        return found
    return next(
        (
            kept.block_reasons(block)
            for block in blocks
            if abs(block.entry.at - version.recorded_from) <= _TICK
        ),
        (),
    )


def _held(history: Sequence[Memory], at: datetime) -> bool:
    """True if one of these versions stood at a time: the reader could see the memory then."""
    return any(
        version.recorded_from - _TICK <= at
        and (version.recorded_until is None or at < version.recorded_until)
        for version in history
    )


class _Beside:
    """The links and conflicts of a memory with others that the reader sees, and all their ends."""

    def __init__(self, snapshot: Snapshot, memory_id: str, sight: Lens) -> None:
        links = snapshot.links([memory_id], sight, limit=MOST)
        conflicts = [
            *snapshot.conflicts(MOST, pending=False, memory=memory_id),
            *snapshot.conflicts(MOST, pending=False, existing=memory_id),
        ]
        self.ends = {id_ for each in links for id_ in (each.source, each.target)}
        self.ends |= {id_ for each in conflicts for id_ in (each.new, each.existing)}
        hidden = _hidden(snapshot, self.ends, sight)
        there = replace(sight, statuses=sight.statuses - {Status.DELETED})
        gone = _hidden(snapshot, self.ends, there) - {memory_id}
        self.links: tuple[Link, ...] = tuple(
            each for each in links if gone.isdisjoint((each.source, each.target))
        )
        visible = [each for each in conflicts if hidden.isdisjoint((each.new, each.existing))]
        visible.sort(key=lambda each: (each.created, each.id), reverse=True)
        self.conflicts: tuple[Conflict, ...] = tuple(visible)


def _chain(snapshot: Snapshot, memory: Memory, sight: Lens) -> list[Memory]:
    """What a memory replaced, itself, and what replaced it, oldest first, as the reader sees it."""
    found = {memory.id: memory}
    later = memory.successor
    while later is not None and later not in found and len(found) < MOST_CHAIN:
        seen = snapshot.get([later], sight)
        found |= {each.id: each for each in seen}
        later = seen[0].successor if seen else None
    waiting = [memory.id]
    while waiting and len(found) < MOST_CHAIN:
        current = waiting.pop()
        earlier = [
            each.existing
            for each in snapshot.conflicts(MOST, pending=False, memory=current)
            if each.resolution is Resolution.SUPERSEDE and each.existing not in found
        ]
        seen = snapshot.get(earlier, sight)
        found |= {each.id: each for each in seen}
        waiting += [each.id for each in seen]
    chain = sorted(found.values(), key=lambda each: (each.created, each.id))
    return chain if len(chain) > 1 else []


def _rationale(
    snapshot: Snapshot,
    chain: Sequence[Memory],
    conflicts: Sequence[Conflict],
    hidden: frozenset[str],
) -> dict[str, tuple[str, ...]]:
    """Why each memory of a chain was superseded, by its id."""
    found: dict[str, tuple[str, ...]] = {}
    for memory in chain:
        if memory.status is not Status.SUPERSEDED:
            continue
        said = list(snapshot.reasons(memory.id).get(memory.recorded_from, ()))
        said += [
            f"{each.reason} (trust {each.new_trust:.2f} against {each.existing_trust:.2f})"
            for each in conflicts
            if each.existing == memory.id and each.resolution is Resolution.SUPERSEDE
        ]
        found[memory.id] = kept.without(said, hidden)
    return found


def _block(snapshot: Snapshot, block: Block, sight: Lens) -> Why | None:
    """Explains a block, unless it is about nothing that the reader sees."""
    about = block.entry.memories
    others = kept.other_ends(block)
    named = {*about, *others, *kept.named_ids(kept.block_reasons(block))}
    hidden = _hidden(snapshot, named, sight) - _skills(snapshot, block, sight)
    metadata = block.entry.metadata
    if block.entry.operation is BlockOperation.RECALL:
        reader = reader_of(block.entry)
        if reader is None or not seen_through(sight, reader):
            return None
    elif (for_whom := audience_of(metadata)) is not None:
        if not seen_through(sight, for_whom):
            return None
    elif hidden.issuperset(about) or not hidden.isdisjoint(others):
        return None
    short = kept.in_short(block, hidden)
    outcome = metadata.get("outcome")
    ended = outcome if isinstance(outcome, str) else None
    memory = snapshot.get(short.memories, sight) if len(short.memories) == 1 else []
    return Why(
        id=block.entry.id,
        subject="block",
        sentences=kept.block_sentences(short, ended),
        blocks=(short,),
        memory=without_successor(snapshot, memory[0], sight) if memory else None,
    )


def _skills(snapshot: Snapshot, block: Block, sight: Lens) -> frozenset[str]:
    """The skills among what a block is about, as far as the reader sees them."""
    ids = tuple(id_ for id_ in block.entry.memories if id_.startswith("skill_"))
    if not ids:
        return frozenset()
    query = SkillQuery(
        sight.scope, len(ids), ids=ids, statuses=frozenset(Status), across=sight.across
    )
    return frozenset(each.skill.id for each in snapshot.skills(query))


# Renders an explanation as lines: the sentences first, the numbers under them.


def lines(why: Why) -> list[str]:
    """Returns the lines of an explanation; texts of memories are cut by who prints them.

    A reason or a name in them adds no line of its own.
    """
    numbers = [_line(number) for number in _numbers(why)]
    return [*map(_line, why.sentences), *(["", *numbers] if numbers else [])]


def _line(text: str) -> str:
    return " ".join(text.splitlines()) if text else text


def _numbers(why: Why) -> Iterator[str]:
    if why.rank is not None:
        yield from _rank(why.rank)
    if why.trust:
        parts = {name: part for name, part in why.trust.items() if name != "trust"}
        yield f"trust {why.trust['trust']:.4g} = {_summed(parts)}"
    yield from map(_version, why.versions)
    yield from _beside(why)
    yield from (f"block {block.id}  {block.what}  {times.iso(block.at)}" for block in why.blocks)
    yield from _prompts(why)


def _beside(why: Why) -> Iterator[str]:
    """Links, conflicts and what superseded what."""
    for link in why.links:
        near = "" if link.similarity is None else f" {link.similarity:.2f}"
        yield f"link {link.source} -> {link.target}  {link.type}{near}"
    for conflict in why.conflicts:
        ended = conflict.resolution or "pending"
        yield f"conflict {conflict.id}  {conflict.new} / {conflict.existing}  {ended}"
    for older, reasons in why.rationale.items():
        yield f"superseded {older}  {'; '.join(reasons)}"


def _prompts(why: Why) -> Iterator[str]:
    """The prompts that a memory entered, or the memories that entered a prompt."""
    if why.subject != "injection":
        for injection in why.injections:
            yield f"prompt {injection.id}  {times.iso(injection.at)}  {injection.tokens} tokens"
    for entered in why.entered:
        at = entered.injected
        score = "" if at.score is None else f"  score {at.score:.2f}"
        yield f"entered {at.memory}  {at.section}  {at.tokens} tokens{score}"


def _rank(rank: Rank) -> Iterator[str]:
    place = f"place {rank.place}" + (f" of {rank.candidates}" if rank.candidates else "")
    yield f"{place}  score {rank.score:.6g}  profile {rank.profile}"
    if rank.shares:
        yield f"margin {rank.margin:.6f} = base {rank.base:.6f} and these shares:"
    for name, share in sorted(rank.shares.items(), key=lambda pair: (-abs(pair[1]), pair[0])):
        value = rank.features.get(name)
        yield f"  {share:+.6f}  {name}" + ("" if value is None else f" = {value:g}")
    yield from (f"score {lift:+.6f}  by {name}" for name, lift in rank.lifts.items())


def _summed(parts: Mapping[str, float]) -> str:
    return " ".join(f"{part:+.4g} {name}" for name, part in parts.items() if part)


def _version(version: Version) -> str:
    memory = version.memory
    until = "now" if memory.recorded_until is None else times.iso(memory.recorded_until)
    why = f"  {'; '.join(version.reasons)}" if version.reasons else ""
    return f"version {times.iso(memory.recorded_from)} .. {until}  {memory.status}{why}"
