"""The nouns: frozen values that every layer speaks.

A `Draft` is what a caller hands in, a `Memory` one recorded version of what is kept, a `Commit`
everything one write changes, a `Lens` what one read may see, a `Hit` one ranked answer.
Nothing here decides, reads a clock or touches a file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from memory_mesh.policy.filters import Filter

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


class Kind(StrEnum):
    """What sort of knowledge a memory is; any other word is kept as its label."""

    CORRECTION = "correction"
    DECISION = "decision"
    COMMITMENT = "commitment"
    INSIGHT = "insight"
    LEARNING = "learning"
    CONFIDENCE = "confidence"
    PATTERN_SEED = "pattern_seed"
    CROSS_AGENT = "cross_agent"
    WORKFLOW_NOTE = "workflow_note"
    GAP = "gap"
    LESSON = "lesson"
    REFLECTION = "reflection"
    FACT = "fact"
    EVENT = "event"
    FINDING = "finding"
    TASK = "task"
    PREFERENCE = "preference"
    DIGEST = "digest"


class Status(StrEnum):
    """Whether a memory may answer a read of the present; only active ones do."""

    ACTIVE = "active"
    QUARANTINED = "quarantined"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    DELETED = "deleted"


class SourceKind(StrEnum):
    """Where knowledge comes from, from most to least trusted."""

    USER_EXPLICIT = "user_explicit"
    SYSTEM = "system"
    TOOL_OUTPUT = "tool_output"
    USER_IMPLICIT = "user_implicit"
    DOCUMENT = "document"
    INFERENCE = "inference"


class Channel(StrEnum):
    """The door a memory came in by; it is set by the surface, never by the payload."""

    LIBRARY = "library"
    CLI = "cli"
    HOOK = "hook"
    TOOL = "tool"
    FILE = "file"
    IMPORT = "import"
    WEB = "web"
    MCP = "mcp"
    ASSISTANT = "assistant"
    EXTRACTION = "extraction"


class Tier(StrEnum):
    """How long a memory is meant to live."""

    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    SYSTEM = "system"


class Operation(StrEnum):
    """What a block records: RFC-0011's five, and our two."""

    RETAIN = "retain"
    RECALL = "recall"
    REFLECT = "reflect"
    SYNTHESIZE = "synthesize"
    LESSON = "lesson"
    CHANGE = "change"
    ERASE = "erase"


class Outcome(StrEnum):
    """What became of a draft."""

    STORED = "stored"
    MERGED = "merged"
    QUARANTINED = "quarantined"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Scope:
    """The audience within a namespace: each part empty (for all) or equal to the reader's."""

    project: str | None = None
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Who or what a memory came from."""

    kind: SourceKind = SourceKind.USER_EXPLICIT
    channel: Channel = Channel.LIBRARY
    agent: str | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a draft and a memory have in common: a wording and its circumstances."""

    text: str
    scope: Scope = Scope()
    source: Source = Source()
    kind: Kind = Kind.FACT
    label: str | None = None
    speaker: str | None = None
    role: str | None = None
    order: int | None = None
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    importance: float | None = None
    confidence: float | None = None
    tier: Tier = Tier.LONG_TERM
    pinned: bool = False
    tags: tuple[str, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """The text, under RFC-0011's name."""
        return self.text

    @property
    def metadata(self) -> dict[str, Json]:
        """RFC-0011's metadata object: the promoted fields and every unknown key as it came."""
        from memory_mesh.formats import rfc11

        return rfc11.metadata(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(Statement):
    """What a caller hands in, before any stage."""

    key: str | None = None
    allow_duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Statement):
    """One recorded version of a stored memory, with today's counters."""

    id: str
    created_at: datetime
    status: Status = Status.ACTIVE
    successor: str | None = None
    recorded_from: datetime
    recorded_until: datetime | None = None
    status_today: Status = Status.ACTIVE
    uses: int = 0
    last_used: datetime | None = None
    helpful: int = 0
    harmful: int = 0

    @property
    def deleted_since(self) -> bool:
        """True for a memory of the past that was deleted later."""
        return self.status_today is Status.DELETED and self.status is not Status.DELETED


@dataclass(frozen=True, slots=True)
class Wording:
    """A text made ready for the ledger: its hash and its keyword terms."""

    text: str
    hash: bytes
    terms: str


@dataclass(frozen=True, slots=True)
class Vector:
    """A text's embedding in one space, as little-endian float32."""

    memory: str
    space: str
    data: bytes
    part: int = 0


@dataclass(frozen=True, slots=True)
class Put:
    """A new version of a memory, the first one or a later one; no wording keeps the text."""

    memory: Memory
    wording: Wording | None


@dataclass(frozen=True, slots=True)
class Observation:
    """That a text came in once more: from whom, under which key, with which result."""

    memory: str
    hash: bytes
    outcome: Outcome
    origin: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge between two memories."""

    source: str
    target: str
    type: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A block before it is sealed into the chain."""

    id: str
    operation: Operation
    agent: str | None
    at: datetime
    memories: tuple[str, ...]
    wire: str | None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """A recorded block; position, prev_hash and hash are None for a recall block."""

    entry: Entry
    position: int | None = None
    seq: int | None = None
    salt: bytes | None = None
    digest: bytes | None = None
    prev_hash: bytes | None = None
    hash: bytes | None = None
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a write needs to read inside its transaction before it decides."""

    twins: tuple[tuple[bytes, Scope], ...] = ()
    keys: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """An earlier observation under an idempotency key."""

    hash: bytes
    outcome: Outcome
    memory: Memory


@dataclass(frozen=True, slots=True)
class Rivals:
    """What the ledger holds, at the moment of decision, that bears on a write."""

    at: datetime
    twins: Mapping[tuple[bytes, Scope], Memory]
    keys: Mapping[str, Seen]
    memories: Mapping[str, Memory]
    taken: Callable[[str], bool]
    history: Callable[[str], Sequence[Memory]]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one write, and why; a refused one has no id and is no exception."""

    id: str | None
    content: str
    metadata: Mapping[str, Json]
    created_at: str | None
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything one write changes, all or nothing, and what its caller is told."""

    puts: tuple[Put, ...] = ()
    observations: tuple[Observation, ...] = ()
    links: tuple[Link, ...] = ()
    vectors: tuple[Vector, ...] = ()
    entries: tuple[Entry, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    after: Memory | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """Nothing stands against the draft: store it."""


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


Verdict: TypeAlias = Keep | Merge | Repeat | Refuse


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


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked answer: the memory, its relevance 0-1 and the parts of that score."""

    memory: Memory
    score: float
    parts: Mapping[str, float]

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


class Page(list[Memory]):
    """Part of a listing; `cursor` asks for the rest and is None at the end."""

    def __init__(self, memories: Iterable[Memory] = (), cursor: str | None = None) -> None:
        super().__init__(memories)
        self.cursor = cursor


@dataclass(frozen=True, slots=True)
class Head:
    """Where a namespace stands: its counter and the end of its chain."""

    namespace: str
    seq: int
    position: int
    hash: bytes
    recorded_at: datetime


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
