"""A namespace in numbers."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from memory_mesh.base.typed import TYPE_CHECKING, dataclass
from memory_mesh.model.query import Body, Space

if TYPE_CHECKING:
    from memory_mesh.model.job import JobReport


SCANNED_VECTORS = 200_000  # above that a search without an index takes longer than it should
OUTGROWN = (
    f"more than {SCANNED_VECTORS:,} vectors are compared one by one in each search by meaning; "
    "install the index (the extra `lance`, in PostgreSQL pgvector 0.8) and run "
    "`memory-mesh upkeep`"
)


@dataclass(frozen=True, slots=True)
class Pending:
    """How many texts wait for a vector in a space, and the first of them."""

    count: int = 0
    texts: tuple[tuple[int, str], ...] = ()
    stated: str | None = None  # what the namespace states about its models, if it does


@dataclass(frozen=True, slots=True)
class SpaceState:
    """How far one space has come: its vectors, the texts that wait, and its index."""

    space: Space
    vectors: int
    pending: int
    body: Body | None = None
    tail: int = 0  # vectors above the body, or all where there is none: they are scanned
    in_use: bool = False  # the namespace states that searches use it

    @property
    def indexed(self) -> int:
        """Vectors that are in the index."""
        return self.body.rows if self.body is not None else 0

    @property
    def outgrown(self) -> bool:
        """True when too many vectors are in no index."""
        return outgrown(self.vectors - self.indexed)


def leading(states: Sequence[SpaceState]) -> SpaceState:
    """The space that the namespace states as in use, else the one with the most vectors."""
    return max(states, key=lambda state: (state.in_use, state.vectors))


def outgrown(scanned: int) -> bool:
    """True when so many vectors are too many to compare one by one."""
    return scanned > SCANNED_VECTORS


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of a namespace on disk, by what they hold."""

    database: int = 0
    wal: int = 0  # writes that are not in the database file yet
    spool: int = 0  # records of reads that wait for a write
    copies: int = 0  # of the database, each made before a migration
    index: int = 0  # can be rebuilt
    vectors: int = 0  # files of the exact scan, which can be rebuilt


@dataclass(frozen=True, slots=True)
class Stats:
    """A namespace in numbers."""

    namespace: str
    memories: int
    skills: int
    by_status: Mapping[str, int]
    blocks: int
    recalls: int
    seq: int
    bytes: int  # on disk; 0 in a database, where it is not measured
    spaces: tuple[SpaceState, ...] = ()
    to_link: int = 0  # vectors whose links to similar memories are not made yet
    to_reindex: int = 0  # texts whose keyword terms an earlier analyzer wrote
    expired: int = 0  # memories of sessions that were not written to for long; none is active
    sizes: Sizes = Sizes()


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """What `upkeep` did."""

    embedded: int
    bodies: tuple[Body, ...]
    sinks_told: bool
    lessons: int = 0
    reindexed: int = 0  # texts and skills whose keyword terms were written anew
    recalls_pruned: int = 0  # records of searches that were deleted because of their age
    linked: int = 0  # memories whose links to similar ones were found anew
    jobs: "tuple[JobReport, ...]" = ()  # those that were due, and the others with why not


# What a health check answers.


class Health(StrEnum):
    """How well a part works."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True)
class Check:
    """One part, how it does, and why."""

    name: str
    health: Health
    detail: str


@dataclass(frozen=True, slots=True)
class HealthStatus:
    """Every part that was looked at; the worst of them is the status."""

    checks: tuple[Check, ...]

    @property
    def status(self) -> Health:
        """The worst of the checks."""
        order = tuple(Health)
        return max((check.health for check in self.checks), key=order.index, default=Health.HEALTHY)
