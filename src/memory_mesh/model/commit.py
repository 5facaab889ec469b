"""What a write is made of: wordings, vectors, the verdict, the commit, its blocks and receipt."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import TypeAlias, dataclass, field
from memory_mesh.model.block import Entry
from memory_mesh.model.memory import (
    Conflict,
    Json,
    Memory,
    Outcome,
    PredicateSchema,
    Resolution,
    Scope,
    Source,
    Status,
)
from memory_mesh.model.query import Space, Span, TextVectors
from memory_mesh.model.skill import Skill
from memory_mesh.model.times import iso

# A change that waits for a person's decision.


class ProposedVerb(StrEnum):
    """What a proposal would do to its memory."""

    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change of a memory that its writer may not make alone: who asks for what, when and why."""

    id: str
    verb: ProposedVerb
    memory: str  # the id of the memory that would change
    change: Mapping[str, Json]  # what the memory would say, by field; empty for a delete
    reason: str
    source: Source
    created: datetime
    decided_at: datetime | None = None
    approved: bool | None = None
    why: str | None = None  # the reason of the decision

    @property
    def pending(self) -> bool:
        """True while nobody has decided."""
        return self.decided_at is None

    @property
    def created_at(self) -> str:
        """When it was proposed, as ISO 8601."""
        return iso(self.created)


SIMILAR = "similar"  # the type of the links that are made by themselves
MAX_LINKS = 1_000  # that one read returns where no other limit is given


@dataclass(frozen=True, slots=True)
class Wording:
    """A text made ready for the ledger: its hash, its keyword terms, its vectors if there are."""

    text: str
    hash: bytes
    terms: str
    echo: bytes = b""  # of the text without case, spacing and punctuation
    space: "Space | None" = None
    vectors: tuple[bytes, ...] = ()
    spans: "tuple[Span | None, ...]" = ()  # where in the text each vector's part lies
    redacted: Mapping[str, int] = field(default_factory=dict)  # values replaced in it, by kind
    left_out: tuple[str, ...] = ()  # why the scrubber left out a part, one entry for each
    pending: str | None = None  # why it has no vector although there is an embedder


@dataclass(frozen=True, slots=True)
class Put:
    """A new version of a memory, the first one or a later one; no wording keeps the text."""

    memory: Memory
    wording: Wording | None
    reasons: tuple[str, ...] = ()  # why the memory is as it is from now on


@dataclass(frozen=True, slots=True)
class Observation:
    """That a text came in once more: from whom, under which key, with which result."""

    memory: str
    hash: bytes
    outcome: Outcome
    origin: str
    key: str | None = None
    reasons: tuple[str, ...] = ()  # why it ended so


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge between two memories; equal to any other of the same type between them."""

    source: str
    target: str
    type: str
    similarity: float | None = None  # of type similar: the cosine of the two texts
    at: datetime | None = None  # when it was made; None before it is stored

    def __eq__(self, other: object) -> bool:
        """True for the same memories and the same type."""
        return isinstance(other, Link) and self.ends == other.ends

    def __hash__(self) -> int:
        """Of the memories and the type."""
        return hash(self.ends)

    @property
    def ends(self) -> tuple[str, str, str]:
        """Source, target and type: what tells links apart."""
        return self.source, self.target, self.type


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a write needs to read inside its transaction before it decides."""

    twins: tuple[tuple[bytes, Scope], ...] = ()
    keys: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    patterns: tuple[tuple[str, Scope], ...] = ()
    skills: tuple[str, ...] = ()  # ids
    skill_names: tuple[tuple[str, Scope], ...] = ()
    claims: tuple[tuple[str, str, Scope], ...] = ()  # subject, predicate, audience
    echoes: tuple[bytes, ...] = ()
    conflicts: tuple[str, ...] = ()
    proposals: tuple[str, ...] = ()  # ids
    states: tuple[str, ...] = ()  # names
    space: Space | None = None  # whose waiting texts are counted


@dataclass(frozen=True, slots=True)
class Seen:
    """An earlier observation under an idempotency key."""

    hash: bytes
    outcome: Outcome
    memory: Memory


@dataclass(frozen=True, slots=True)
class Sought:
    """What to erase: memories by id, by where they come from, or by whom they are about.

    What expired goes alone: others with the same words, and what was made of it, have their own
    time.
    """

    ids: tuple[str, ...] = ()
    source: str | None = None  # a file, page or agent
    subject: str | None = None  # of claims, or who spoke
    ended: str | None = None  # of these ids only what expired before this moment


