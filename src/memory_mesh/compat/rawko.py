"""001's functions under their own names, for memories that a caller holds.

A memory is a mapping with 001's frontmatter (alone or under `frontmatter`), a `MemoryMetadata`, or
a document of a memory file. The store's own selection is `MemoryMesh.find_relevant_memories`.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from memory_mesh.base.fastdataclass import replace
from memory_mesh.base.typed import TypeVar
from memory_mesh.compat import moment
from memory_mesh.context.fence import Background, background
from memory_mesh.formats import memory_file_writing
from memory_mesh.formats.file_names import ENDING, FOLDER, safe_path, slug
from memory_mesh.formats.memory_file_reading import MemoryFile
from memory_mesh.mesh.operation import by_other_names
from memory_mesh.model.errors import InvalidInput, shown
from memory_mesh.model.trigger import (
    InjectionRules,
    MatchContext,
    MemoryMetadata,
    PointRules,
)
from memory_mesh.platform.durable_files import append_locked
from memory_mesh.platform.ids import SystemClock
from memory_mesh.rules.arguments import check_text
from memory_mesh.search.ranking import points
from memory_mesh.search.triggers import patterns, selection
from memory_mesh.write.rules.drafts import importance as weight

__all__ = [
    "MatchContext",
    "append_memory",
    "find_relevant_memories",
    "format_memories_for_prompt",
    "format_memory_file",
    "match_pattern",
    "match_when_to_use",
    "score_relevance",
    "slugify",
]

MAX_MEMORIES = 5
Given = TypeVar("Given")
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES = {
    "when_to_use": ("whenToUse", "when_to_use", "triggers"),
    "discovered_at": ("discoveredAt", "discovered_at"),
    "discovered_by": ("discoveredBy", "discovered_by"),
    "content": ("content", "body", "text"),
}


def match_pattern(pattern: str, text: str) -> bool:
    """Returns whether a pattern meets a text."""
    return patterns.match(pattern, text) is not None


def match_when_to_use(when_to_use: str | Sequence[str], context: MatchContext) -> bool:
    """Returns whether any of the patterns meets the task, the agent's name or the plan."""
    return patterns.match_any(_texts(when_to_use), patterns.situation(context)) is not None


def score_relevance(memory: object, context: MatchContext, *, now: datetime | None = None) -> int:
    """Returns the points of a memory by 001's table."""
    rules = _rules(context).points
    at = now or SystemClock().now()
    return points.total(points.points(_metadata(memory), context, at, rules))


def find_relevant_memories(
    memories: Sequence[Given],
    context: MatchContext,
    *,
    max_memories: int = MAX_MEMORIES,
    min_importance: str | None = None,
    now: datetime | None = None,
) -> list[Given]:
    """Returns the memories that the task calls up, those with the most points first.

    Options:
        max_memories: the most memories to return.
        min_importance: leave out less important ones: low, medium, high or critical.
        now: the time that a memory's age is counted to; by default the present.
    """
    rules = _rules(context, max_memories, selection.level(min_importance or "low"))
    read = {number: _metadata(memory, number) for number, memory in enumerate(memories)}
    found = selection.select(read.values(), context, now or SystemClock().now(), rules)
    return [memories[each.memory.version] for each in found]


def format_memories_for_prompt(memories: Sequence[object]) -> str:
    """Returns 001's block of background knowledge; empty without memories."""
    return background([_shown(memory) for memory in memories])


def slugify(title: str) -> str:
    """Returns a title in kebab-case, safe as the name of a file."""
    return slug(check_text(title, "title"))


def format_memory_file(memory: Mapping[str, object]) -> str:
    """Returns a memory as a document of a memory file: frontmatter and content.

    Besides 001's frontmatter it may have `memoryTitle`, as an extraction has.
    """
    return memory_file_writing.render(_document(memory))


def append_memory(
    memory: Mapping[str, object], *, folder: str | PathLike[str] = FOLDER
) -> Path | None:
    """Appends a memory to the file of its title, and returns the file; nothing is overwritten.

    A memory whose `shouldCreateMemory` is false is not written, and None is returned.

    Options:
        folder: where memory files live.
    """
    if not isinstance(memory, Mapping):
        raise InvalidInput("a memory must be a mapping with title and content")
    if memory.get("shouldCreateMemory", True) is not True:
        return None
    document = _document(memory)
    path = Path(safe_path(str(folder), slugify(document.title) + ENDING))
    path.parent.mkdir(parents=True, exist_ok=True)
    append_locked(path, lambda held: memory_file_writing.addition(held.decode(), document).encode())
    return path


def _document(memory: Mapping[str, object]) -> MemoryFile:
    about = _metadata(memory)
    title = _text(_field(memory, "memoryTitle") or _field(memory, "title"))
    found = _field(memory, "discovered_at")
    return MemoryFile(
        title=check_text(title, "title"),
        when_to_use=about.triggers,
        tags=about.tags,
        importance=about.level,
        discovered_at=None if found is None else about.discovered_at.isoformat(),
        discovered_by=about.discovered_by,
        discovered_in=_text(_field(memory, "discoveredIn")),
        related=_texts(_field(memory, "relatedMemories")),
        body=str(_field(memory, "content") or ""),
    )


def _rules(
    context: MatchContext, max_memories: int = MAX_MEMORIES, min_importance: str = "low"
) -> InjectionRules:
    specialty = points.SPECIALTIES.get(context.agent_name.lower(), frozenset())
    return InjectionRules(
        max_memories=max_memories,
        min_importance=min_importance,
        points=PointRules(specialty=specialty),
    )


def _shown(memory: object) -> Background:
    about = _metadata(memory)
    content = _field(memory, "content")
    return Background(
        about.title, about.level, about.discovered_by or "unknown", str(content or ""), about.tags
    )


def _metadata(memory: object, number: int = 0) -> MemoryMetadata:
    if isinstance(memory, MemoryMetadata):
        return replace(memory, version=number)
    stated = _field(memory, "importance")
    return MemoryMetadata(
        triggers=_texts(_field(memory, "when_to_use")),
        discovered_at=moment("discoveredAt", _field(memory, "discovered_at")) or _LONG_AGO,
        title=str(_field(memory, "title") or ""),
        tags=_texts(_field(memory, "tags")),
        importance=None if stated is None else weight(stated),
        discovered_by=_text(_field(memory, "discovered_by")),
        version=number,
    )


def _field(memory: object, name: str) -> object:
    """A field of a memory, under any of its names; frontmatter goes before what surrounds it."""
    places = [memory]
    inner = memory.get("frontmatter") if isinstance(memory, Mapping) else None
    if inner is not None:
        places.insert(0, inner)
    for place in places:
        for spelling in _NAMES.get(name, (name,)):
            found = (
                place.get(spelling)
                if isinstance(place, Mapping)
                else getattr(place, spelling, None)
            )
            if found is not None:
                return found
    return None


def _texts(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise InvalidInput(f"whenToUse and tags must be texts or lists of texts, not {shown(value)}")


def _text(value: object) -> str | None:
    return None if value is None else str(value)


__getattr__ = by_other_names(__name__, globals())  # findRelevantMemories, appendMemory and so on
