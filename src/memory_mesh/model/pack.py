"""What goes into a prompt: a pack of memories under a budget, its record, and a profile."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import dataclass
from memory_mesh.model.hit import Explanation
from memory_mesh.model.memory import Json, Memory, Scope, SourceKind


class Section(StrEnum):
    """Why a memory is in a pack."""

    PINNED = "pinned"
    PROFILE = "profile"  # without a question: a role, preference, decision or convention
    LESSON = "lesson"
    FOUND = "found"  # by the search
    LINKED = "linked"  # to one that was found
    NEWER = "newer"  # seems to update one that was found
    OLDER = "older"  # seems to be updated by one in the pack
    RECENT = "recent"  # without a question: the newest
    USED = "used"  # without a question: the most used


class LeftOutBy(StrEnum):
    """What kept a memory out of a pack."""

    BUDGET = "budget"
    REDUNDANT = "redundant"  # another memory of the pack says the same
    SHARE = "share"  # pinned memories and lessons have their share of the budget
    OLDER = "older"  # a newer statement is in the pack, and there was no room for both
    RELEVANCE = "relevance"  # below the floor
    COUNT = "count"  # the caller's limit of memories
    GIVEN = "given"  # the reader has it already
    ORPHANED = "orphaned"  # the code that it cites is gone


@dataclass(frozen=True, slots=True)
class PackItem:
    """One memory in a pack: where it stands, at how many tokens, and why."""

    memory: Memory
    section: Section
    tokens: int
    score: float | None = None  # None without a question
    because: str | None = None  # the id of the memory that brought it along
    newer: str | None = None  # of an older statement: the id of what seems to update it
    cut: bool = False  # only a part of its text is shown

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    def as_json(self) -> dict[str, Json]:
        """It as JSON values, with the memory's text."""
        return {
            "id": self.id,
            "section": self.section.value,
            "tokens": self.tokens,
            "score": self.score,
            "because": self.because,
            "newer": self.newer,
            "cut": self.cut,
            "content": self.memory.text,
        }


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that was considered for a pack and is not in it."""

    id: str
    by: LeftOutBy
    tokens: int
    score: float | None = None
    because: str | None = None  # the id of the memory that says the same, or that is newer

    def as_json(self) -> dict[str, Json]:
        """It as JSON values."""
        return {
            "id": self.id,
            "by": self.by.value,
            "tokens": self.tokens,
            "score": self.score,
            "because": self.because,
        }


@dataclass(frozen=True, slots=True)
class Pack:
    """Memories for a prompt, rendered, never above its budget."""

    text: str  # empty if there is nothing to say
    tokens: int  # of the text
    max_tokens: int
    items: tuple[PackItem, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    format: str = "markdown"
    fence: str = ""  # the word that opens and closes the data
    counted_by: str = "estimate"  # what counted the tokens
    injection_id: str | None = None  # None if nothing was recorded
    explanation: Explanation | None = None  # of the search; None without a question

    def __str__(self) -> str:
        """The text for the prompt."""
        return self.text

    def __bool__(self) -> bool:
        """False if there is nothing to say."""
        return bool(self.items)

    def __iter__(self) -> Iterator[PackItem]:
        """The memories in their order."""
        return iter(self.items)

    def __len__(self) -> int:
        """How many memories are in it."""
        return len(self.items)

    def as_json(self) -> dict[str, Json]:
        """It as JSON values."""
        return {
            "text": self.text,
            "tokens": self.tokens,
            "max_tokens": self.max_tokens,
            "format": self.format,
            "fence": self.fence,
            "counted_by": self.counted_by,
            "injection_id": self.injection_id,
            "items": [item.as_json() for item in self.items],
            "left_out": [one.as_json() for one in self.left_out],
        }


@dataclass(frozen=True, slots=True)
class Injected:
    """One memory that entered a prompt: which version, where, at how many tokens."""

    memory: str
    recorded: datetime  # when the version that was shown had been recorded
    section: str
    tokens: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Injection:
    """That memories entered a prompt: which, when, for whom, at how many tokens."""

    id: str
    at: datetime
    reader: Scope
    question: str
    format: str
    fence: str
    tokens: int
    max_tokens: int
    memories: tuple[Injected, ...] = ()
    agent: str | None = None  # as blocks name it


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a memory was worth in the latest prompts: how often it was told, and what came of it."""

    memory: Memory  # with its votes
    told: int  # times
    tokens: int  # that it cost in all
    corrected: int  # times that somebody stated otherwise soon after it was told
    last: datetime  # when it was told last
    for_nothing: bool  # it was voted down or corrected, and never voted for

    def __str__(self) -> str:
        """The counts as a sentence."""
        votes = f"voted helpful {self.memory.helpful} and harmful {self.memory.harmful} times"
        told = f"told {self.told} times for {self.tokens} tokens"
        return f"{told}, {votes}, corrected soon after {self.corrected} times"


class ProfileKind(StrEnum):
    """What a line of a profile is, in the order in which they are shown."""

    PINNED = "pinned"  # and none of the others
    ROLE = "role"  # who the user is, where they work and live
    PREFERENCE = "preference"
    DECISION = "decision"  # that stands
    CONVENTION = "convention"  # what the project does and uses


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """What one memory says of a user or a project, in its own words."""

    memory: Memory
    kind: ProfileKind
    of: str  # user or project
    text: str  # on one line; a long one is cut

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    def __str__(self) -> str:
        """The line, with who said it and what it is worth where that is not the user."""
        by = f", {self.memory.speaker}" if self.memory.speaker else ""
        kind = self.memory.source.kind
        own = kind in {SourceKind.USER_EXPLICIT, SourceKind.USER_IMPLICIT}
        return f"{self.kind}{by}: {self.text}{'' if own else f' (trust: {kind})'}"


@dataclass(frozen=True, slots=True)
class StandingProfile:
    """The short, stable part of what is known of a user and a project, never above its budget."""

    lines: tuple[ProfileLine, ...] = ()
    tokens: int = 0  # of the text
    max_tokens: int = 0
    left_out: int = 0  # lines that did not fit, of those that were looked at

    def __str__(self) -> str:
        """A line for each memory."""
        return "\n".join(map(str, self.lines))

    def __iter__(self) -> Iterator[ProfileLine]:
        """The lines in their order."""
        return iter(self.lines)

    def __len__(self) -> int:
        """How many lines it has."""
        return len(self.lines)
