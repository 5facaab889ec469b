"""What a read is made of: the lens, the question, both legs, the hits; and a store in numbers."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from memory_mesh.model.memories import Json, Memory, Scope, Status
from memory_mesh.model.writes import Body, Space
from memory_mesh.values import dataclass, field

if TYPE_CHECKING:
    from memory_mesh.policy.filters import Filter


@dataclass(frozen=True, slots=True)
class Lens:
    """What one read may see. `across` names audience tests left out; the namespace never is."""

    now: datetime
    scope: Scope = Scope()
    across: frozenset[str] = frozenset()
    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    where: "Filter | None" = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    any_validity: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A question and how to answer it."""

    text: str
    lens: Lens
    limit: int = 10
    profile: str = "mesh"
    keyword_only: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)  # of profile composite
    least: float | None = None  # similarity below which nothing is returned
    relevant: float = 0.0  # relevance below which nothing is returned


@dataclass(frozen=True, slots=True)
class Match:
    """A version found by keyword, with BM25 as the ledger computes it (higher is better)."""

    version: int
    bm25: float


@dataclass(frozen=True, slots=True)
class Matches:
    """What the keyword leg found, and how it asked."""

    found: tuple[Match, ...] = ()
    ceiling: float = 0.0
    dropped: tuple[str, ...] = ()
    postings: Mapping[str, int] = field(default_factory=dict)  # texts that hold each term
    rows: int = 0  # texts there are
    read_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what else it may mean
    counts_as: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # what each counts


@dataclass(frozen=True, slots=True)
class Near:
    """A version found by meaning; of a long text the best window counts."""

    version: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Nearest:
    """What the vector leg found, how near `also` are, and how much of it an index answered."""

    found: tuple[Near, ...] = ()
    also: tuple[Near, ...] = ()
    from_body: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A query's vector and where to look; `also` names versions found otherwise."""

    space: Space
    vector: bytes
    limit: int
    also: tuple[int, ...] = ()
    body: "Callable[[Body, int], list[tuple[int, float]] | None] | None" = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A version in its place: its words, who said it and when, what was said before and after."""

    version: int
    terms: str
    session: str | None
    order: int | None
    speaker: str | None
    role: str | None
    at: float  # seconds since 1970 when it happened; not known: when it was recorded
    tags: tuple[str, ...]
    usefulness: float
    before: int | None = None
    after: int | None = None
    cosine: float | None = None
    opening: float | None = None  # the cosine of how a long text begins


@dataclass(frozen=True, slots=True)
class SkillQuery:
    """Which skills: by words and vector, else all of a status that the reader sees."""

    reader: Scope
    limit: int
    terms: tuple[str, ...] = ()
    vector: tuple[Space, bytes] | None = None
    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    named: str | None = None
    ids: tuple[str, ...] = ()
    below: float | None = None
    waiting: Space | None = None  # those without a vector in it
    across: frozenset[str] = frozenset()  # audience tests left out
    before: str | None = None  # older than the skill with this id
    space: Space | None = None  # with their vectors in it


@dataclass(frozen=True, slots=True)
class Pending:
    """How many texts wait for a vector in a space, and the first of them."""

    count: int = 0
    texts: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Indexed:
    """A text or a skill: what its terms are read from, and those that the ledger has of it."""

    number: int
    said: tuple[str, ...]  # a text has one field, a skill four
    tags: tuple[str, ...]  # of a text
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a search was answered: which legs spoke, what was left out, and what went wrong."""

    profile: str
    space: str | None = None
    note: str | None = None
    pending: int = 0
    dropped: tuple[str, ...] = ()
    found_by_keyword: int = 0
    found_by_vector: int = 0
    from_body: int = 0
    read_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # and a hit holds it
    to_reindex: int = 0  # texts whose keyword terms an earlier analyzer wrote


@dataclass(frozen=True, slots=True)
class Fused:
    """A version with its relevance 0-1 and the parts of it."""

    version: int
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked answer: the memory, its relevance 0-1 and the parts of that score."""

    memory: Memory
    score: float
    parts: Mapping[str, float]
    span: tuple[int, int] | None = None  # of a long text: the part that answers best

    @property
    def excerpt(self) -> str:
        """The part of the text that answers best; all of it where it is short."""
        return self.memory.text if self.span is None else self.memory.text[slice(*self.span)]

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def content(self) -> str:
        """The memory's text."""
        return self.memory.text

    @property
    def metadata(self) -> dict[str, Json]:
        """The memory's RFC-0011 metadata."""
        return self.memory.metadata

    @property
    def created_at(self) -> str:
        """When the memory was first recorded, ISO 8601."""
        from memory_mesh.formats import rfc11

        return rfc11.iso(self.memory.created_at)


class Hits(list[Hit]):
    """Ranked answers, best first, and how they came about."""

    def __init__(self, hits: Iterable[Hit] = (), explanation: Explanation | None = None) -> None:
        super().__init__(hits)
        self.explanation = explanation or Explanation("mesh")


class Page(list[Memory]):
    """Part of a listing; `cursor` asks for the rest and is None at the end."""

    def __init__(self, memories: Iterable[Memory] = (), cursor: str | None = None) -> None:
        super().__init__(memories)
        self.cursor = cursor


@dataclass(frozen=True, slots=True)
class Head:
    """Where a namespace stands: its counter, the end of its chain, and who wrote its terms."""

    namespace: str
    seq: int
    position: int
    hash: bytes
    recorded_at: datetime
    identity: str = ""
    analyzer: int = 0  # that writes its keyword terms; 0 is not known
    old_texts: int = 0  # texts up to this number have terms of an earlier one
    old_skills: int = 0

    def to_reindex(self, analyzer: int, texts: int) -> int:
        """How many of so many texts do not have the terms of this analyzer."""
        return self.old_texts if self.analyzer == analyzer else texts


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A place in a chain, kept where the chain's owner cannot reach it."""

    namespace: str
    position: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far someone has come in the blocks, how often the next commit failed, and when."""

    seq: int = 0
    attempts: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SpaceState:
    """How far one space has come: its vectors, the texts that wait, and its index."""

    space: Space
    vectors: int
    pending: int
    body: Body | None = None


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
    bytes: int
    spaces: tuple[SpaceState, ...] = ()
    to_reindex: int = 0  # texts whose keyword terms an earlier analyzer wrote


@dataclass(frozen=True, slots=True)
class UpkeepReport:
    """What `upkeep` did."""

    embedded: int
    bodies: tuple[Body, ...]
    sinks_told: bool
    lessons: int = 0
    reindexed: int = 0  # texts and skills whose keyword terms were written anew


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken invariant."""

    check: str
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` looked at, how many of each, and what it found wrong."""

    namespace: str
    checked: Mapping[str, int]
    findings: tuple[Finding, ...] = ()
    head: Head | None = None

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not self.findings
