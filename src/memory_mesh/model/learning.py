"""What is learned: lessons, distillations, reflections and synthesized skills."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model.commit import Receipt
from memory_mesh.model.memory import Json, Kind, Memory, Scope, Severity, SourceKind, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What some memories say together; without a text nothing was found and nothing is stored.

    `prompt` asks a language model for the same, over the same memories.
    """

    topic: str | None
    count: int  # memories looked at
    text: str = ""
    sources: tuple[str, ...] = ()
    confidence: float = 0.0
    id: str | None = None  # of the stored reflection
    by_llm: bool = False
    failure: str | None = None  # why the language model's answer was not taken
    prompt: str = ""
    context: tuple[Memory, ...] = ()

    @property
    def stored(self) -> bool:
        """True when it is kept as a memory."""
        return self.id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """A skill made from memories and staged for review, or why there is none."""

    status: str  # staged or nothing
    analysis: str
    count: int = 0  # memories looked at
    skill_id: str | None = None
    skill_name: str | None = None
    yamo_text: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonContext:
    """A failure and what follows from it (RFC-0011 section 4.2)."""

    situation: str
    error_pattern: str
    oversight: str
    fix: str
    preventative_rule: str
    severity: Severity | str
    applicable_scope: str
    inverse_lesson: str | None = None
    confidence: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonBlock:
    """A stored lesson with its wire text; only an active one is a constraint."""

    lesson_id: str
    pattern_id: str
    severity: str
    preventative_rule: str
    rule_confidence: float
    applicable_scope: str
    wire_format: str
    memory_id: str
    status: Status = Status.ACTIVE
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class ActionWarning:
    """A lesson that a command or an edit would repeat; an enforced one forbids it."""

    memory_id: str
    text: str
    enforced: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Memories of one failure, read as a lesson that could be taught."""

    context: LessonContext
    scope: Scope
    trust: SourceKind
    sources: tuple[str, ...]
    stated: bool = True  # the pattern was stated, not read from a text


@dataclass(frozen=True, slots=True)
class Distillation:
    """What a cycle looked at, taught and left; `unclear` failures have no rule anybody stated."""

    scanned: int
    learned: tuple[LessonBlock, ...] = ()
    known: tuple[LessonBlock, ...] = ()
    unclear: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()


# What a conversation tells, found by rules or by a language model.


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one participant of a conversation wrote at a time."""

    role: str  # user, assistant, or another that nothing is learned from
    text: str
    speaker: str | None = None  # the name of who wrote it


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFact:
    """A fact that a turn states, with the words that state it and why it is worth keeping."""

    text: str
    kind: Kind
    importance: float
    reason: str
    quote: str
    turn: int  # its number in the conversation, from 0
    role: str
    span: tuple[int, int] | None = None  # of the quote in the redacted turn
    speaker: str | None = None
    subject: str | None = None  # who or what it is about, if not the speaker
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One call of a language model, and what it cost."""

    at: datetime
    task: str
    input_tokens: int
    output_tokens: int
    seconds: float
    outcome: str  # answered, failed, or asked while no answer is known
    cost: float | None = None  # in the service's money, where it says so


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRules:
    """What to take from a conversation, and how to store it."""

    roles: tuple[str, ...] = ("user",)
    min_importance: float = 0.4
    ref: str | None = None  # where the conversation stands
    agent: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    with_triggers: bool = False  # made of the facts' tags, else of their title
    quarantine: str | None = None  # why what is found waits for review


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a conversation told, what of it was stored, and what was left out and why."""

    facts: tuple[ExtractedFact, ...] = ()
    receipts: tuple[Receipt, ...] = ()  # one for each fact, if they were to be stored
    dropped: tuple[tuple[str, str], ...] = ()  # a text, and the reason against it
    by_llm: bool = False
    failure: str | None = None  # why no model answered, or its answer was not taken
    waiting: int = 0  # messages that are tried again
    batches: tuple[tuple[str, str], ...] = ()  # what waits: its id; why, and its first words
    calls: tuple[ModelCall, ...] = ()
    tokens_today: int = 0  # that models were asked and answered in this namespace


# An experience: one entry of the system memory's log, in the words of specification 002.


class FinalOutcome(StrEnum):
    """How an execution ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    RECOVERED = "success_with_recovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What one execution left in the log; times are kept to the millisecond."""

    number: int
    project_name: str
    primary_goal: str
    final_outcome: FinalOutcome
    components_used: tuple[str, ...] = ()
    files_created: int = 0
    output_summary: str = ""
    execution_time_ms: int = 0
    learnings_or_issues: str = ""
    timestamp: datetime

    @property
    def experience_id(self) -> str:
        """The id as the log writes it."""
        return f"exp_{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceSummary:
    """What all experiences say together: figures, no texts."""

    entries: int
    projects: int
    outcomes: Mapping[str, Mapping[str, int]]  # executions by kind of task and outcome
    components: Mapping[str, int]  # executions that used an agent or tool, the most used first
    files_created: int
    execution_time_ms: int
