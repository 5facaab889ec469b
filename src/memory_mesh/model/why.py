"""Why something is as it is: a memory, a block, a place among the hits, a memory in a prompt."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import Any, dataclass, field, fields
from memory_mesh.model.block import Observed
from memory_mesh.model.commit import Link
from memory_mesh.model.hit import Explanation, Hit
from memory_mesh.model.memory import BlockOperation, Conflict, Json, Memory
from memory_mesh.model.pack import Injected, Injection, LeftOut, Pack, PackItem


class Gate(StrEnum):
    """What can keep a memory out of an answer, in the order in which an answer is made."""

    NAMESPACE = "namespace"  # there is no such memory here for who asks
    SCOPE = "scope"  # it is of another project, agent or session than the search
    STATUS = "status"  # it is superseded, archived, expired …, and the search did not ask for that
    VALIDITY = "validity"  # it was not true, or not yet recorded, at the time that is asked about
    FILTER = "filter"  # the filter of the search does not hold for it
    CANDIDATES = "candidates"  # neither words nor meaning nor a trigger brought it up
    LIMIT = "limit"  # enough others rank above it
    THRESHOLD = "threshold"  # its score or its similarity is below what was asked for
    OLDER = "older"  # a newer statement took its place
    PACKED = "packed"  # it is among the hits, and did not get into the pack


@dataclass(frozen=True, slots=True)
class Rank:
    """Where a candidate stands, and what each part added.

    `base` and all `shares` add up to `margin` exactly and in any order: all of them are multiples
    of 2^-40.
    """

    place: int  # 1 is the best; among all candidates where it did not get into the answer
    score: float
    margin: float  # what orders the candidates of the profile
    base: float
    shares: Mapping[str, float] = field(default_factory=dict)
    lifts: Mapping[str, float] = field(default_factory=dict)  # added to the score by other things
    features: Mapping[str, float] = field(default_factory=dict)  # as they were measured
    profile: str = "mesh"
    candidates: int = 0  # how many were weighed
    threshold: float | None = None  # what the score had to reach; None for nothing
    similarity: float | None = None  # of profiles composite and lane


@dataclass(frozen=True, slots=True)
class CheckedMemory:
    """A memory whose cited code is not what it was, and each place that it cites."""

    id: str
    content: str
    verdict: str  # moved, drifted or orphaned
    places: tuple[dict[str, Json], ...] = ()  # each with place, verdict, now and commit
    proposal: str | None = None  # what waits for review because of it
    rejected: bool = False  # a person rejected that proposal

    def as_json(self) -> dict[str, Json]:
        """It as JSON values."""
        return {
            "id": self.id,
            "content": self.content,
            "verdict": self.verdict,
            "places": list(self.places),
            "proposal": self.proposal,
            "rejected": self.rejected,
        }


@dataclass(frozen=True, slots=True)
class Version:
    """One recorded version of a memory, and why it came to be."""

    memory: Memory
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """A block in short: what it records, when, by whom and why; never the words of a memory."""

    id: str
    operation: BlockOperation
    at: datetime
    agent: str | None
    what: str
    reasons: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    position: int | None = None  # in the chain; None for the record of a search
    hash: str | None = None


@dataclass(frozen=True, slots=True)
class Entered:
    """A memory that entered a prompt, as it is today, and what became of it since."""

    injected: Injected
    memory: Memory
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """An answer to a why: the sentences first, and what they say in values."""

    id: str
    subject: str  # memory, block or injection
    sentences: tuple[str, ...]
    question: str | None = None
    gate: Gate | None = None  # the first that kept the memory out; None if it is in
    rank: Rank | None = None
    packed: PackItem | LeftOut | None = None
    found: Explanation | None = None  # how the search was answered
    answer: tuple[Hit, ...] = field(default=(), repr=False)  # the hits that the one who asks sees
    memory: Memory | None = None
    versions: tuple[Version, ...] = ()
    observations: tuple[Observed, ...] = ()
    trust: Mapping[str, float] = field(default_factory=dict)  # its parts, which add up to `trust`
    votes: Mapping[str, float] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    blocks: tuple[BlockSummary, ...] = ()
    chain: tuple[Memory, ...] = ()  # what superseded what, oldest first
    rationale: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by superseded id
    injections: tuple[Injection, ...] = ()
    entered: tuple[Entered, ...] = ()  # of an injection

    def __str__(self) -> str:
        """The sentences, one a line."""
        return "\n".join(self.sentences)

    def as_json(self) -> dict[str, Json]:
        """The same as plain values; what is empty is left out."""
        plain = {
            each.name: plain_value(getattr(self, each.name)) for each in fields(self) if each.repr
        }
        kept = {name: value for name, value in plain.items() if value not in (None, [], {})}
        return {**kept, "gate": plain["gate"]}


def plain_value(value: object) -> Json:
    """A value of ours as JSON: of a memory its record, of another one its fields."""
    from memory_mesh.model import record, times

    if isinstance(value, StrEnum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime):
        return times.iso(value)
    if isinstance(value, Memory):
        return record.record(value) | {"status": value.status.value}
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [plain_value(item) for item in value]
    named: Any = value  # one of the values above
    return {
        each.name: plain_value(getattr(value, each.name)) for each in fields(named) if each.repr
    }


# Which write turned a right answer wrong.


@dataclass(frozen=True, slots=True)
class Culprit:
    """The write that turned a right answer wrong, and what taking it back takes along."""

    block: str  # its id in the audit chain
    what: str  # added, derived, updated, restored, voted …
    at: datetime
    memory: Memory  # as the write left it
    before: Memory | None = None  # as it was before; None if the write made it
    derived: tuple[Memory, ...] = ()  # made of it since
    replaced: tuple[Memory, ...] = ()  # what gave way to it, and comes back


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """What a bisection found: the write, or why there is none; and how far it was asked for."""

    question: str
    told: Pack  # the pack as it was told, or is now
    right: Pack  # the last right one; the same as `told` if there is none
    writes: int  # that came before the prompt
    asked: int = 0  # packs that the judge saw
    culprit: Culprit | None = None
    reason: str | None = None  # why there is none
    between: tuple[Memory, ...] = ()  # without an answer for each: the write is about one of these
    prompt: Injection | None = None  # the record of the prompt; None: the question as it is now
    exact: bool = True  # the rebuilt pack is, word for word, what the record says
    turned_before: bool = False  # it was wrong earlier already, and right in between

    def as_json(self) -> dict[str, Json]:
        """The same as plain values."""
        return {each.name: plain_value(getattr(self, each.name)) for each in fields(self)}
