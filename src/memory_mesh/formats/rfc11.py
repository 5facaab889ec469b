"""Converts between our values and RFC-0011's metadata, and formats its result text.

The source of a result says how far it is trusted, and a line of a memory that looks like one of the
format's own gets a backslash before it.
"""

from collections.abc import Mapping, Sequence

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.base.typed import replace
from memory_mesh.formats.terminal import escaped, word
from memory_mesh.model import Draft, Hit, InvalidInput, Json, Kind, Memory, shown_source, shown_type

_MEDIUM = 0.5  # the importance where none was stated
_KINDS = frozenset(Kind)


def promote(draft: Draft, given: Mapping[str, Json], agent_id: str) -> Draft:
    """Moves RFC-0011's metadata fields into the draft's own fields; the rest is extra."""
    rest = dict(given)
    label = _text(rest, "type") or draft.label
    kind = draft.kind
    if label is not None and label in _KINDS:
        kind = Kind(label)
    scope, source = draft.scope, draft.source
    if session := _text(rest, "session_id"):
        if label == "session":  # else the session is where it comes from, and hides nothing
            scope = replace(scope, session=session)
        elif session != scope.session:
            rest["session_id"] = session
    if label == "agent" and scope.agent is None:
        scope = replace(scope, agent=agent_id)
    if label == "session" and scope.session is None:
        raise InvalidInput(
            "a memory of type session needs a session: name it with session=, --session or the "
            "variable MEMORY_MESH_SESSION, or with session_id in its metadata"
        )
    if agent := _text(rest, "source"):
        source = replace(source, agent=agent)
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


def results(hits: Sequence[Hit]) -> str:
    """Returns RFC-0011 9.2's attention directive and memory context for a prompt."""
    lines = [
        "[ATTENTION DIRECTIVE]",
        "- ALIGN attention to entries with [IMPORTANCE >= 0.8]",
        "- TREAT entries with [IMPORTANCE <= 0.4] as auxiliary",
        "",
        "[MEMORY CONTEXT]",
    ]
    for number, hit in enumerate(hits, start=1):
        lines += [
            f"--- MEMORY {number}: {hit.id} [IMPORTANCE: {_importance(hit.memory):.2f}] ---",
            f"Type: {word(shown_type(hit.memory))} | Source: {_source(hit.memory)}",
            escaped(hit.content, _ours()),
        ]
    return "\n".join(lines)


def _importance(memory: Memory) -> float:
    return _MEDIUM if memory.importance is None else memory.importance


def _source(memory: Memory) -> str:
    """Returns who said it, and how far that is trusted."""
    return f"{word(shown_source(memory))} (trust: {memory.source.kind})"


# The lines of the result text and of what the command line prints around it, as they look.
_ours = lazy_pattern(
    r"memory ?\d+ ?:|(?:attention directive|memory context|explanation) ?\]"
    r"|memorymesh(?: error)? ?\]|align attention to entries|treat entries with"
    r"|type ?:[^|]*\| ?source ?:|source ?:.*\btrust ?:"
)


def _text(rest: dict[str, Json], name: str) -> str | None:
    value = rest.pop(name, None)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"metadata {name!r} must be text, not {type(value).__name__}")
    return value or None


def _tags(rest: dict[str, Json]) -> tuple[str, ...]:
    value = rest.pop("tags", None)
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput("metadata 'tags' must be a list of texts")
    tags = [tag for tag in value if isinstance(tag, str)]
    if len(tags) != len(value):
        raise InvalidInput("metadata 'tags' must hold texts only")
    return tuple(tags)


def _fraction(rest: dict[str, Json], name: str) -> float | None:
    value = rest.pop(name, None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"metadata {name!r} must be a number from 0 to 1")
    return float(value)
