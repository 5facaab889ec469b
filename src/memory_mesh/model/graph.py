"""What a reader is shown of links: steps, neighbourhoods, clusters, episodes; and of entities."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh.base.typed import dataclass
from memory_mesh.model.commit import Link
from memory_mesh.model.memory import Memory, Source

EPISODE = "episode"  # the label of the memory that an episode is


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


class Walk(list[Reached]):
    """The memories that a walk came to, nearest first; `cut` if there are more than the limit."""

    def __init__(self, reached: Iterable[Reached] = (), *, cut: bool = False) -> None:
        super().__init__(reached)
        self.cut = cut


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The memories around one, itself first, and the links between them."""

    center: str
    memories: tuple[Memory, ...]
    links: tuple[Link, ...]
    more: int = 0  # further memories that are as near; counted up to a limit


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that links hold together, named by their most telling words."""

    label: str
    terms: tuple[str, ...]
    ids: tuple[str, ...]
    links: int  # between its memories

    @property
    def size(self) -> int:
        """How many memories it has."""
        return len(self.ids)


class Clusters(list[Cluster]):
    """Clusters, largest first; `cut` if there are more links or clusters than were looked at."""

    def __init__(self, found: Iterable[Cluster] = (), *, cut: bool = False) -> None:
        super().__init__(found)
        self.cut = cut


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


@dataclass(frozen=True, slots=True)
class EntityLine:
    """What a memory says of an entity, and over which time: `until` is None while it holds."""

    id: str  # of the memory
    text: str
    since: datetime
    until: datetime | None
    current: bool
    source: Source

    def __str__(self) -> str:
        """The line as text, with the memory that it is from."""
        ended = "now" if self.until is None else f"{self.until:%Y-%m-%d}"
        return f"{self.since:%Y-%m-%d} to {ended:10}  {self.text}  [{self.id}]"


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """Whom or what memories tell of, by all its names, and what they tell, oldest first."""

    name: str
    aliases: tuple[str, ...] = ()  # other names of the same
    ambiguous: tuple[str, ...] = ()  # others that the name may mean; nothing of theirs is listed
    lines: tuple[EntityLine, ...] = ()
    more: bool = False  # there are older lines than the limit

    def __bool__(self) -> bool:
        """False if nothing is known."""
        return bool(self.lines)

    def __str__(self) -> str:
        """The names, and a line for each memory."""
        also = f" (also {', '.join(self.aliases)})" if self.aliases else ""
        other = f", not {' or '.join(self.ambiguous)}" if self.ambiguous else ""
        return "\n".join([f"{self.name}{also}{other}", *map(str, self.lines)])
