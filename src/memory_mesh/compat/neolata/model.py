"""What neolata's face hands out: memories and hits under neolata's names."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.fastdataclass import dataclass, field
from memory_mesh.model import Claim, SourceKind, Status


@dataclass(frozen=True, slots=True)
class GraphProvenance:
    """Where a memory came from, how many origins said it, and how far it is believed now."""

    source: SourceKind
    source_id: str | None
    corroboration: int
    trust: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMemory:
    """A memory as neolata names its parts; the text is `memory`."""

    id: str
    agent: str | None
    memory: str
    category: str
    importance: float
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    event_time: datetime | None
    session_id: str | None
    claim: Claim | None
    provenance: GraphProvenance
    status: Status
    quarantine: str | None  # why it waits for review
    reinforcements: int
    disputes: int
    access_count: int
    superseded_by: str | None
    supersedes: tuple[str, ...]

    @property
    def confidence(self) -> float:
        """Trust, and nothing else."""
        return self.provenance.trust


@dataclass(frozen=True, slots=True)
class GraphExplain:
    """How a hit was found, and what its rank was made of."""

    retrieved: Mapping[str, float]
    rerank: Mapping[str, float]
    preferred: bool = False  # what the session says of this stands above what all say


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphHit(GraphMemory):
    """A memory that answers a question, and how well."""

    score: float
    explain: GraphExplain | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphMeta:
    """A search in numbers; what was left out for its status is counted among the nearest 100."""

    returned: int
    found_by_keyword: int
    found_by_vector: int
    awaiting_vectors: int
    weights: Mapping[str, float]
    filtered_by_status: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None


class GraphHits(list[GraphHit]):
    """Hits, best first; `meta` is there where an explanation was asked for."""

    def __init__(self, hits: Iterable[GraphHit] = (), meta: GraphMeta | None = None) -> None:
        super().__init__(hits)
        self.meta = meta


@dataclass(frozen=True, slots=True)
class GraphEvent:
    """What happened to a memory, told after it was written."""

    event: str  # store, supersede, quarantine or archive
    at: datetime
    memory: GraphMemory  # as it is now
    reason: str

    @property
    def agent(self) -> str | None:
        """Whose memory it is."""
        return self.memory.agent


@dataclass(frozen=True, slots=True)
class HookState:
    """How far a hook has come: what it was told, what failed, and what it never heard."""

    name: str
    events: tuple[str, ...]
    told: int = 0
    failed: int = 0
    dropped: int = 0  # too many waited, or the graph was closed
    waiting: int = 0
    last_failure: str | None = None
