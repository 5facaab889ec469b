"""What every method of `MemoryGraph` stands on: the mesh, its lenses, and memories as shown."""

from collections.abc import Iterable, Sequence

from memory_mesh.compat.neolata import translate
from memory_mesh.compat.neolata.model import GraphMemory
from memory_mesh.errors import NotFound
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Lens, Memory, Scope, Status
from memory_mesh.sync import MemoryMesh

_EVERYBODY = frozenset({"agent", "session"})


class GraphView:
    """A mesh as neolata's agents read and write it."""

    _mesh: MemoryMesh

    def _view(self, agent: str | None, session: str | None, statuses: Iterable[Status]) -> Lens:
        """What an agent sees; without one every agent's, still of this project and session."""
        named = None if agent is None else translate.agent_name(agent)
        lens = self._mesh._lens(
            Scope(agent=named, session=session), across=() if named is not None else ("agent",)
        )
        return replace(lens, statuses=frozenset(statuses))

    def _whole(self) -> Lens:
        """Everything of this project, for verbs that are given an id."""
        lens = self._mesh._lens(None, across=_EVERYBODY)
        return replace(lens, statuses=translate.VISIBLE, any_validity=True)

    def _held(self, memory_id: str) -> Memory:
        with self._mesh._read() as snapshot:
            found = snapshot.get([memory_id], self._whole())
        if not found:
            raise NotFound
        return found[0]

    def _one(self, memory: Memory) -> GraphMemory:
        return self._shown([memory])[0]

    def _shown(self, memories: Sequence[Memory]) -> list[GraphMemory]:
        now = self._mesh._now()
        with self._mesh._read() as snapshot:
            return [
                translate.shown(
                    memory,
                    snapshot.conflicts(translate.MAX_CONFLICTS, pending=False, memory=memory.id),
                    now,
                )
                for memory in memories
            ]
