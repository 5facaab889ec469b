"""RFC-0011's JSON of memories, skills, lessons and heritage chains, and back."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.fastdataclass import fields
from memory_mesh.model.commit import Receipt
from memory_mesh.model.hit import Explanation, Hit, ViewName
from memory_mesh.model.lesson import Lesson, Severity
from memory_mesh.model.memory import Heritage, Json, Kind, Memory, Statement
from memory_mesh.model.skill import Skill

_HERITAGE_KEYS = {"intents": "intentChain", "hypotheses": "hypotheses", "rationales": "rationales"}
_MOST_CUT = 1_000_000
_SPELLINGS = {"intent_chain": "intentChain", "intents": "intentChain"}


def heritage_json(heritage: Heritage) -> dict[str, Json]:
    """The three lists; `cut` says how many older links were left out."""
    plain: dict[str, Json] = {
        key: list(getattr(heritage, name)) for name, key in _HERITAGE_KEYS.items()
    }
    return plain | ({"cut": heritage.cut} if heritage.cut else {})


def read_heritage(plain: Mapping[str, Json]) -> Heritage:
    """A chain from its JSON or from what a caller gave; InvalidInput names what is wrong."""
    given = {_SPELLINGS.get(key, key): value for key, value in plain.items()}
    unknown = given.keys() - {*_HERITAGE_KEYS.values(), "cut"}
    if unknown:
        raise InvalidInput(
            f"a heritage chain has intentChain, hypotheses and rationales, not {min(unknown)}"
        )
    cut = given.get("cut", 0)
    return Heritage(
        **{name: _heritage_texts(key, given.get(key, ())) for name, key in _HERITAGE_KEYS.items()},
        cut=cut if type(cut) is int and 0 <= cut < _MOST_CUT else 0,
    )


def _heritage_texts(key: str, value: Json) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{key} of a heritage chain must be a list of texts")
    if not all(isinstance(item, str) for item in value):
        raise InvalidInput(f"{key} of a heritage chain must hold texts only")
    return tuple(str(item) for item in value)


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
_WORST_FIRST = tuple(Severity)


def lesson_json(lesson: Lesson) -> dict[str, Json]:
    """The lesson under the names of its block's lines."""
    plain = {key: getattr(lesson, name) for name, key in _LESSON_KEYS.items()}
    return {key: value for key, value in plain.items() if value not in {None, ""}}


def read_lesson(plain: Mapping[str, Json]) -> Lesson:
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


MEMORY_TYPES = ("global", "session", "agent", "lesson", "reflection")
NO_SOURCE = "unknown"


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def memory_type(statement: Statement) -> str:
    """RFC-0011 §1.2's type, as a view over kind and audience."""
    if statement.kind in {Kind.LESSON, Kind.REFLECTION}:
        return statement.kind.value
    if statement.scope.session is not None:
        return "session"
    return "global" if statement.scope.agent is None else "agent"


def shown_type(statement: Statement) -> str:
    """The word a person reads: the one the writer gave, else RFC-0011's type, else project."""
    known = statement.label or memory_type(statement)
    return "project" if known == "global" and statement.scope.project is not None else known


def shown_source(statement: Statement) -> str:
    """Who said it, in one word."""
    return statement.source.agent or NO_SOURCE


def metadata(statement: Statement) -> dict[str, Json]:
    """RFC-0011 §2.1's metadata object: all that was given, and what a lesson and heritage say."""
    views: dict[str, Json] = {}
    if statement.lesson is not None:
        from memory_mesh.model.record import lesson_json

        views |= lesson_json(statement.lesson)
    if statement.heritage is not None:
        from memory_mesh.model.record import heritage_json

        views["heritage_chain"] = heritage_json(statement.heritage)
    if statement.skill is not None:
        views["source_skill_id"] = statement.skill
    return given_metadata(statement) | views


def given_metadata(statement: Statement) -> dict[str, Json]:
    """What its writer said in metadata: promoted fields, and the rest as it came."""
    promoted: dict[str, Json] = {
        "type": statement.label,
        "source": statement.source.agent,
        "tags": list(statement.tags) or None,
        "session_id": statement.scope.session,
        "importance_score": statement.importance,
    }
    given = {key: value for key, value in promoted.items() if value is not None}
    return given | dict(statement.extra)


def skill_metadata(skill: Skill) -> dict[str, Json]:
    """RFC-0011 §2.4's metadata object of a skill, and whatever else was given with it."""
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


def explanation_json(how: Explanation) -> dict[str, Json]:
    """How a search was answered, under the names of the fields."""
    return _fields_json(how)


def _fields_json(value: Explanation | ViewName) -> dict[str, Json]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: object) -> Json:
    if isinstance(value, Explanation | ViewName):
        return _fields_json(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) else None


def record(item: Memory | Hit | Receipt) -> dict[str, Json]:
    """A plain MemoryRecord (with score for a hit), ready for JSON."""
    plain: dict[str, Json] = {
        "id": item.id,
        "content": item.content,
        "metadata": dict(item.metadata),
        "created_at": item.created_at,
    }
    if isinstance(item, Hit):
        plain |= {"score": item.score, "parts": dict(item.parts), "newer": item.newer}
        plain |= {"view": _plain(item.view), "trust": item.memory.source.kind.value}
    if isinstance(item, Receipt):
        plain |= {"outcome": item.outcome.value, "reasons": list(item.reasons)}
        plain |= {
            "superseded": list(item.superseded),
            "newer_than": list(item.newer_than),
            "merged_into": item.merged_into,
            "added": list(item.added),
            "for_review": list(item.for_review),
            "conflicts": list(item.conflicts),
            "redacted": dict(item.redacted),
            "vector_pending": item.vector_pending,
            "words": dict(item.words),
            "again": item.again,
            "block_id": item.block_id,
        }
    return plain
