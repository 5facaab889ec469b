"""What memories were worth in the latest prompts: how often they were told, and what came of it.

::

    the latest prompts ──▶ how often each memory was told, and its tokens
      ▼
    those that cost most ── votes of use, and corrections soon after they were told
      ▼
    for nothing: voted down, corrected, or told often and never voted for where others are

Counts and votes, no experiment: that nobody said anything of a memory is no vote against it. What
is looked at is bounded, whatever the namespace holds.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from memory_mesh.model import Lens, Memory, Outcome
from memory_mesh.model.pack import Worth
from memory_mesh.model.ports import Snapshot
from memory_mesh.write.access import Access

MOST_PROMPTS = 1_000  # the latest, from which it is counted
MOST_WEIGHED = 200  # memories, those that cost most
SOON = timedelta(minutes=30)  # a correction that comes so soon is about what was told
OFTEN = 20  # times told without a vote for it, where other memories are voted for
_LEAST = 2  # times told
_MOST_CORRECTIONS = 20  # of a memory, the newest


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
    is_voted = any(memory.helpful for memory in memories)
    found = []
    for memory in memories:
        times = [at for at, _ in told[memory.id]]
        corrected = _corrected(snapshot, memory.id, times)
        unwanted = memory.harmful > memory.helpful or (
            not memory.helpful and (corrected > 0 or (is_voted and len(times) >= OFTEN))
        )
        found.append(
            Worth(
                memory=memory,
                told=len(times),
                tokens=sum(tokens for _, tokens in told[memory.id]),
                corrected=corrected,
                last=max(times),
                for_nothing=unwanted and not memory.pinned,
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
