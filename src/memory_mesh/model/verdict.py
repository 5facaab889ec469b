"""What the judge may decide of a draft."""

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.base.typed import TypeAlias
from memory_mesh.model.claim import Resolution
from memory_mesh.model.commit import Seen
from memory_mesh.model.memory import Memory, Status


@dataclass(frozen=True, slots=True)
class Keep:
    """Store the draft with this status; it takes the place of what it supersedes."""

    status: Status = Status.ACTIVE
    supersedes: tuple[Memory, ...] = ()
    reason: str = "stored"
    against: tuple["Rival", ...] = ()  # conflicts to put on record


@dataclass(frozen=True, slots=True)
class Rival:
    """A memory that a newcomer contradicts, how far each is trusted, and what was decided."""

    memory: Memory
    new_trust: float
    old_trust: float
    reason: str
    resolution: Resolution | None = None
    guessed: bool = False  # the claims were read from texts: order the two, hide neither
    precedes: bool = False  # the newcomer is the older of the two


@dataclass(frozen=True, slots=True)
class KnownLesson:
    """A lesson as good as this one is there: nothing is written."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True)
class Merge:
    """The same text is known to the same audience: observe it once more."""

    into: Memory


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same write under the same key: answer as the first time."""

    seen: Seen


@dataclass(frozen=True, slots=True)
class Refuse:
    """The draft cannot be stored, and here is why."""

    reason: str


Verdict: TypeAlias = Keep | KnownLesson | Merge | Repeat | Refuse
