"""What neolata's face hands out: memories and hits under neolata's names."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model import Claim, Conflict, SourceKind, Status
from memory_mesh.model.job import JobStep
from memory_mesh.model.why import Why


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

    event: str  # store, supersede, quarantine, archive, decay, compress or consolidate
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


@dataclass(frozen=True, slots=True)
class GraphLink:
    """A link, and the memory at its other end."""

    source_id: str
    target_id: str
    type: str
    similarity: float | None  # None for links that were not found by it
    created_at: datetime | None
    memory: GraphMemory


@dataclass(frozen=True, slots=True)
class GraphStep:
    """A memory that a walk came to: after how many steps, and by which link."""

    memory: GraphMemory
    hops: int
    link: GraphLink


@dataclass(frozen=True, slots=True)
class GraphCluster:
    """Memories that links hold together, named by their most telling words."""

    label: str
    terms: tuple[str, ...]
    memory_ids: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many memories it has."""
        return len(self.memory_ids)


@dataclass(frozen=True, slots=True)
class GraphEpisode:
    """Memories that belong together, oldest first."""

    id: str
    agent: str | None
    title: str
    started: datetime | None
    ended: datetime | None
    memories: tuple[GraphMemory, ...] = ()
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class GraphPacked:
    """Why a memory is in a context: its score, its price in tokens, and what brought it in."""

    id: str
    section: str  # found, linked, newer, older, pinned or lesson
    score: float | None
    tokens: int  # by neolata's estimate
    density: float | None  # score per token, which decides
    because: str | None = None  # the memory that brought it along
    cut: bool = False  # only a part of its text is shown


@dataclass(frozen=True, slots=True)
class GraphExcluded:
    """Why a memory that was considered is not in a context."""

    id: str
    reason: str  # budget, count, redundant, older, share or relevance
    score: float | None
    because: str | None = None  # the memory that says the same, or that is newer


@dataclass(frozen=True, slots=True)
class GraphPacking:
    """The decisions behind a context."""

    included: tuple[GraphPacked, ...]
    excluded: tuple[GraphExcluded, ...]
    max_tokens: int
    counted_by: str  # what counted the tokens of the text
    injection_id: str | None = None


@dataclass(frozen=True, slots=True)
class GraphContext:
    """Memories for a prompt as one text, never above its budget."""

    context: str
    memories: tuple[GraphHit, ...]
    tokens: int  # of the text
    explain: GraphPacking | None = None

    @property
    def count(self) -> int:
        """How many memories it has."""
        return len(self.memories)

    def __str__(self) -> str:
        """The text for the prompt."""
        return self.context


@dataclass(frozen=True, slots=True)
class GraphWhy:
    """Why a memory is as it is: the sentences first, and what they say in values."""

    memory: GraphMemory
    sentences: tuple[str, ...]
    trust: Mapping[str, float]  # the parts of its trust, which add up to `trust`
    provenance: GraphProvenance
    links: tuple[GraphLink, ...]
    conflicts: tuple[Conflict, ...]
    why: Why  # all of it


@dataclass(frozen=True, slots=True)
class GraphDecay:
    """What was archived because it has faded, or would be in a dry run."""

    archived: tuple[str, ...]
    reasons: Mapping[str, str]  # by id
    deleted: tuple[str, ...] = ()  # none: what has faded can be restored
    broken_links: int = 0  # links of what was archived: no walk follows them


@dataclass(frozen=True, slots=True)
class GraphDigest:
    """A cluster of which a digest was made: its telling words, and its memories."""

    label: str
    source_ids: tuple[str, ...]  # each linked from the digest, by type derived_from


@dataclass(frozen=True, slots=True)
class GraphConsolidation:
    """What each step of `consolidate` did, or would do, in the order in which they ran."""

    deduplicated: tuple[JobStep, ...]
    contradictions: tuple[JobStep, ...]
    corroborated: tuple[JobStep, ...]
    compressed: tuple[GraphDigest, ...]
    pruned: tuple[JobStep, ...]


@dataclass(frozen=True, slots=True)
class GraphSupersession:
    """What superseded what, oldest first, and why each gave way."""

    memory: GraphMemory
    chain: tuple[GraphMemory, ...]
    rationale: Mapping[str, tuple[str, ...]]  # by the id of what was superseded
    sentences: tuple[str, ...]
