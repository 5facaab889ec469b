"""Links to similar memories, which are made by themselves after a vector was written.

::

    a write ──▶ vectors ──▶ `unlinked` counts them      no write waits for its links
                              │
    links, graph, daemon, upkeep ──▶ link_all ──▶ Commit(links, how far it came)

A memory is linked to what every reader of it sees, so no link leads to a narrower audience.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count

from memory_mesh.base.typed import dataclass, replace
from memory_mesh.model import (
    SIMILAR,
    Commit,
    Lens,
    Link,
    Probe,
    Scope,
    Similar,
    Space,
    SpaceState,
    Standing,
    StoreIsFull,
    StoreIsReadOnly,
    Vectored,
    Wanted,
    Wording,
)
from memory_mesh.model.ports import Snapshot
from memory_mesh.model.stats import leading
from memory_mesh.platform import extras, telemetry
from memory_mesh.text.embedding_models import reads, traits
from memory_mesh.write.access import Access

LEAST_SIMILARITY = 0.5  # on the scale of all-MiniLM-L6-v2
MOST_LINKS = 5  # that a memory has to similar ones; any number may lead to it
MOST_WORDS = 12  # of a text that look for candidates among older memories
MOST_WINDOWS = 8  # of a long text that look for similar ones

NEWEST = 4_096  # vectors that `similar_stored` compares
SLICE = 64  # vectors that are looked up at a time
FEW_SLICES = 4  # that a reader of links makes, so that it waits for no more than these
UPKEEP_SECONDS = 60.0  # after which upkeep begins no further slice


def caught_up(access: Access) -> Access:
    """The access, once the links of a few memories that wait for them are made.

    Links are read through it. What it leaves is for the daemon and `upkeep`.
    """
    if access.link_similar:
        with access.ledger.read(access.namespace) as snapshot:
            waiting = snapshot.unlinked(1)
        with suppress(StoreIsReadOnly, StoreIsFull):  # what is there can be read
            if waiting:
                link_all(access, access.ledger.stats(access.namespace).spaces, slices=FEW_SLICES)
    return access


def link_all(
    access: Access,
    states: Sequence[SpaceState],
    between: Callable[[], None] = lambda: None,
    *,
    slices: int | None = None,
) -> int:
    """Links memories whose vectors came since the last time; returns how many it linked anew.

    It works in the space in use, or that has the most vectors, and does nothing where numpy is
    missing. Each slice is one transaction, `between` is called after it, and the next call goes on
    where this one stopped.
    """
    if not access.link_similar or not states or not extras.is_installed("numpy"):
        return 0
    space = leading(states).space
    start, done = telemetry.started(), 0
    end = access.timer() + UPKEEP_SECONDS
    for _ in count() if slices is None else range(slices):
        linked = _link_slice(access, space)
        done += linked or 0
        if linked is None or access.timer() >= end:
            break
        between()
    telemetry.info("link", memories=done, ms=telemetry.milliseconds(start))
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
        least_cosine(space),
        MOST_LINKS,
    )
    for each, near in zip(probes, snapshot.similar(sought), strict=True):
        wanted = {
            Link(each.memory, id_, SIMILAR, similarity(space, cosine)) for id_, cosine in near
        }
        held = {Link(each.memory, id_, SIMILAR) for id_ in each.similar}
        if wanted != held:
            lost, gained = tuple(held - wanted), tuple(wanted - held)
            yield _Relinking(each.memory, each.recorded_from, lost, gained)


def similar_stored(
    access: Access, scope: Scope, wording: Wording, limit: int
) -> list[tuple[str, float]]:
    """The similar memories among the newest that an audience sees, with their similarities."""
    space = wording.space
    if space is None:
        return []
    with access.ledger.read(access.namespace) as snapshot:
        probe = Probe(_windows(wording.vectors), replace(_lens(snapshot), scope=scope))
        asked = Similar(space, (probe,), least_cosine(space), limit, NEWEST)
        (found,) = snapshot.similar(asked)
    return [(id_, similarity(space, near)) for id_, near in found]


def comparable(space: Space | None, vectors: Sequence[bytes], text: str) -> bool:
    """True for vectors of length 1 of a text in a script that their model reads."""
    return space is not None and space.normalised and bool(vectors) and reads(space.name, text)


def _windows(vectors: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return vectors[:MOST_WINDOWS]


def _lens(snapshot: Snapshot) -> Lens:
    """Sees what is active, whenever it is valid: a reader's own lens decides that at each read."""
    return Lens(snapshot.head().recorded_at, any_validity=True)


# Decides which memories are similar enough to be linked by themselves.


def least_cosine(space: Space) -> float:
    """The cosine of a space from which two memories are linked."""
    known = traits(space)
    return (LEAST_SIMILARITY - known.offset) / known.slope


def similarity(space: Space, cosine: float) -> float:
    """A cosine of a space on the common scale, 1 at most."""
    known = traits(space)
    return round(min(1.0, known.slope * cosine + known.offset), 4)


def best(found: Iterable[tuple[str, float]], *, most: int = MOST_LINKS) -> list[tuple[str, float]]:
    """The most similar memories, each once, of equal ones the first named."""
    nearest: dict[str, float] = {}
    for id_, near in found:
        nearest[id_] = max(near, nearest.get(id_, -1.0))
    return sorted(nearest.items(), key=lambda pair: -pair[1])[:most]


def telling_words(terms: str) -> tuple[str, ...]:
    """The terms that find candidates: the longest ones, for long words are rare."""
    words: Sequence[str] = list(dict.fromkeys(terms.split()))
    return tuple(sorted(words, key=lambda word: -len(word))[:MOST_WORDS])
