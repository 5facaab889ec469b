"""What is known how to do: a skill, how far it can be relied on, and how it is looked for."""

from collections.abc import Mapping
from datetime import datetime

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model.memory import Json, Scope, Source, Status
from memory_mesh.model.times import iso


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A named procedure. Only an active one is found; a quarantined one is staged for review."""

    id: str
    name: str
    intent: str
    text: str
    description: str = ""
    tags: tuple[str, ...] = ()
    scope: Scope = Scope()
    source: Source = Source()
    status: Status = Status.ACTIVE
    reliability: float = 0.5
    uses: int = 0
    last_used: datetime | None = None
    created: datetime
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def created_at(self) -> str:
        """When it was first recorded, as ISO 8601."""
        return iso(self.created)

    @property
    def yamo_text(self) -> str:
        """The definition, under RFC-0011's name."""
        return self.text

    @property
    def metadata(self) -> dict[str, Json]:
        """RFC-0011 section 2.4's metadata object."""
        return skill_metadata(self)


@dataclass(frozen=True, slots=True)
class SkillOrigin:
    """What a skill brings along from the store it was first kept in."""

    id: str
    created: datetime
    reliability: float = 0.5
    uses: int = 0
    last_used: datetime | None = None


@dataclass(frozen=True, slots=True)
class SkillHit:
    """One ranked skill: its score 0-1 and the parts of it."""

    skill: Skill
    score: float
    parts: Mapping[str, float]

    @property
    def id(self) -> str:
        """The skill's id."""
        return self.skill.id

    @property
    def name(self) -> str:
        """The skill's name."""
        return self.skill.name


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill found by its words or its vector, before it is scored."""

    skill: Skill
    terms: tuple[str, str, str, str]
    cosine: float | None = None
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class SkillReceipt:
    """What became of a skill that was handed in, and why."""

    skill: Skill
    outcome: str  # stored, merged or staged
    reasons: tuple[str, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)  # values replaced, by kind

    @property
    def id(self) -> str:
        """The skill's id."""
        return self.skill.id


@dataclass(frozen=True, slots=True)
class Reliability:
    """A skill's reliability after one more use."""

    id: str
    reliability: float
    uses: int
    before: float


@dataclass(frozen=True, slots=True)
class Pruned:
    """The skills that were archived because their reliability was below the threshold."""

    threshold: float
    archived: tuple[str, ...]
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """A skill handed in: its text, what is said about it, for whom and from where."""

    text: str
    metadata: Mapping[str, Json]
    scope: Scope
    source: Source
    sources: tuple[str, ...] = ()  # memories it was synthesized from
    staged: bool = False
    watched: bool = False  # from a folder looked at again and again: what was archived stays so
    origin: SkillOrigin | None = None  # of what comes from another store


def skill_metadata(skill: Skill) -> dict[str, Json]:
    """RFC-0011 2.4's metadata object of a skill, and whatever else was given with it."""
    known: dict[str, Json] = {
        "reliability": skill.reliability,
        "use_count": skill.uses,
        "last_used": None if skill.last_used is None else iso(skill.last_used),
        "created_at": skill.created_at,
        "status": skill.status.value,
        "tags": list(skill.tags),
        "description": skill.description,
        "source_file": skill.source.ref,
    }
    return dict(skill.extra) | {key: value for key, value in known.items() if value is not None}
