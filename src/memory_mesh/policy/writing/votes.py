"""What a vote changes. Every vote is counted; how far votes move a memory depends on who votes.

Where the user speaks (library, command line, prompt hook) each vote moves the memory by the exact
step. All other channels together move it at most one step in each direction, and not at all where
they would vouch for themselves, or speak against a memory that they could not have written.
"""

from memory_mesh.fastdataclass import replace
from memory_mesh.model import Memory, SourceKind, VoteKind
from memory_mesh.policy.ranking.usefulness import HARMFUL, HELPFUL, LEAST_USEFUL, MOST_USEFUL
from memory_mesh.policy.writing.trust import is_authoritative, may_change

_STEPS = {kind: 1 << bit for bit, kind in enumerate(VoteKind)}  # in `Memory.other_steps`


def may_move(memory: Memory, kind: VoteKind, voter: SourceKind) -> bool:
    """True if the vote moves the memory: it is the user's, or the first of all other channels.

    A vote of another channel against a memory of a higher authority is counted and moves nothing.
    """
    if is_authoritative(voter):
        return True
    if kind is VoteKind.HARMFUL and not may_change(voter, memory.source):
        return False
    return not memory.other_steps & _STEPS[kind]


def voted(memory: Memory, kind: VoteKind, voter: SourceKind, *, moves: bool) -> Memory:
    """The memory with the vote in its counters."""
    if moves and not is_authoritative(voter):
        memory = replace(memory, other_steps=memory.other_steps | _STEPS[kind])
    match kind:
        case VoteKind.HELPFUL:
            return _useful(replace(memory, helpful=memory.helpful + 1), HELPFUL, moves=moves)
        case VoteKind.HARMFUL:
            return _useful(replace(memory, harmful=memory.harmful + 1), HARMFUL, moves=moves)
        case VoteKind.REINFORCE:
            idle = memory.idle_reinforcements + (not moves)
            count = memory.reinforcements + 1
            return replace(memory, reinforcements=count, idle_reinforcements=idle)
        case VoteKind.DISPUTE:
            idle = memory.idle_disputes + (not moves)
            return replace(memory, disputes=memory.disputes + 1, idle_disputes=idle)


def _useful(memory: Memory, step: float, *, moves: bool) -> Memory:
    if not moves:
        return memory
    return replace(memory, usefulness=min(MOST_USEFUL, max(LEAST_USEFUL, memory.usefulness * step)))
