"""A lesson, and how severe its failure was."""

from collections.abc import Mapping
from enum import StrEnum

from memory_mesh.base.typed import TYPE_CHECKING, dataclass

if TYPE_CHECKING:
    from memory_mesh.model.memory import Json

_LESSON_KEYS = {
    "id": "lesson_id",
    "pattern_id": "lesson_pattern_id",
    "error_pattern": "error_pattern",
    "applies_to": "applicability_scope",
    "severity": "severity",
    "rule": "preventative_rule",
    "confidence": "rule_confidence",
    "situation": "original_context",
    "oversight": "oversight_description",
    "fix": "resolution",
    "inverse": "inverse_lesson",
    "agent": "lesson_agent",
}
KEYS = frozenset(_LESSON_KEYS.values())


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


_WORST_FIRST = tuple(Severity)


def lesson_json(lesson: Lesson) -> "dict[str, Json]":
    """The lesson under the names of its block's lines."""
    plain = {key: getattr(lesson, name) for name, key in _LESSON_KEYS.items()}
    return {key: value for key, value in plain.items() if value not in {None, ""}}


def read_lesson(plain: "Mapping[str, Json]") -> Lesson:
    """A lesson as `lesson_json` wrote it."""
    given: dict[str, str] = {name: str(plain.get(key, "")) for name, key in _LESSON_KEYS.items()}
    confidence, severity = plain["rule_confidence"], Severity(given.pop("severity"))
    given.pop("confidence")
    inverse = given.pop("inverse") or None
    if not isinstance(confidence, int | float):
        raise TypeError("rule_confidence is not a number")
    return Lesson(severity=severity, confidence=float(confidence), inverse=inverse, **given)


def severity_rank(severity: Severity) -> int:
    """0 for low up to 3 for critical, so that a store can order by it."""
    return len(_WORST_FIRST) - 1 - _WORST_FIRST.index(severity)
