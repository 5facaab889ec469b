"""Read all that an agent has, and put back what another storage kept.

A face whose memories a storage of the caller's own keeps needs these; a mesh has none of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from memory_mesh.base.typed import TYPE_CHECKING, dataclass, replace
from memory_mesh.mesh import flows
from memory_mesh.mesh.operations.upkeep import JobVerbs
from memory_mesh.mesh.view import View, family
from memory_mesh.model import Conflict, Draft, Lens, Link, Memory, Receipt, Scope, Status
from memory_mesh.model.ports import Claims, Lookup, Relations, Trail
from memory_mesh.rules import trust

if TYPE_CHECKING:
    from memory_mesh.learn.rules.retention import Lifecycle
    from memory_mesh.model.graph import Clusters
    from memory_mesh.model.job import JobReport

_PAGE = 1_000  # memories read at once
_LINKED = 500  # memories whose links are read at once
_MOST_LINKS = _MOST_CONFLICTS = 1_000_000
_MOST_ORIGINS = 100  # of one memory


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything that one agent has, of every project, session and status but deleted ones."""

    memories: tuple[Memory, ...]
    origins: Mapping[str, tuple[str, ...]]  # of memories that more than one said
    links: tuple[Link, ...]
    conflicts: tuple[Conflict, ...]


class KeepingVerbs(View):
    """Methods of a mesh whose memories a storage of the caller's own keeps."""

    def _whole_of(self, agent: str) -> Whole:
        """Reads it in one transaction; the cost grows with the agent's memories."""
        lens = replace(
            self._lens(Scope(agent=agent), across=("project", "session")),
            statuses=frozenset(Status) - {Status.DELETED},
            any_validity=True,
            session_days=0,
        )
        with self._read() as snapshot:
            memories = [
                memory
                for memory in _pages(snapshot, lens)
                if memory.scope.agent == lens.scope.agent
            ]
            ids = [memory.id for memory in memories]
            return Whole(
                tuple(reversed(memories)),
                {
                    memory.id: _origins(snapshot, memory.id)
                    for memory in memories
                    if memory.origins > 1
                },
                _links(snapshot, ids),
                _conflicts(snapshot, frozenset(ids)),
            )

    def _put_back(
        self,
        memories: Sequence[tuple[Memory, Sequence[str]]],
        links: Sequence[Link],
        conflicts: Sequence[Conflict],
    ) -> int:
        """Puts memories back exactly as they were kept, each with the origins that said it."""
        kept = flows.put_back.StorageContents(memories, links, conflicts)
        return flows.put_back.bring_back(self._access(), kept)

    def _evolve(self, draft: Draft) -> Receipt:
        """Stores a ready draft as the newer statement of what is known."""
        return flows.evolve.evolve(self._access(), draft)

    def _kept_up(self, lifecycle: "Lifecycle", lens: Lens, *, dry_run: bool) -> "JobReport":
        """Makes steps of the upkeep of memories for the audiences that a lens sees."""
        only, access = partial(trust.seen_through, lens), self._access()
        flows.similar_links.link_all(access, access.ledger.stats(access.namespace).spaces)
        site = replace(family(JobVerbs, self)._site(dry_run=dry_run), lifecycle=lifecycle)  # noqa: SLF001  # the same view
        site = replace(site, only=only)
        (report,) = flows.jobs.run(site, [flows.jobs.LIFECYCLE], shows=only)
        return report

    def _clusters(self, lens: Lens, min_size: int) -> "Clusters":
        """The clusters that a lens sees, with the defaults of `clusters`; links that wait first."""
        access = flows.similar_links.caught_up(self._access())
        return flows.clusters.clusters(
            access, lens, min_size=min_size, min_similarity=0.7, limit=100
        )


def _origins(snapshot: Trail, memory_id: str) -> tuple[str, ...]:
    seen = snapshot.observations(memory_id, _MOST_ORIGINS)
    return tuple(dict.fromkeys(each.origin for each in seen))


def _links(snapshot: Relations, ids: Sequence[str]) -> tuple[Link, ...]:
    """The links between these memories, each once."""
    own = frozenset(ids)
    parts = (ids[at : at + _LINKED] for at in range(0, len(ids), _LINKED))
    found = (snapshot.links(part, limit=_MOST_LINKS) for part in parts)
    return tuple(dict.fromkeys(each for each in chain(*found) if {each.source, each.target} <= own))


def _conflicts(snapshot: Claims, ids: frozenset[str]) -> tuple[Conflict, ...]:
    """The conflicts between these memories, oldest first."""
    found = snapshot.conflicts(_MOST_CONFLICTS, pending=False)
    return tuple(each for each in reversed(found) if {each.new, each.existing} <= ids)


def _pages(snapshot: Lookup, lens: Lens) -> Iterator[Memory]:
    cursor = None
    while True:
        page = snapshot.page(lens, _PAGE, cursor)
        yield from page
        cursor = page.cursor
        if cursor is None:
            return
