"""What lessons are taught with and answered as, in RFC-0011's words."""

from memory_mesh.model.memories import Scope, Severity, SourceKind, Status
from memory_mesh.values import dataclass


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
class Failure:
    """Memories of one failure, read as a lesson that could be taught."""

    context: LessonContext
    scope: Scope
    trust: SourceKind
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Distillation:
    """What a cycle looked at, taught and left; `unclear` failures have no rule anybody stated."""

    scanned: int
    learned: tuple[LessonBlock, ...] = ()
    known: tuple[LessonBlock, ...] = ()
    unclear: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
