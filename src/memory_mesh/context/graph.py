"""Follow the links between memories, under one reader's lens.

A link is followed only if the lens sees both of its memories, so what a reader does not see can
neither be reached nor passed through, and leaves no trace in an answer.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from memory_mesh.base.fastdataclass import replace
from memory_mesh.model import Lens, Link, Memory, NotFound, Resolution, Status
from memory_mesh.model.graph import Neighbourhood, Reached, Walk
from memory_mesh.model.ports import Snapshot
from memory_mesh.write.access import Access

MOST_ON_PATHS = 5_000  # memories that the search for a path looks at
MOST_LINKS_ON_PATHS = 100  # links of one memory that it follows, the best ones
MOST_GUESSES = 256  # of what seems to update what, read for one chain
MOST_SHOWN_LINKS = 10_000  # between the memories of a neighbourhood
MOST_COUNTED = 200  # memories outside of a neighbourhood that are counted
_AT_ONCE = 50  # memories whose links are read together
SUPERSEDES, NEWER_THAN = "supersedes", "newer_than"  # not stored: read from what became of memories


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


def traverse(
    access: Access,
    memory_id: str,
    lens: Lens,
    *,
    max_hops: int,
    limit: int,
    types: Sequence[str] = (),
) -> Walk:
    """The memories that links lead to, nearest first, each by the best link of the fewest steps."""
    with access.ledger.read(access.namespace) as snapshot:
        _seen(snapshot, memory_id, lens)
        walk = _walk(snapshot, memory_id, lens, max_hops, types, most=limit + 1)
        found = list(islice(walk, limit + 1))
        memories = _memories(snapshot, [id_ for id_, _, _ in found[:limit]], lens)
    reached = (Reached(memories[id_], hops, link) for id_, hops, link in found[:limit])
    return Walk(reached, cut=len(found) > limit)


def path(
    access: Access,
    source_id: str,
    target_id: str,
    lens: Lens,
    *,
    max_hops: int,
    types: Sequence[str] = (),
) -> tuple[Link, ...] | None:
    """The links of a shortest way from one memory to another, in order; None if there is none.

    It goes from both ends at once and looks at MOST_ON_PATHS memories.
    """
    with access.ledger.read(access.namespace) as snapshot:
        for id_ in (source_id, target_id):
            _seen(snapshot, id_, lens)
        if source_id == target_id:
            return ()
        sides = (_Side(source_id), _Side(target_id))
        for _ in range(max_hops):
            near, far = sorted(sides, key=lambda side: len(side.frontier))
            met = near.grow(snapshot, lens, types, far)
            if met is not None:
                return (*reversed(sides[0].way(met)), *sides[1].way(met))
            if not near.frontier or sum(len(side.by) for side in sides) > MOST_ON_PATHS:
                return None
    return None


def neighbourhood(
    access: Access, memory_id: str, lens: Lens, *, hops: int, limit: int
) -> Neighbourhood:
    """A memory, those that are nearest to it by links, and every link between them."""
    with access.ledger.read(access.namespace) as snapshot:
        center = _seen(snapshot, memory_id, lens)
        walk = _walk(snapshot, memory_id, lens, hops, (), most=limit + MOST_COUNTED)
        reached = [id_ for id_, _, _ in islice(walk, limit - 1)]
        more = sum(1 for _ in islice(walk, MOST_COUNTED))
        memories = _memories(snapshot, reached, lens)
        shown = [memory_id, *reached]
        links = snapshot.links(shown, lens, limit=MOST_SHOWN_LINKS, within=True)
    shown_memories = (center, *(memories[id_] for id_ in reached))
    return Neighbourhood(memory_id, shown_memories, tuple(links), more)


def supersessions(access: Access, memory_id: str, lens: Lens) -> Neighbourhood:
    """What superseded what, and what seems to update what, around one memory, oldest first."""
    from memory_mesh.write.review import chain

    wide = replace(lens, statuses=frozenset(Status) - {Status.DELETED}, any_validity=True)
    replaced = chain(access, lens, memory_id)
    with access.ledger.read(access.namespace) as snapshot:
        guesses = [
            guess
            for guess in snapshot.guesses([memory.id for memory in replaced], MOST_GUESSES)
            if guess.resolution is Resolution.NEWER_THAN
        ]
        ends = [id_ for guess in guesses for id_ in (guess.new, guess.existing)]
        found = _memories(snapshot, [*(memory.id for memory in replaced), *ends], wide)
    if memory_id not in found:
        raise NotFound.of(memory_id)
    links = [
        *(
            Link(memory.successor, memory.id, SUPERSEDES, at=memory.recorded_from)
            for memory in found.values()
            if memory.successor is not None
        ),
        *(Link(guess.new, guess.existing, NEWER_THAN, at=guess.created) for guess in guesses),
    ]
    ordered = sorted(found.values(), key=lambda memory: (memory.created, memory.id))
    shown = tuple(link for link in links if link.source in found and link.target in found)
    return Neighbourhood(memory_id, tuple(ordered), shown)


class _Side:
    """What a path's search reached from one end: of each memory the link it came by."""

    def __init__(self, start: str) -> None:
        self.frontier = [start]
        self.by: dict[str, tuple[str, Link] | None] = {start: None}

    def grow(
        self, snapshot: Snapshot, lens: Lens, types: Sequence[str], other: "_Side"
    ) -> str | None:
        """One more step from every memory of the frontier; the memory where both ends meet."""
        found: list[str] = []
        for link, near, far in _next(
            snapshot, self.frontier, lens, types, self.by, most=MOST_LINKS_ON_PATHS
        ):
            self.by[far] = (near, link)
            if far in other.by:
                return far
            found.append(far)
            if len(self.by) > MOST_ON_PATHS:
                break
        self.frontier = found
        return None

    def way(self, end: str) -> list[Link]:
        """The links from a memory back to this side's start."""
        links: list[Link] = []
        step = self.by[end]
        while step is not None:
            links.append(step[1])
            step = self.by[step[0]]
        return links


