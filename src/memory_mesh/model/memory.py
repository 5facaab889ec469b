"""What is kept: a memory, its claim and circumstances, and the draft it came from.

A claim is what can contradict.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import TypeAlias, dataclass, field
from memory_mesh.model.errors import InvalidInput
from memory_mesh.model.times import iso

_LESSON_KEYS = {
    "id": "lesson_id",
    "pattern_id": "lesson_pattern_id",
    "error_pattern": "error_pattern",
    "applies_to": "applicability_scope",
    "severity": "severity",
    "rule": "preventative_rule",
    "confidence": "rule_confidence",
    "situation": "original_context",
    "oversight": "oversight_description",
    "fix": "resolution",
    "inverse": "inverse_lesson",
    "agent": "lesson_agent",
}
KEYS = frozenset(_LESSON_KEYS.values())


class Severity(StrEnum):
    """How bad it is to do again what a lesson warns of, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a memory of kind lesson teaches: a rule, when it applies, and the failure behind it."""

    id: str
    pattern_id: str
    error_pattern: str
    applies_to: str
    severity: Severity
    rule: str
    confidence: float
    situation: str
    oversight: str
    fix: str
    inverse: str | None = None
    agent: str = ""


_WORST_FIRST = tuple(Severity)


def lesson_json(lesson: Lesson) -> "dict[str, Json]":
    """The lesson under the names of its block's lines."""
    plain = {key: getattr(lesson, name) for name, key in _LESSON_KEYS.items()}
    return {key: value for key, value in plain.items() if value not in {None, ""}}


def read_lesson(plain: "Mapping[str, Json]") -> Lesson:
    """A lesson as `lesson_json` wrote it."""
    given: dict[str, str] = {name: str(plain.get(key, "")) for name, key in _LESSON_KEYS.items()}
    confidence, severity = plain["rule_confidence"], Severity(given.pop("severity"))
    given.pop("confidence")
    inverse = given.pop("inverse") or None
    if not isinstance(confidence, int | float):
        raise TypeError("rule_confidence is not a number")
    return Lesson(severity=severity, confidence=float(confidence), inverse=inverse, **given)


def severity_rank(severity: Severity) -> int:
    """0 for low up to 3 for critical, so that a store can order by it."""
    return len(_WORST_FIRST) - 1 - _WORST_FIRST.index(severity)


BY_RULE = "by rule"  # why a conflict ended that nobody was asked about
TURNED = "the older one was said again"
LAPSED = "the text was changed"  # why a guess no longer holds
UNDONE = "the decision was undone"
NO_DECISION = frozenset({BY_RULE, TURNED, LAPSED, UNDONE})  # why both are kept without a person
# What a profile is made of, in the words and the order of the index version_standing.
OF_ROLE = ("name", "is a", "work for", "live in", "speak", "allergic to")
PREFERRED = ("prefer", "like", "love", "dislike", "hate", "avoid", "eat", "drink")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who or what, which property, which value: the only thing that can conflict.

    `read` was derived from a text, not stated; one that is not `certain` is only good for pointing
    at a possible conflict. `replaces` is the old value where the text names it.
    """

    subject: str
    predicate: str
    value: str
    exclusive: bool = True
    certain: bool = True
    replaces: str | None = None
    read: bool = False


class Cardinality(StrEnum):
    """Whether a subject can have several values of a predicate at once."""

    SINGLE = "single"
    MULTI = "multi"


class ConflictPolicy(StrEnum):
    """What becomes of two values where there can be one."""

    SUPERSEDE = "supersede"
    REQUIRE_REVIEW = "require_review"
    KEEP_BOTH = "keep_both"


class DedupPolicy(StrEnum):
    """What becomes of a value that is known."""

    CORROBORATE = "corroborate"
    STORE = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateSchema:
    """How the values of one predicate behave; the defaults are those of an unregistered one."""

    cardinality: Cardinality = Cardinality.SINGLE
    conflict_policy: ConflictPolicy = ConflictPolicy.SUPERSEDE
    normalize: str = "none"
    dedup_policy: DedupPolicy = DedupPolicy.CORROBORATE


class Resolution(StrEnum):
    """How a conflict ended; a pending one has none."""

    SUPERSEDE = "supersede"
    REJECT = "reject"
    KEEP_BOTH = "keep_both"
    NEWER_THAN = "newer_than"  # a guess: both stay, and the newer stands above the older


DECISIONS = (Resolution.SUPERSEDE, Resolution.REJECT, Resolution.KEEP_BOTH)  # of a person


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories that cannot both be true, and what was decided of them."""

    id: str
    new: str
    existing: str
    new_trust: float
    existing_trust: float
    reason: str
    created: datetime
    resolved_at: datetime | None = None
    resolution: Resolution | None = None
    why: str | None = None

    @property
    def created_at(self) -> str:
        """When it was first recorded, as ISO 8601."""
        return iso(self.created)

    @property
    def pending(self) -> bool:
        """Nobody has decided yet."""
        return self.resolution is None

    @property
    def by_rule(self) -> bool:
        """A rule decided, or proposes, and nobody was asked."""
        return self.why == BY_RULE

    @property
    def is_guess(self) -> bool:
        """The claims were read from texts; the two memories are ordered and both stay."""
        return self.by_rule and self.resolution in {None, Resolution.NEWER_THAN}


