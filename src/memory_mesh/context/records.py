"""What a reader sees of the audit chain and of the records of searches.

::

    chain ──▶ blocks about what the reader sees, now and then ──▶ nothing unseen named? ──▶ shown
    recalls ──▶ those of searches by this reader

A block is shown whole or not at all, so that its hash can be checked. One that is about, or names,
anything that the reader does not see is left out; `explain` tells the rest of it in short.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.context.reasons import memory
from memory_mesh.model import Block, Json, Lens, Scope, SkillQuery, Status
from memory_mesh.model.ports import Lookup
from memory_mesh.rules.trust import seen_through
from memory_mesh.write.access import Access

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
