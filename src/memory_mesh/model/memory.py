"""What is kept: a memory, its circumstances, and the draft it came from."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from memory_mesh.fastdataclass import dataclass, field
from memory_mesh.model.claim import Claim
from memory_mesh.model.lesson import Lesson
from memory_mesh.typed import TypeAlias

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
    EXPIRED = "expired"  # of a session long over: never stored, read from the session's last write


class SourceKind(StrEnum):
    """Where knowledge comes from, from most to least trusted."""

    USER_EXPLICIT = "user_explicit"
    SYSTEM = "system"
    TOOL_OUTPUT = "tool_output"
    USER_IMPLICIT = "user_implicit"
    DOCUMENT = "document"
    INFERENCE = "inference"


class Channel(StrEnum):
    """The channel of a write; set by the surface, never by the payload."""

    LIBRARY = "library"
    CLI = "cli"
    HOOK = "hook"
    TOOL = "tool"
    FILE = "file"
    MIRROR = "mirror"  # a folder of Markdown files that the user set up
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


class VoteKind(StrEnum):
    """What a vote says: whether a memory was of use, or whether it is true."""

    HELPFUL = "helpful"
    HARMFUL = "harmful"
    REINFORCE = "reinforce"
    DISPUTE = "dispute"


class Outcome(StrEnum):
    """What became of a draft."""

    STORED = "stored"
    MERGED = "merged"
    QUARANTINED = "quarantined"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Scope:
    """The audience within a namespace: each part empty (for all) or equal to the reader's.

    A reader's scope also has the further names of its project; they are no part of its value.
    """

    project: str | None = None
    agent: str | None = None
    session: str | None = None
    names: tuple[str, ...] = field(default=(), repr=False, kw_only=True)

    def __eq__(self, other: object) -> bool:
        """True for the same project, agent and session."""
        return isinstance(other, Scope) and self.parts == other.parts

    def __hash__(self) -> int:
        """Of project, agent and session."""
        return hash(self.parts)

    @property
    def parts(self) -> tuple[str | None, str | None, str | None]:
        """Project, agent and session."""
        return self.project, self.agent, self.session


@dataclass(frozen=True, slots=True)
class Source:
    """Who or what a memory came from."""

    kind: SourceKind = SourceKind.USER_IMPLICIT
    channel: Channel = Channel.LIBRARY
    agent: str | None = None
    ref: str | None = None
    stated: bool = True  # False: the kind was read from role, speaker, agent, ref and channel


@dataclass(frozen=True, slots=True)
class Heritage:
    """Why a memory came to be: the newest intents, hypotheses and rationales behind it."""

    intents: tuple[str, ...] = ()
    hypotheses: tuple[str, ...] = ()
    rationales: tuple[str, ...] = ()
    cut: int = 0  # older links that were left out


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
    lesson: Lesson | None = None
    heritage: Heritage | None = None
    skill: str | None = None  # the skill it came from, by id
    claim: Claim | None = None
    triggers: tuple[str, ...] = ()  # patterns that call it up

    @property
    def content(self) -> str:
        """The text, under RFC-0011's name."""
        return self.text

    @property
    def metadata(self) -> dict[str, Json]:
        """RFC-0011's metadata object: the promoted fields and every unknown key as it came."""
        from memory_mesh.model import record

        return record.metadata(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(Statement):
    """What a caller hands in, before any stage."""

    key: str | None = None
    allow_duplicate: bool = False
    derived_from: tuple[str, ...] = ()
    topic: str | None = None  # what a reflection is about
    origin: "Origin | None" = None  # of what comes from another store
    quarantine: str | None = None  # why it should wait for review, whatever else is known
    notes: tuple[str, ...] = ()  # what was stated and could not be taken as it was stated
    keep_active: bool = False  # stay beside a more trusted rival instead of waiting for review


@dataclass(frozen=True, slots=True)
class Origin:
    """What a memory brings along from the store it was first kept in."""

    id: str
    created: datetime
    uses: int = 0
    last_used: datetime | None = None
    kept: "Kept | None" = None  # of a store of the same user


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a memory keeps that comes from a store of the same user: its status and its votes."""

    status: Status = Status.ACTIVE
    successor: str | None = None
    origins: int = 1
    helpful: int = 0
    harmful: int = 0
    usefulness: float = 1.0
    reinforcements: int = 0
    disputes: int = 0
    idle_reinforcements: int = 0
    idle_disputes: int = 0
    other_steps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Statement):
    """One recorded version of a stored memory, with today's counters."""

    id: str
    created: datetime
    status: Status = Status.ACTIVE
    successor: str | None = None
    recorded_from: datetime
    recorded_until: datetime | None = None
    status_today: Status = Status.ACTIVE
    uses: int = 0
    last_used: datetime | None = None
    helpful: int = 0
    harmful: int = 0
    usefulness: float = 1.0
    reinforcements: int = 0
    disputes: int = 0
    origins: int = 1  # distinct ones that said it
    idle_reinforcements: int = 0  # that are counted and do not move its trust
    idle_disputes: int = 0
    other_steps: int = 0  # steps that channels other than the user's took (policy/writing/votes.py)

    @property
    def created_at(self) -> str:
        """When it was first recorded, as ISO 8601."""
        from memory_mesh.model import record

        return record.iso(self.created)

    @property
    def deleted_since(self) -> bool:
        """True for a memory of the past that was deleted later."""
        return self.status_today is Status.DELETED and self.status is not Status.DELETED
