"""RFC-0011's words for our values: metadata, memory_type, record times and result text."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.errors import InvalidInput
from memory_mesh.model import Draft, Hit, Json, Kind, Memory, Receipt, Skill, Statement
from memory_mesh.values import replace

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
    """The word a person reads: the one the writer gave, else RFC-0011's type."""
    return statement.label or memory_type(statement)


def shown_source(statement: Statement) -> str:
    """Who said it, in one word."""
    return statement.source.agent or NO_SOURCE


def metadata(statement: Statement) -> dict[str, Json]:
    """RFC-0011 §2.1's metadata object: all that was given, and what a lesson and heritage say."""
    views: dict[str, Json] = {}
    if statement.lesson is not None:
        from memory_mesh.formats.lessons import lesson_json

        views |= lesson_json(statement.lesson)
    if statement.heritage is not None:
        from memory_mesh.formats.heritage import heritage_json

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


def promote(draft: Draft, given: Mapping[str, Json], agent_id: str) -> Draft:
    """Move RFC-0011's conventional metadata fields into the draft's own; the rest is extra."""
    rest = dict(given)
    label = _text(rest, "type") or draft.label
    kind = draft.kind
    if label is not None and label in set(Kind):
        kind = Kind(label)
    scope = replace(draft.scope, session=_text(rest, "session_id") or draft.scope.session)
    if label == "agent" and scope.agent is None:
        scope = replace(scope, agent=agent_id)
    if label == "session" and scope.session is None:
        message = "a memory of type session needs a session_id"
        raise InvalidInput(message)
    source = replace(draft.source, agent=_text(rest, "source") or draft.source.agent)
    importance = _fraction(rest, "importance_score")
    return replace(
        draft,
        kind=kind,
        label=label,
        scope=scope,
        source=source,
        tags=_tags(rest) or draft.tags,
        importance=draft.importance if importance is None else importance,
        extra=dict(draft.extra) | rest,
    )


def skill_metadata(skill: Skill) -> dict[str, Json]:
    """RFC-0011 §2.4's metadata object of a skill, and whatever else was given with it."""
    known: dict[str, Json] = {
        "reliability": skill.reliability,
        "use_count": skill.uses,
        "last_used": None if skill.last_used is None else iso(skill.last_used),
        "created_at": iso(skill.created_at),
        "status": skill.status.value,
        "tags": list(skill.tags),
        "description": skill.description,
        "source_file": skill.source.ref,
    }
    return dict(skill.extra) | {key: value for key, value in known.items() if value is not None}


def record(item: Memory | Hit | Receipt) -> dict[str, Json]:
    """A plain MemoryRecord (with score for a hit), ready for JSON."""
    created = iso(item.created_at) if isinstance(item, Memory) else item.created_at
    plain: dict[str, Json] = {
        "id": item.id,
        "content": item.content,
        "metadata": dict(item.metadata),
        "created_at": created,
    }
    if isinstance(item, Hit):
        plain |= {"score": item.score, "parts": dict(item.parts)}
    if isinstance(item, Receipt):
        plain |= {"outcome": item.outcome.value, "reasons": list(item.reasons)}
    return plain


def results(hits: Sequence[Hit]) -> str:
    """RFC-0011 §9.2's attention directive and memory context, ready for a prompt."""
    lines = [
        "[ATTENTION DIRECTIVE]",
        "- ALIGN attention to entries with [IMPORTANCE >= 0.8]",
        "- TREAT entries with [IMPORTANCE <= 0.4] as auxiliary",
        "",
        "[MEMORY CONTEXT]",
    ]
    for number, hit in enumerate(hits, start=1):
        lines += [
            f"--- MEMORY {number}: {hit.id} [IMPORTANCE: {hit.score:.2f}] ---",
            _line(f"Type: {shown_type(hit.memory)} | Source: {shown_source(hit.memory)}"),
            hit.content,
        ]
    return "\n".join(lines)


def _line(text: str) -> str:
    """The text on one line: no label or source may add a line that looks like ours."""
    return " ".join(text.splitlines())


def _text(rest: dict[str, Json], name: str) -> str | None:
    value = rest.pop(name, None)
    if value is not None and not isinstance(value, str):
        message = f"metadata {name!r} must be text, not {type(value).__name__}"
        raise InvalidInput(message)
    return value or None


def _tags(rest: dict[str, Json]) -> tuple[str, ...]:
    value = rest.pop("tags", None)
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        message = "metadata 'tags' must be a list of texts"
        raise InvalidInput(message)
    tags = [tag for tag in value if isinstance(tag, str)]
    if len(tags) != len(value):
        message = "metadata 'tags' must hold texts only"
        raise InvalidInput(message)
    return tuple(tags)


def _fraction(rest: dict[str, Json], name: str) -> float | None:
    value = rest.pop(name, None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        message = f"metadata {name!r} must be a number from 0 to 1"
        raise InvalidInput(message)
    return float(value)