def _walk(
    snapshot: Snapshot, start: str, lens: Lens, max_hops: int, types: Sequence[str], *, most: int
) -> Iterator[tuple[str, int, Link]]:
    """The memories that links lead to, step by step: id, steps, the link that led there."""
    known: dict[str, None] = {start: None}
    frontier = [start]
    for hops in range(1, max_hops + 1):
        found: list[str] = []
        for link, _, far in _next(snapshot, frontier, lens, types, known, most=most):
            known[far] = None
            found.append(far)
            yield far, hops, link
        frontier = found
        if not frontier:
            return


def _next(
    snapshot: Snapshot,
    frontier: Sequence[str],
    lens: Lens,
    types: Sequence[str],
    known: Iterable[str],
    *,
    most: int,
) -> Iterator[tuple[Link, str, str]]:
    """The links from these memories to memories that are not known: link, from where, to where.

    Memories that become known on the way are not reached again.
    """
    for start in range(0, len(frontier), _AT_ONCE):
        part = frontier[start : start + _AT_ONCE]
        held = frozenset(part)
        here = list(known)
        reached = set(here)
        for link in snapshot.neighbours(part, lens, most=most, types=types, besides=here):
            near, far = link.source, link.target
            if near not in held:
                near, far = far, near
            if far not in reached:
                reached.add(far)
                yield link, near, far


def _seen(snapshot: Snapshot, memory_id: str, lens: Lens) -> Memory:
    """The memory, or NotFound if the lens does not see it, whether it exists or not."""
    found = snapshot.get([memory_id], lens)
    if not found:
        raise NotFound.of(memory_id)
    return found[0]


def _memories(snapshot: Snapshot, ids: Sequence[str], lens: Lens) -> dict[str, Memory]:
    return {memory.id: memory for memory in snapshot.get(ids, lens)}
