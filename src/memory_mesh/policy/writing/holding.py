"""Decides whether a writer may change a memory. Pure: no I/O.

A channel changes what it could have written itself. What the user pinned, or let in by a review, is
held by the user's word: no other channel changes it, whoever wrote it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from memory_mesh.model import Memory, SourceKind, Status
from memory_mesh.policy.writing.trust import is_authoritative, may_change

WAITING = frozenset({Status.QUARANTINED, Status.DISPUTED})
_History = Callable[[str], Sequence[Memory]]


def may_alter(writer: SourceKind, memory: Memory, history: _History) -> bool:
    """True if a writer with this ceiling may change, hide or replace a memory."""
    if not may_change(writer, memory.source):
        return False
    return is_authoritative(writer) or not (memory.pinned or _let_in(history(memory.id)))


def _let_in(versions: Sequence[Memory]) -> bool:
    """True if a person let the memory in: it waited, and became active."""
    return any(
        before.status in WAITING and after.status is Status.ACTIVE
        for before, after in pairwise(versions)
    )
