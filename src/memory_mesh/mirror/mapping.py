"""What a document says as a memory holds it, and back.

::

    title, discoveredIn, other keys ─▶ extra         whenToUse ─▶ triggers      tags ─▶ tags
    discoveredAt ─▶ occurred_at, created             importance ─▶ importance   body ─▶ text
    discoveredBy ─▶ source.agent                     relatedMemories ─▶ links

What a key of another name says is a key of `extra`; a key that means something else there stands in
`extra["frontmatter"]`, with what must come back letter by letter. Pure: no I/O.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from memory_mesh.base.typed import Any, dataclass, field
from memory_mesh.formats.memory_file import MemoryFile, heading, inline_tags
from memory_mesh.mirror.state import hashed
from memory_mesh.model import (
    Channel,
    Draft,
    InvalidInput,
    Json,
    Memory,
    Origin,
    Scope,
    Source,
    SourceKind,
    times,
)
from memory_mesh.rules.arguments import check_metadata, moment
from memory_mesh.rules.trust import ceiling
from memory_mesh.write.rules.drafts import IMPORTANCE

ASIDE = "frontmatter"  # the key of extra with what has no place of its own
USER = "user"  # who discovered what no agent did
_PROMOTED = {"type", "source", "session_id", "tags", "importance_score", "title", ASIDE}
_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """What an update of a memory is given; None for the text keeps it."""

    content: str | None = None
    metadata: Mapping[str, Json] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def draft_of(
    document: MemoryFile, id_: str, scope: Scope, channel: Channel, now: datetime
) -> Draft:
    """A new memory with the words of a document; InvalidInput says what it cannot hold."""
    at = _time(document.discovered_at)
    return Draft(
        text=document.body,
        scope=scope,
        source=Source(ceiling(channel), channel, agent=_agent(document), stated=True),
        occurred_at=at,
        importance=IMPORTANCE[document.importance],
        tags=tags_of(document),
        triggers=document.when_to_use,
        extra=check_metadata(_extra(document)),
        origin=Origin(id_, min(at, now) if at is not None else now),
    )


def change_of(
    document: MemoryFile,
    memory: Memory,
    dropped: Collection[str],
    *,
    worded: bool,
    kind: SourceKind,
) -> MemoryUpdate:
    """The update that lets a memory say what its document says.

    `dropped` names the fields that the document once stated and states no more; what it never
    stated stays. `worded` is True if the text differs from the one that both sides agreed on.
    """
    shown = document_of(memory, title=document.title)
    details: dict[str, Any] = {}
    tags = tags_of(document)
    if tags != memory.tags and (tags or "tags" in dropped):
        details["tags"] = tags
    if document.when_to_use != memory.triggers and (document.when_to_use or "whenToUse" in dropped):
        details["triggers"] = document.when_to_use
    if document.importance != shown.importance:
        details["importance"] = document.importance
    at = document.discovered_at
    if at != shown.discovered_at and (at is not None or "discoveredAt" in dropped):
        details["occurred_at"] = _time(at)
    named = document.discovered_by is not None or "discoveredBy" in dropped
    if named and _agent(document) != memory.source.agent:
        details["source_agent"] = _agent(document)
    if worded or "source_agent" in details:
        details["source_kind"] = kind
    extra = _changed_extra(document, memory, dropped)
    return MemoryUpdate(
        document.body if worded else None, extra if extra != dict(memory.extra) else None, details
    )


def document_of(
    memory: Memory, related: Sequence[str] = (), *, title: str | None = None
) -> MemoryFile:
    """The memory as a document; `related` names the files of the memories it is linked to.

    `title` is that of its present document, for a memory that states none.
    """
    extra = dict(memory.extra)
    aside = _aside(memory)
    said = extra.pop("title", None)
    extra.pop(ASIDE, None)
    known = {"discoveredAt", "discoveredIn", "source", "relatedMemories"}
    return MemoryFile(
        title=_text(said) or title or _named(memory.text),
        when_to_use=memory.triggers,
        tags=memory.tags,
        importance=importance_word(memory.importance),
        discovered_at=_shown_time(memory, aside),
        discovered_by=memory.source.agent or USER,
        discovered_in=_text(aside.get("discoveredIn")),
        source=_text(aside.get("source")) or memory.source.ref,
        related=tuple(related),
        body=memory.text,
        more=extra | {key: value for key, value in aside.items() if key not in known},
        memory_id=memory.id,
    )


def related_in_file(memory: Memory) -> list[str]:
    """The relatedMemories that the memory's document stated, letter by letter."""
    names = _aside(memory).get("relatedMemories")
    return [str(name) for name in names] if isinstance(names, list) else []


