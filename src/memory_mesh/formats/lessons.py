"""A lesson as plain JSON, in RFC-0011's names, and back."""

from collections.abc import Mapping

from memory_mesh.model import Json, Lesson, Severity

_NAMES = {
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
KEYS = frozenset(_NAMES.values())
_WORST_FIRST = tuple(Severity)


def lesson_json(lesson: Lesson) -> dict[str, Json]:
    """The lesson under the names of its block's lines."""
    plain = {key: getattr(lesson, name) for name, key in _NAMES.items()}
    return {key: value for key, value in plain.items() if value not in {None, ""}}


def read_lesson(plain: Mapping[str, Json]) -> Lesson:
    """A lesson as `lesson_json` wrote it."""
    given: dict[str, str] = {name: str(plain.get(key, "")) for name, key in _NAMES.items()}
    confidence, severity = plain["rule_confidence"], Severity(given.pop("severity"))
    given.pop("confidence")
    inverse = given.pop("inverse") or None
    if not isinstance(confidence, int | float):
        message = "rule_confidence is not a number"
        raise TypeError(message)
    return Lesson(severity=severity, confidence=float(confidence), inverse=inverse, **given)


def severity_rank(severity: Severity) -> int:
    """0 for low up to 3 for critical, so that a store can order by it."""
    return len(_WORST_FIRST) - 1 - _WORST_FIRST.index(severity)
