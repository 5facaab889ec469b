"""What can contradict: a claim, how its predicate behaves, and a contradiction on record."""

from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import dataclass
from memory_mesh.model.times import iso

BY_RULE = "by rule"  # why a conflict ended that nobody was asked about
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