@dataclass(frozen=True, slots=True)
class Erasing:
    """What one erasure takes: what was asked for, what says the same, what was made of either."""

    asked: tuple[str, ...] = ()
    same: tuple[str, ...] = ()  # the same words, whoever sees them
    derived: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)  # rows, by table

    @property
    def ids(self) -> tuple[str, ...]:
        """Every memory."""
        return (*self.asked, *self.same, *self.derived)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the ledger holds, at the moment of decision, that bears on a write."""

    at: datetime
    twins: Mapping[tuple[bytes, Scope], Sequence[Memory]]
    keys: Mapping[str, Seen]
    memories: Mapping[str, Memory]
    taken: Callable[[str], bool]
    history: Callable[[str], Sequence[Memory]]
    lessons: Mapping[tuple[str, Scope], Sequence[Memory]] = field(default_factory=dict)
    skills: Mapping[str, Skill] = field(default_factory=dict)
    skill_names: Mapping[tuple[str, Scope], Skill] = field(default_factory=dict)
    claims: Mapping[tuple[str, str, Scope], Sequence[Memory]] = field(default_factory=dict)
    schemas: Mapping[str, PredicateSchema] = field(default_factory=dict)
    tombstoned: Callable[[bytes], bool] | None = None  # None where nothing was ever rejected
    claimed: "Callable[[Wanted], Standing] | None" = None  # the same for further claims
    guessed: "Callable[[Sequence[str]], Sequence[Conflict]] | None" = None  # by memory
    echoes: Mapping[bytes, Sequence[Memory]] = field(default_factory=dict)
    conflicts: Mapping[str, Conflict] = field(default_factory=dict)
    proposals: Mapping[str, Proposal] = field(default_factory=dict)
    proposed: Callable[[str], Sequence[Proposal]] | None = (
        None  # of a memory: waiting, then decided
    )
    states: Mapping[str, str] = field(default_factory=dict)
    waiting: int = 0  # texts without a vector in the space that was asked for
    erasing: Callable[[Sought], Erasing] = lambda _: Erasing()  # what an erasure would take
    remains: Callable[[Erasing], Sequence[bytes]] = lambda _: ()  # of which no byte may stay


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one write, and why; a refused one has no id and is no exception."""

    id: str | None
    content: str
    metadata: Mapping[str, Json]
    created: datetime | None
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    newer_than: tuple[str, ...] = ()  # memories that it seems to update; both stay
    conflicts: tuple[str, ...] = ()
    for_review: tuple[str, ...] = ()  # memories and conflicts that now wait for a decision
    merged_into: str | None = None  # the memory that holds the same
    added: tuple[str, ...] = ()  # tags and metadata keys that a merge added to that memory
    redacted: Mapping[str, int] = field(default_factory=dict)  # values replaced, by kind
    vector_pending: str | None = None  # why the vector is missing although there is an embedder
    words: Mapping[str, str] = field(default_factory=dict)  # first words of memories named here
    again: bool = False  # this very write was answered before, and nothing was written now
    block_id: str | None = None  # of the block that records it; None if nothing was written

    @classmethod
    def of(cls, memory: Memory, outcome: Outcome, *reasons: str) -> "Receipt":
        """A receipt with the memory's own fields and these reasons."""
        return cls(memory.id, memory.text, memory.metadata, memory.created, outcome, reasons)

    @classmethod
    def not_read(cls, reason: str) -> "Receipt":
        """A receipt of an item that is no valid draft: nothing of it was stored or recorded."""
        return cls(None, "", {}, None, Outcome.REFUSED, (reason,))

    @property
    def created_at(self) -> str | None:
        """When the memory was first recorded, as ISO 8601; None for a refused one."""
        return None if self.created is None else iso(self.created)


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything one write changes, all or nothing, and what its caller is told."""

    puts: tuple[Put, ...] = ()
    observations: tuple[Observation, ...] = ()
    links: tuple[Link, ...] = ()
    vectors: tuple[TextVectors, ...] = ()
    entries: tuple[Entry, ...] = ()
    receipts: tuple[Receipt, ...] = ()
    after: Memory | None = None
    skills: tuple["SkillPut", ...] = ()
    skill_vectors: tuple["SkillVector", ...] = ()
    conflicts: tuple[Conflict, ...] = ()  # new ones, and known ones with their resolution
    schemas: Mapping[str, PredicateSchema] = field(default_factory=dict)
    tombstones: tuple[tuple[bytes, str], ...] = ()  # a value that must not come back, and why
    forgiven: tuple[bytes, ...] = ()  # tombstones that are taken away again
    reread: tuple[str, ...] = ()  # memories whose text changed: what was guessed from it lapses
    counted: tuple[Memory, ...] = ()  # memories whose votes changed, with their counters
    terms: "Terms | None" = None
    unlinked: tuple[Link, ...] = ()  # links that are taken away
    relinked: tuple[str, ...] = ()  # memories whose similar links are found anew: the old ones go
    proposals: tuple[Proposal, ...] = ()  # new ones, and known ones with their decision
    states: Mapping[str, str | None] = field(default_factory=dict)  # None removes a value
    dropped: tuple[str, int] | None = None  # a space, and how many of its texts lose their vectors
    erased: Erasing | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """Keyword terms written anew, by number: all texts, or skills, from `first` to `last`."""

    of: str  # text or skill
    first: int
    last: int
    fields: Mapping[int, tuple[str, ...]]  # a text has one, a skill four


@dataclass(frozen=True, slots=True)
class SkillPut:
    """A skill as it is from now on; the terms of its four fields find it while it is active."""

    skill: Skill
    terms: tuple[str, str, str, str] | None = None  # None keeps those it has
    space: Space | None = None
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class SkillVector:
    """A skill's vector that comes late."""

    skill: str
    space: Space
    vector: bytes


# What the judge may decide of a draft.


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
