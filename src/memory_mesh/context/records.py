"""What a reader sees of the audit chain and of the records of searches; what memories were worth.

::

    chain ──▶ blocks about what the reader sees, now and then ──▶ nothing unseen named? ──▶ shown
    recalls ──▶ those of searches by this reader

A block is shown whole or not at all, so that its hash can be checked. One that is about, or names,
anything that the reader does not see is left out; `explain` tells the rest of it in short.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from memory_mesh.context.reasons import memory
from memory_mesh.model import Block, Json, Lens, Memory, Outcome, Scope, SkillQuery, Status
from memory_mesh.model.pack import Worth
from memory_mesh.model.ports import Lookup, Snapshot
from memory_mesh.rules.trust import seen_through
from memory_mesh.write.access import Access

MOST_PROMPTS = 1_000  # the latest, from which it is counted
MOST_WEIGHED = 200  # memories, those that cost most
SOON = timedelta(minutes=30)  # a correction that comes so soon is about what was told
OFTEN = 20  # times told without a vote for it, where other memories are voted for
_LEAST = 2  # times told
_MOST_CORRECTIONS = 20  # of a memory, the newest
_SETTING = "predicate:"  # what a block about a registered predicate is about: everybody's


def blocks(access: Access, sight: Lens, after_seq: int, limit: int) -> list[Block]:
    """Blocks that the reader sees, oldest first; at least `limit`, unless the chain ends.

    The blocks of one write stay together. Others' blocks are passed over.
    """
    shown: list[Block] = []
    with access.ledger.read(access.namespace) as snapshot:
        while found := snapshot.blocks_for(sight, after_seq, limit):
            shown += visible(snapshot, found, sight)
            if len(shown) >= limit:
                return _whole_writes(shown, limit)
            after_seq = found[-1].seq or after_seq
    return shown


def recalls(access: Access, reader: Scope, limit: int) -> list[Block]:
    """The latest records of searches by a reader, newest first."""
    with access.ledger.read(access.namespace) as snapshot:
        return snapshot.recalls_by(reader, limit)


def visible(snapshot: Lookup, found: Sequence[Block], sight: Lens) -> list[Block]:
    """Those of the blocks that name nothing unseen; refusals by the audience that they were for."""
    named = {block.entry.id: _named(block) for block in found}
    seen = _seen(snapshot, {id_ for ids in named.values() for id_ in ids}, sight)
    return [
        block
        for block in found
        if named[block.entry.id] <= seen and _for_reader(block.entry.metadata, sight)
    ]


def audience_of(metadata: Mapping[str, Json]) -> Scope | None:
    """The audience that the block of a refused write names; None for any other block."""
    plain = metadata.get("audience")
    if not isinstance(plain, Mapping):
        return None
    parts = (plain.get(name) for name in ("project", "agent", "session"))
    return Scope(*(part if isinstance(part, str) else None for part in parts))


def _for_reader(metadata: Mapping[str, Json], sight: Lens) -> bool:
    audience = audience_of(metadata)
    return audience is None or seen_through(sight, audience)


def _named(block: Block) -> set[str]:
    """Everything that a block is about or names."""
    about = {id_ for id_ in block.entry.memories if not id_.startswith(_SETTING)}
    return about | memory.other_ends(block) | memory.named_ids(memory.block_reasons(block))


def _seen(snapshot: Lookup, ids: set[str], sight: Lens) -> set[str]:
    """Those of the ids of memories and skills that the reader sees."""
    seen = set(snapshot.numbers(sorted(ids), sight))
    rest = tuple(sorted(id_ for id_ in ids - seen if id_.startswith("skill_")))
    if rest:
        query = SkillQuery(
            sight.scope, len(rest), ids=rest, statuses=frozenset(Status), across=sight.across
        )
        seen |= {each.skill.id for each in snapshot.skills(query)}
    return seen


def _whole_writes(shown: Sequence[Block], limit: int) -> list[Block]:
    """The first `limit` blocks, and the others of the last one's write."""
    last = shown[limit - 1].seq
    return [block for at, block in enumerate(shown) if at < limit or block.seq == last]


# What memories were worth in the latest prompts.
#
# ::
#
#     the latest prompts ──▶ how often each memory was told, and its tokens
#       ▼
#     those that cost most ── votes of use, and corrections soon after they were told
#       ▼
#     for nothing: voted down, corrected, or told often and never voted for where others are
#
# Counts and votes, no experiment: that nobody said anything of a memory is no vote against it. What
# is looked at is bounded, whatever the namespace holds.


def worth(access: Access, lens: Lens, sight: Lens, limit: int, *, every: bool) -> list[Worth]:
    """What memories were worth, those that cost most first; only what cost for nothing, or all."""
    access.ledger.flush(access.namespace)
    with access.ledger.read(access.namespace) as snapshot:
        told: dict[str, list[tuple[datetime, int]]] = {}
        for prompt in snapshot.latest_injections(sight, MOST_PROMPTS, None):
            for one in prompt.memories:
                told.setdefault(one.memory, []).append((prompt.at, one.tokens))
        costs = {id_: sum(tokens for _, tokens in each) for id_, each in told.items()}
        often = [id_ for id_, each in told.items() if len(each) >= _LEAST]
        ids = sorted(often, key=lambda id_: -costs[id_])[:MOST_WEIGHED]
        memories = snapshot.get(ids, lens)
        found = _weighed(snapshot, memories, told)
    return [one for one in found if every or one.for_nothing][:limit]


def _weighed(
    snapshot: Snapshot,
    memories: Sequence[Memory],
    told: Mapping[str, Sequence[tuple[datetime, int]]],
) -> list[Worth]:
    is_voted = any(one.helpful for one in memories)
    found = []
    for one in memories:
        times = [at for at, _ in told[one.id]]
        corrected = _corrected(snapshot, one.id, times)
        unwanted = one.harmful > one.helpful or (
            not one.helpful and (corrected > 0 or (is_voted and len(times) >= OFTEN))
        )
        found.append(
            Worth(
                memory=one,
                told=len(times),
                tokens=sum(tokens for _, tokens in told[one.id]),
                corrected=corrected,
                last=max(times),
                for_nothing=unwanted and not one.pinned,
            )
        )
    return found


def _corrected(snapshot: Snapshot, id_: str, told: Sequence[datetime]) -> int:
    """How often somebody stated otherwise soon after a memory was told; again counts again."""
    against = snapshot.conflicts(_MOST_CORRECTIONS, pending=False, existing=id_)
    stated = [one.created for one in against]
    for one in against:
        again = snapshot.observations(one.new, _MOST_CORRECTIONS)
        stated += [each.at for each in again if each.outcome is Outcome.MERGED]
    return sum(any(timedelta() <= at - then <= SOON for then in told) for at in stated)
