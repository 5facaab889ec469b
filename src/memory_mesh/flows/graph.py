"""Follow the links between memories, under one reader's lens.

A link is followed only if the lens sees both of its memories, so what a reader does not see can
neither be reached nor passed through, and leaves no trace in an answer.
"""

from collections.abc import Sequence

from memory_mesh.model import Lens, Link, Memory
from memory_mesh.ports import Snapshot


def linked(
    snapshot: Snapshot, ids: Sequence[str], lens: Lens, *, most: int
) -> list[tuple[Link, Memory]]:
    """The links of these memories to others that the lens sees, with those others, best first.

    At most `most` links of each memory; one that a caller made counts as a similarity of 1.
    """
    found = list(dict.fromkeys(snapshot.neighbours(ids, lens, most=most)))
    asked = frozenset(ids)
    others = {link: link.target if link.source in asked else link.source for link in found}
    memories = {memory.id: memory for memory in snapshot.get(list(others.values()), lens)}
    shown = [(link, memories[id_]) for link, id_ in others.items() if id_ in memories]
    return sorted(shown, key=lambda pair: -strength(pair[0]))


def strength(link: Link) -> float:
    """How near a link's memories are: its similarity, or 1 for a link that was made on purpose."""
    return 1.0 if link.similarity is None else link.similarity
