"""Finds what contradicts a hit of a lower source, for any audience of the reader.

Across audiences nothing supersedes, so a poison for one session stays beside the user's word. A
reader of both sees the more trusted one first, whether a search found it or not.
"""

from collections.abc import Sequence
from itertools import product

from memory_mesh.model import Lens, Memory, Scope, Wanted
from memory_mesh.policy.writing.trust import authority, is_authoritative
from memory_mesh.ports import Snapshot


def brought(snapshot: Snapshot, lens: Lens, memories: Sequence[Memory]) -> list[Memory]:
    """Returns other memories that claim something of what those of lower sources claim."""
    claims = {
        (claim.subject, claim.predicate)
        for memory in memories
        if (claim := memory.claim) is not None and not is_authoritative(authority(memory.source))
    }
    if not claims:
        return []
    wanted = tuple((*about, scope) for about in sorted(claims) for scope in _audiences(lens.scope))
    found = snapshot.standing(Wanted(claims=wanted)).claims.values()
    shown = {memory.id for memory in memories}
    ids = dict.fromkeys(one.id for known in found for one in known if one.id not in shown)
    return snapshot.get(list(ids), lens) if ids else []


def _audiences(reader: Scope) -> list[Scope]:
    """The audiences that a reader belongs to."""
    parts = ((reader.project, *reader.names), (reader.agent,), (reader.session,))
    return [Scope(*each) for each in product(*(dict.fromkeys((None, *part)) for part in parts))]
