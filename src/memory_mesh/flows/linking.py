"""Links to similar memories, which are made by themselves when a vector is written.

::

    Wording with vectors ── similar(vectors, reader of its own audience) ──▶ Wording.similar
                        │                                       before any lock
                     decide ──▶ Commit(links)

A memory is linked to what every reader of it sees, so no link leads to a narrower audience. A write
compares the newest vectors and finds older candidates by words; `link_all` (upkeep) compares all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from memory_mesh import log
from memory_mesh.fastdataclass import dataclass, replace
from memory_mesh.flows.access import Access
from memory_mesh.flows.prepare import Worded
from memory_mesh.model import (
    Commit,
    Lens,
    Link,
    Memory,
    Scope,
    Space,
    SpaceState,
    Standing,
    Wanted,
    Wording,
)
from memory_mesh.model.commit import SIMILAR
from memory_mesh.model.query import Probe, Similar, Vectored
from memory_mesh.model.stats import leading
from memory_mesh.policy import audience, linking
from memory_mesh.policy.ranking.models import reads
from memory_mesh.ports import Snapshot

NEWEST = 4_096  # vectors that a write compares; words find candidates among the older ones
SLICE = 64  # vectors that upkeep looks up at a time
UPKEEP_SECONDS = 60.0  # after which upkeep begins no further slice
_MATE = "\0"  # before the place of a draft of the same slice; no id holds it


def with_similar(access: Access, worded: Sequence[Worded]) -> list[Worded]:
    """The drafts, each with the memories that it will be linked to."""
    probes = {
        place: (draft.scope, wording)
        for place, (draft, wording) in enumerate(worded)
        if access.link_similar and comparable(wording.space, wording.vectors, wording.text)
    }
    if not probes:
        return list(worded)
    stored = similar_stored(access, list(probes.values()))
    mates = _mates(probes)
    found = list(worded)
    for place, near in zip(probes, stored, strict=True):
        draft, wording = worded[place]
        best = tuple(linking.best([*near, *mates[place]]))
        found[place] = (draft, replace(wording, similar=best))
    return found


def made(worded: Sequence[Worded], kept: Sequence[Memory | None]) -> tuple[Link, ...]:
    """The links of the drafts that became new memories; None stands for one that did not."""
    return tuple(
        Link(memory.id, target, SIMILAR, similarity)
        for (_, wording), memory in zip(worded, kept, strict=True)
        if memory is not None
        for id_, similarity in wording.similar
        if (target := _target(id_, kept)) is not None and target != memory.id
    )


def changed(access: Access, wording: Wording, memory_id: str) -> Wording:
    """The new wording of a memory, with the memories that it will be linked to."""
    if not access.link_similar or not comparable(wording.space, wording.vectors, wording.text):
        return wording
    with access.ledger.read(access.namespace) as snapshot:
        known = snapshot.standing(Wanted(ids=(memory_id,))).memories.get(memory_id)
    if known is None:
        return wording
    (near,) = similar_stored(access, [(known.scope, wording)], besides=memory_id)
    return replace(wording, similar=tuple(linking.best(near)))


def link_all(
    access: Access, states: Sequence[SpaceState], between: Callable[[], None] = lambda: None
) -> int:
    """Links memories whose vectors came since the last time; returns how many it linked anew.

    It works in the space in use, or that has the most vectors, and does nothing where numpy is
    missing. Each slice is one transaction, `between` is called after it, and the next call goes on
    where this one stopped.
    """
    from memory_mesh.process import extras  # a write does not load it

    if not access.link_similar or not states or not extras.is_installed("numpy"):
        return 0
    space = leading(states).space
    start, done = log.started(), 0
    end = access.timer() + UPKEEP_SECONDS
    while (count := _link_slice(access, space)) is not None:
        done += count
        if access.timer() >= end:
            break
        between()
    log.info("link", memories=done, ms=log.milliseconds(start))
    return done


def _link_slice(access: Access, space: Space) -> int | None:
    """Links the memories of the next vectors; None where there are no more of them."""
    name = f"links:{space.name}"
    with access.ledger.read(access.namespace) as snapshot:
        before = snapshot.states(name).get(name)
        reach, found = snapshot.vectored(space, int(before or 0), SLICE)
        if reach == int(before or 0):
            return None
        changes = list(_changes(snapshot, space, found))
        targets = {link.target for each in changes for link in each.gained}
        compared = snapshot.standing(Wanted(ids=tuple(targets))).memories

    def same(id_: str, standing: Standing) -> bool:  # a new text has a vector of its own
        known = standing.memories.get(id_)
        return known is not None and known.text == compared[id_].text

    def decide(standing: Standing) -> Commit:
        if standing.states.get(name) != before:  # another process was faster
            return Commit()
        current = [each for each in changes if each.holds(standing)]
        return Commit(
            unlinked=tuple(link for each in current for link in each.lost),
            links=tuple(
                link for each in current for link in each.gained if same(link.target, standing)
            ),
            states={name: str(reach)},
        )

    ids = tuple(targets.union(each.memory for each in changes))
    access.ledger.commit(access.namespace, Wanted(ids=ids, states=(name,)), decide)
    return len(changes)


@dataclass(frozen=True, slots=True)
class _Relinking:
    """How the similar links of one memory change, as long as nobody else changes it."""

    memory: str
    recorded_from: datetime
    lost: tuple[Link, ...]
    gained: tuple[Link, ...]

    def holds(self, standing: Standing) -> bool:
        """True if the memory is still the version that was compared."""
        known = standing.memories.get(self.memory)
        return known is not None and known.recorded_from == self.recorded_from


def _changes(snapshot: Snapshot, space: Space, found: Sequence[Vectored]) -> Iterator[_Relinking]:
    """How the links of memories differ from those that all vectors of today give them."""
    probes = [each for each in found if comparable(space, each.vectors, each.text)]
    lens = _lens(snapshot)
    sought = Similar(
        space,
        tuple(
            Probe(_windows(each.vectors), replace(lens, scope=each.scope), besides=each.memory)
            for each in probes
        ),
        linking.least_cosine(space),
        linking.MOST_LINKS,
    )
    for each, near in zip(probes, snapshot.similar(sought), strict=True):
        wanted = {
            Link(each.memory, id_, SIMILAR, linking.similarity(space, cosine))
            for id_, cosine in near
        }
        held = {Link(each.memory, id_, SIMILAR) for id_ in each.similar}
        if wanted != held:
            lost, gained = tuple(held - wanted), tuple(wanted - held)
            yield _Relinking(each.memory, each.recorded_from, lost, gained)


def similar_stored(
    access: Access,
    asked: Sequence[tuple[Scope, Wording]],
    *,
    besides: str | None = None,
    limit: int = linking.MOST_LINKS,
) -> list[list[tuple[str, float]]]:
    """Of each wording the similar memories that its audience sees, with their similarities."""
    space = asked[0][1].space
    if space is None:
        return [[] for _ in asked]
    with access.ledger.read(access.namespace) as snapshot:
        lens = _lens(snapshot)
        probes = tuple(
            Probe(
                _windows(wording.vectors),
                replace(lens, scope=scope),
                linking.telling_words(wording.terms),
                besides,
            )
            for scope, wording in asked
        )
        found = snapshot.similar(Similar(space, probes, linking.least_cosine(space), limit, NEWEST))
    return [[(id_, linking.similarity(space, near)) for id_, near in each] for each in found]


def _mates(probes: Mapping[int, tuple[Scope, Wording]]) -> dict[int, list[tuple[str, float]]]:
    """Of each draft the similar ones that come before it in the same slice, by their places."""
    found: dict[int, list[tuple[str, float]]] = {place: [] for place in probes}
    if len(probes) == 1:
        return found
    for place, mate, cosine in _near_pairs(probes):
        own, other = probes[place], probes[mate]
        space = own[1].space
        if space is not None and audience.sees(own[0], other[0]):
            found[place].append((f"{_MATE}{mate}", linking.similarity(space, cosine)))
    return found


def _near_pairs(
    probes: Mapping[int, tuple[Scope, Wording]],
) -> Iterator[tuple[int, int, float]]:
    """Two places each, the later one first, and the best cosine of their windows."""
    import numpy as np

    windows = [
        (place, vector)
        for place, (_, wording) in probes.items()
        for vector in _windows(wording.vectors)
    ]
    matrix = np.frombuffer(b"".join(vector for _, vector in windows), np.float32)
    matrix = matrix.reshape(len(windows), -1)
    space = next(iter(probes.values()))[1].space
    least = linking.least_cosine(space) if space is not None else 1.0
    cosines = np.tril(matrix @ matrix.T, -1)
    for later, earlier in np.argwhere(cosines > least).tolist():
        if windows[later][0] != windows[earlier][0]:
            yield windows[later][0], windows[earlier][0], float(cosines[later, earlier])


def _target(id_: str, kept: Sequence[Memory | None]) -> str | None:
    """The id of a similar memory; that of a draft of the same slice is known only now."""
    if not id_.startswith(_MATE):
        return id_
    mate = kept[int(id_.removeprefix(_MATE))]
    return None if mate is None else mate.id


def comparable(space: Space | None, vectors: Sequence[bytes], text: str) -> bool:
    """True for vectors of length 1 of a text in a script that their model reads."""
    return space is not None and space.normalised and bool(vectors) and reads(space.name, text)


def _windows(vectors: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return vectors[: linking.MOST_WINDOWS]


def _lens(snapshot: Snapshot) -> Lens:
    """Sees what is active, whenever it is valid: a reader's own lens decides that at each read."""
    return Lens(snapshot.head().recorded_at, any_validity=True)
