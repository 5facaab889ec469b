"""Audit blocks, the head of the chain and what checking it found."""

from collections.abc import Mapping
from datetime import datetime

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model.memory import BlockOperation, Json, Outcome


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A block before it is sealed into the chain."""

    id: str
    operation: BlockOperation
    agent: str | None
    at: datetime
    memories: tuple[str, ...]
    wire: str | None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """That a text came in: when, from whom, how it ended and why."""

    at: datetime
    outcome: Outcome
    origin: str
    reasons: tuple[str, ...] = ()


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