_HERITAGE_KEYS = {"intents": "intentChain", "hypotheses": "hypotheses", "rationales": "rationales"}
_MOST_CUT = 1_000_000
_SPELLINGS = {"intent_chain": "intentChain", "intents": "intentChain"}

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


class BlockOperation(StrEnum):
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
        return metadata_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(Statement):
    """What a caller hands in, before any stage."""

    key: str | None = None
    allow_duplicate: bool = False
    derived_from: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()  # ids of earlier versions, replaced where its channel may
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
    kept: "PriorState | None" = None  # of a store of the same user


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorState:
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
    other_steps: int = 0  # steps that channels other than the user's took

    @property
    def created_at(self) -> str:
        """When it was first recorded, as ISO 8601."""
        return iso(self.created)

    @property
    def deleted_since(self) -> bool:
        """True for a memory of the past that was deleted later."""
        return self.status_today is Status.DELETED and self.status is not Status.DELETED


def memory_type(statement: Statement) -> str:
    """RFC-0011 1.2's type, as a view over kind and audience."""
    if statement.kind in {Kind.LESSON, Kind.REFLECTION}:
        return statement.kind.value
    if statement.scope.session is not None:
        return "session"
    return "global" if statement.scope.agent is None else "agent"


def shown_type(statement: Statement) -> str:
    """The word a person reads: the one the writer gave, else RFC-0011's type, else project."""
    known = statement.label or memory_type(statement)
    return "project" if known == "global" and statement.scope.project is not None else known


def shown_source(statement: Statement) -> str:
    """Who said it, or where it was read."""
    return statement.source.agent or statement.source.ref or "unknown"


def heritage_json(heritage: Heritage) -> dict[str, Json]:
    """The three lists; `cut` says how many older links were left out."""
    plain: dict[str, Json] = {
        key: list(getattr(heritage, name)) for name, key in _HERITAGE_KEYS.items()
    }
    return plain | ({"cut": heritage.cut} if heritage.cut else {})


def read_heritage(plain: Mapping[str, Json]) -> Heritage:
    """A chain from its JSON or from what a caller gave; InvalidInput names what is wrong."""
    given = {_SPELLINGS.get(key, key): value for key, value in plain.items()}
    unknown = given.keys() - {*_HERITAGE_KEYS.values(), "cut"}
    if unknown:
        raise InvalidInput(
            f"a heritage chain has intentChain, hypotheses and rationales, not {min(unknown)}"
        )
    cut = given.get("cut", 0)
    return Heritage(
        **{name: _heritage_texts(key, given.get(key, ())) for name, key in _HERITAGE_KEYS.items()},
        cut=cut if type(cut) is int and 0 <= cut < _MOST_CUT else 0,
    )


def _heritage_texts(key: str, value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{key} of a heritage chain must be a list of texts")
    if not all(isinstance(item, str) for item in value):
        raise InvalidInput(f"{key} of a heritage chain must hold texts only")
    return tuple(str(item) for item in value)


def metadata_of(statement: Statement) -> dict[str, Json]:
    """RFC-0011 2.1's metadata object: all that was given, and what a lesson and heritage say."""
    views: dict[str, Json] = {}
    if statement.lesson is not None:
        views |= lesson_json(statement.lesson)
    if statement.heritage is not None:
        views["heritage_chain"] = heritage_json(statement.heritage)
    if statement.skill is not None:
        views["source_skill_id"] = statement.skill
    return given_metadata(statement) | views


def given_metadata(statement: Statement) -> dict[str, Json]:
    """What its writer said in metadata: promoted fields, and the rest as it came."""
    promoted: dict[str, Json] = {
        "type": statement.label,
        "source": statement.source.agent,
        "tags": list(statement.tags) or None,
        "session_id": statement.scope.session,
        "importance_score": None if "importance" in statement.extra else statement.importance,
    }
    given = {key: value for key, value in promoted.items() if value is not None}
    return given | dict(statement.extra)


# What a store knows of the project that a folder belongs to.


@dataclass(frozen=True, slots=True)
class Project:
    """A project by its name, how the name was found, and the other names that it reads."""

    name: str
    how: str  # set (git's configuration), remote, root, path, or folder (set in this store)
    place: str  # the folder that it was found at
    former: tuple[str, ...] = ()  # earlier names; what is stored under them is its own
    merged: tuple[str, ...] = ()  # other projects whose memories it reads
    others: tuple[str, ...] = ()  # the names of its other remotes, such as what it is a fork of

    @property
    def is_named_by_a_neighbour(self) -> bool:
        """True if its remote is on this machine and gave it its own root commit or path."""
        return self.how == "remote" and self.name.startswith(("commit:", "/"))
