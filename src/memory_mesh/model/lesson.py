"""A lesson, and how severe its failure was."""

from enum import StrEnum

from memory_mesh.fastdataclass import dataclass


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
