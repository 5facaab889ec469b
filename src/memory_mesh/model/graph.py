"""What a reader is shown of links: steps, neighbourhoods, clusters, episodes."""

from datetime import datetime

from memory_mesh.fastdataclass import dataclass
from memory_mesh.model.commit import Link
from memory_mesh.model.memory import Memory


@dataclass(frozen=True, slots=True)
class Reached:
    """A memory that a walk came to: after how many steps, and by which link."""

    memory: Memory
    hops: int
    link: Link

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The memories around one, the links between them, and how many memories were left out."""

    center: str
    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that links hold together, newest first, named by their most telling words."""

    label: str
    terms: tuple[str, ...]
    ids: tuple[str, ...]
    links: int  # between its memories

    @property
    def size(self) -> int:
        """How many memories it has."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Episode:
    """Memories that belong to one stretch of time, oldest first."""

    id: str
    title: str
    started: datetime | None
    ended: datetime | None
    memories: tuple[Memory, ...] = ()
    summary: str | None = None
    more: int = 0  # memories of it beyond those that are listed

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its memories."""
        return tuple(memory.id for memory in self.memories)
