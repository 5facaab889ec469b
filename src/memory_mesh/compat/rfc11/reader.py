"""What a mesh has to hand out, read a page at a time through its public face, as the owner.

Nothing is locked: what is written meanwhile may be in it or not. Vectors are those of the space
that has most of them; a text without one has none in the table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from memory_mesh.compat.rfc11.columns import DIMENSION
from memory_mesh.compat.rfc11.import_ import ExportSeals
from memory_mesh.compat.rfc11.migrate import HeldMemory, HeldSkill
from memory_mesh.model import Block, Memory, Part, Skill, Status
from memory_mesh.rules.arguments import user_of
from memory_mesh.sync import MemoryMesh

_PAGE = 1_000
_EVERYONE = ("project", "agent", "session")


class MeshHoldings:
    """The memories of one namespace, its skills and its chain."""

    def __init__(self, mesh: MemoryMesh, *, include: Iterable[Status] = ()) -> None:
        self._mesh, self._include = mesh, tuple(include)
        self._seal = ExportSeals(mesh.folder, user_of(mesh.config.namespace)).seal
        states = sorted(mesh.stats().spaces, key=lambda state: state.vectors)
        self._space = states[-1].space if states else None

    @property
    def dimension(self) -> int:
        """The length of every vector."""
        return DIMENSION if self._space is None else self._space.dimension

    def memories(self) -> Iterator[HeldMemory]:
        """Active memories of every audience, and those of the statuses to include."""
        cursor: str | None = None
        while True:
            page = self._mesh.get_all(
                limit=_PAGE, cursor=cursor, across=_EVERYONE, include=self._include
            )
            vectors = self._vectors([memory.id for memory in page])
            yield from (self.held(memory, vectors.get(memory.id, ())) for memory in page)
            cursor = page.cursor
            if cursor is None:
                return

    def held(self, memory: Memory, parts: Sequence[Part] = ()) -> HeldMemory:
        """A memory with the time of its last change; its first version is no change."""
        vectors = [part.vector for part in parts]
        if memory.recorded_from == memory.created:
            return HeldMemory(memory, vectors, None, self._seal)
        versions = self._mesh.history(memory.id, scope=memory.scope)
        changed = memory.recorded_from if len(versions) > 1 else None
        return HeldMemory(memory, vectors, changed, self._seal)

    def skills(self) -> Iterator[HeldSkill]:
        """Active skills of every audience, and those of the statuses to include."""
        before: str | None = None
        while page := self._mesh.list_skills(
            limit=_PAGE, across=_EVERYONE, include=self._include, before=before
        ):
            vectors = self._skill_vectors(page)
            yield from (HeldSkill(skill, vectors.get(skill.id)) for skill in page)
            before = page[-1].id

    def blocks(self) -> Iterator[Block]:
        """The chain, oldest first."""
        after = 0
        while found := self._mesh.care.blocks(after_seq=after, limit=_PAGE, as_owner=True):
            yield from found
            after = found[-1].seq or after

    def _vectors(self, ids: Sequence[str]) -> Mapping[str, Sequence[Part]]:
        if self._space is None:
            return {}
        return self._mesh.care.vectors(ids, self._space, as_owner=True)

    def _skill_vectors(self, skills: Sequence[Skill]) -> Mapping[str, bytes]:
        if self._space is None:
            return {}
        return self._mesh.skills.vectors(skills, self._space, as_owner=True)
