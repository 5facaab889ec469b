"""Triggers: what calls a memory up, how a pattern met a text, and what was selected."""

from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum, StrEnum

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model.memory import Json
from memory_mesh.model.times import iso

LEVELS = ("low", "medium", "high", "critical")
_LEAST = {"critical": 0.9, "high": 0.65, "medium": 0.35}


def level_of(importance: float | None) -> str:
    """Returns the word of an importance; medium where none was stated."""
    if importance is None:
        return "medium"
    return next((name for name, least in _LEAST.items() if importance >= least), "low")


class Form(StrEnum):
    """How a pattern, or one alternative of it, is read."""

    PLAIN = "plain"  # found in the text, letter by letter
    WILDCARD = "wildcard"  # a bare * stands for anything
    REGEX = "regex"
    WORDS = "words"  # natural language: found by its key words
    MEANING = "meaning"  # natural language: the text means something similar


class Strength(IntEnum):
    """How well a pattern met a text; the less important a memory is, the more it needs."""

    LOOSE = 1  # inside of a word, only in the plan, or by a pattern that meets every text
    CLOSE = 2  # by meaning, or by more than half of the key words
    MODERATE = 3  # the beginning of a word, or the agent's name
    EXACT = 4  # whole words, or all key words


@dataclass(frozen=True, slots=True)
class TriggerMatch:
    """Which part of a pattern met which part of a text, and how well."""

    pattern: str
    form: Form
    strength: Strength
    found: str  # the part of the text, or the key words that it holds


@dataclass(frozen=True, slots=True)
class MatchContext:
    """What an agent is about to do."""

    task: str
    agent_name: str = ""
    current_plan: str | None = None


@dataclass(frozen=True, slots=True)
class Triggered:
    """A version that has triggers, as a scan of all of them reads it."""

    version: int
    triggers: tuple[str, ...]
    importance: float | None = None

    @property
    def level(self) -> str:
        """The importance in 001's words; medium where none was stated."""
        return level_of(self.importance)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMetadata:
    """What selection looks at: all of a memory that has triggers, but for its text."""

    triggers: tuple[str, ...]
    discovered_at: datetime
    title: str = ""
    tags: tuple[str, ...] = ()
    importance: float | None = None
    discovered_by: str | None = None
    usefulness: float = 1.0
    id: str = ""
    version: int = 0

    @property
    def level(self) -> str:
        """The importance in 001's words; medium where none was stated."""
        return level_of(self.importance)

    @property
    def frontmatter(self) -> dict[str, Json]:
        """The fields under 001's names."""
        return {
            "title": self.title,
            "whenToUse": list(self.triggers),
            "tags": list(self.tags),
            "importance": self.level,
            "discoveredAt": iso(self.discovered_at),
            "discoveredBy": self.discovered_by or "unknown",
        }


@dataclass(frozen=True, slots=True)
class RelevantMemory:
    """A selected memory: its metadata, the points of 001's table and what called it up."""

    memory: MemoryMetadata
    points: int
    parts: Mapping[str, float]
    match: TriggerMatch

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def title(self) -> str:
        """The memory's title."""
        return self.memory.title


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRules:
    """What the specification leaves open of its table: points of a title word and of a tag."""

    per_title_word: int = 5
    per_tag: int = 5
    specialty: frozenset[str] = frozenset()  # tags of the agent's work


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionRules:
    """How memories are selected for one agent."""

    max_memories: int = 5
    min_importance: str = "low"
    min_usefulness: float = 0.0
    min_similarity: float = 0.0  # by which a task meets natural language by meaning; 0: never
    points: PointRules = field(default_factory=PointRules)