def digest_of(memory: Memory, linked: Collection[str] = ()) -> str:
    """A digest of all that a document shows of a memory."""
    plain: list[Json] = [
        memory.text, list(memory.tags), list(memory.triggers), memory.importance,
        memory.source.agent, memory.source.ref, dict(memory.extra), sorted(linked),
        None if memory.occurred_at is None else times.iso(memory.occurred_at),
    ]  # fmt: skip
    return hashed(json.dumps(plain, ensure_ascii=True, sort_keys=True))


def stated(document: MemoryFile) -> tuple[str, ...]:
    """The names of the fields that a document states and that can be taken away again."""
    known = {
        "whenToUse": document.when_to_use, "tags": tags_of(document),
        "discoveredAt": document.discovered_at, "discoveredBy": document.discovered_by,
        "discoveredIn": document.discovered_in, "source": document.source,
        "relatedMemories": document.related,
    }  # fmt: skip
    return (*(name for name, value in known.items() if value), *document.more)


def tags_of(document: MemoryFile) -> tuple[str, ...]:
    """The tags of a document; of a note that states none, those in its text."""
    return document.tags or inline_tags(document.body)


def same(one: MemoryFile, other: MemoryFile) -> bool:
    """True if two documents say the same, whatever the spacing of their texts."""
    return _essence(one) == _essence(other)


def importance_word(importance: float | None) -> str:
    """The word that is nearest to an importance."""
    if importance is None:
        return "medium"
    return min(IMPORTANCE, key=lambda word: abs(IMPORTANCE[word] - importance))


def _essence(document: MemoryFile) -> tuple[object, ...]:
    lines = tuple(line.rstrip() for line in document.body.strip().splitlines())
    more = json.dumps(document.more, sort_keys=True)
    return (
        document.title, document.when_to_use, tags_of(document), document.importance,
        frozenset(document.related), more, lines,
    )  # fmt: skip


def _extra(document: MemoryFile) -> dict[str, Json]:
    extra: dict[str, Json] = {"title": document.title}
    extra |= {key: value for key, value in document.more.items() if key not in _PROMOTED}
    aside = _exactly(document)
    return extra | ({ASIDE: aside} if aside else {})


def _exactly(document: MemoryFile) -> dict[str, Json]:
    """What has no place of its own in a memory, or must come back letter by letter."""
    said: dict[str, Json] = {
        "discoveredAt": document.discovered_at,
        "discoveredIn": document.discovered_in,
        "source": document.source,
        "relatedMemories": list(document.related) or None,
    }
    said |= {key: value for key, value in document.more.items() if key in _PROMOTED}
    return {key: value for key, value in said.items() if value is not None}


def _changed_extra(
    document: MemoryFile, memory: Memory, dropped: Collection[str]
) -> dict[str, Json]:
    """The memory's extra with what the document says, without what it says no more."""
    aside = {key: value for key, value in _aside(memory).items() if key not in dropped}
    given = _exactly(document)
    if given.get("source") == memory.source.ref and "source" not in aside:
        given.pop("source", None)  # the memory says so already
    shown = _shown_time(memory, _aside(memory))
    if given.get("discoveredAt") == shown and "discoveredAt" not in aside:
        given.pop("discoveredAt", None)
    aside |= given
    kept = {
        key: value for key, value in memory.extra.items() if key not in dropped and key != ASIDE
    }
    title = {"title": document.title}
    if "title" not in memory.extra and document.title == _named(memory.text):
        title = {}
    news = {key: value for key, value in document.more.items() if key not in _PROMOTED}
    return check_metadata(kept | title | news | ({ASIDE: aside} if aside else {}))


def _aside(memory: Memory) -> dict[str, Json]:
    aside = memory.extra.get(ASIDE)
    return dict(aside) if isinstance(aside, Mapping) else {}


def _shown_time(memory: Memory, aside: Mapping[str, Json]) -> str:
    """When it was discovered: as its document said, unless the store says otherwise by now."""
    said = _text(aside.get("discoveredAt"))
    if said is not None and _time(said) == memory.occurred_at:
        return said
    return times.iso(memory.occurred_at or memory.created)


def _time(said: str | None) -> datetime | None:
    """A stated time; None for one that cannot be read. Without a zone it is UTC."""
    if said is None:
        return None
    try:
        parsed = datetime.fromisoformat(said.strip())
        return moment("discoveredAt", parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC))
    except (ValueError, InvalidInput):
        return None


def _agent(document: MemoryFile) -> str | None:
    """Who discovered it; None for the user."""
    said = (document.discovered_by or "").strip()
    return None if said.casefold() in {"", USER} else said


def _named(text: str) -> str:
    """A title for a memory that has none: its first heading, else its first words."""
    found = heading(text)
    if found is None:
        words = " ".join(text.split()[:12])
        found = words if len(words) <= _TITLE_CHARS else words[:_TITLE_CHARS].rpartition(" ")[0]
    return found[: 2 * _TITLE_CHARS] or text.strip()[:_TITLE_CHARS] or "Memory"


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
