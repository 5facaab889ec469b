"""001's functions under their own names, for memories that a caller holds.

A memory is a mapping with 001's frontmatter (alone or under `frontmatter`), a `MemoryExtraction`, a
`MemoryMetadata`, or a document of a memory file. The store's own selection is
`MemoryMesh.find_relevant_memories`.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, TypeAlias, TypeVar, dataclass, field, replace
from memory_mesh.compat import moment
from memory_mesh.context.fence import Background, background
from memory_mesh.formats import memory_file
from memory_mesh.formats.file_names import ENDING, FOLDER, safe_path, slug
from memory_mesh.formats.memory_file_reading import MemoryFile
from memory_mesh.learn.extraction import ask, title_of, trigger_of
from memory_mesh.learn.rules import extraction
from memory_mesh.learn.rules.capture import near_twin
from memory_mesh.mesh.operation import by_other_names
from memory_mesh.model import InvalidInput, Json, LLMError, Scope
from memory_mesh.model.errors import shown
from memory_mesh.model.learning import ExtractedFact, ExtractionRules, Turn
from memory_mesh.model.ports import LLM
from memory_mesh.model.times import iso
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

if TYPE_CHECKING:
    from memory_mesh.sync import MemoryMesh

__all__ = [
    "MatchContext",
    "MemoryExtraction",
    "append_memory",
    "extract_and_save_memory",
    "extract_memory",
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
Situation: TypeAlias = MatchContext | Mapping[str, object]
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_RESULTS = ("success", "failure", "partial")
_NAMES = {
    "agent_output": ("agentOutput", "agent_output"),
    "existing_memories": ("existingMemories", "existing_memories"),
    "when_to_use": ("whenToUse", "when_to_use", "triggers"),
    "discovered_at": ("discoveredAt", "discovered_at"),
    "discovered_by": ("discoveredBy", "discovered_by"),
    "memory_title": ("memoryTitle", "memory_title"),
    "agent_name": ("agentName", "agent_name", "agent"),
    "current_plan": ("currentPlan", "current_plan"),
    "should_create_memory": ("shouldCreateMemory", "should_create_memory"),
    "content": ("content", "body", "text"),
}


def match_pattern(pattern: str, text: str) -> bool:
    """Returns whether a pattern meets a text."""
    return patterns.match(pattern, text) is not None


def match_when_to_use(when_to_use: str | Sequence[str], context: Situation) -> bool:
    """Returns whether any of the patterns meets the task, the agent's name or the plan."""
    return (
        patterns.match_any(_texts(when_to_use), patterns.situation(_context(context))) is not None
    )


def score_relevance(memory: object, context: Situation, *, now: datetime | None = None) -> int:
    """Returns the points of a memory by 001's table."""
    about, at = _context(context), now or SystemClock().now()
    return points.total(points.points(_metadata(memory), about, at, _rules(about).points))


def find_relevant_memories(
    memories: Sequence[Given],
    context: Situation,
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
    about = _context(context)
    rules = _rules(about, max_memories, selection.level(min_importance or "low"))
    read = {number: _metadata(memory, number) for number, memory in enumerate(memories)}
    found = selection.select(read.values(), about, now or SystemClock().now(), rules)
    return [memories[each.memory.version] for each in found]


def format_memories_for_prompt(memories: Sequence[object]) -> str:
    """Returns 001's block of background knowledge; empty without memories."""
    return background([_shown(memory) for memory in memories])


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryExtraction:
    """Whether an execution is worth a memory, the memory, and why."""

    should_create_memory: bool
    reasoning: str
    memory_title: str | None = None
    frontmatter: Mapping[str, Json] = field(default_factory=dict)
    content: str | None = None


def extract_memory(
    input: Mapping[str, object],  # noqa: A002 - 001's word
    llm: LLM | None = None,
    *,
    now: datetime | None = None,
) -> MemoryExtraction:
    """Returns what of an agent's execution is worth remembering; nothing is stored.

    Without a language model rules decide. One that does not answer, or not in JSON, finds nothing.

    Options:
        now: the time of the discovery; by default the present.
    """
    turns, at = _execution(input), now or SystemClock().now()
    rules, held = _agents_words(), extraction.conversation(turns, at)
    known = [str(_field(memory, "content") or "") for memory in _existing(input)]
    try:
        if llm is None:
            facts, dropped = extraction.detected(held, rules.roles)
        else:
            facts, dropped = ask(llm.complete, held, rules)
    except (LLMError, extraction.UnreadableAnswer) as error:
        return MemoryExtraction(should_create_memory=False, reasoning=str(error))
    news = [fact for fact in facts if not any(near_twin(fact.text, text) for text in known)]
    if facts and not news:
        dropped = [(fact.text, "a memory says it already") for fact in facts]
    return _extraction(input, news, [why for _, why in dropped], at)


def extract_and_save_memory(mesh: "MemoryMesh", context: Mapping[str, object]) -> MemoryExtraction:
    """Extracts from an execution after it ended, and stores each fact in the mesh.

    The mesh's language model is asked, if it has one; what it does not answer is tried again.
    """
    turns = _execution(context)
    named = {"discoveredBy": str(context.get("agent") or ""), "discoveredIn": _task(context)}
    rules = replace(
        _agents_words(), agent=named["discoveredBy"] or None, metadata=named, with_triggers=True
    )
    own = Scope(mesh.config.project, None, mesh.config.session)
    done = mesh.learn._extract(turns, rules, own)
    reasons = [*([done.failure] if done.failure else []), *(why for _, why in done.dropped)]
    return _extraction(context, done.facts, reasons, mesh._now())


def _agents_words() -> ExtractionRules:
    return ExtractionRules(roles=("assistant",))


def _execution(given: Mapping[str, object]) -> list[Turn]:
    """An execution as a conversation: the task, and what the agent said."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"an execution must be a mapping, not {shown(given)}")
    result = given.get("result", "success")
    if result not in _RESULTS:
        raise InvalidInput(f"result must be one of {', '.join(_RESULTS)}, not {shown(result)}")
    said = [str(part) for part in (_field(given, "agent_output"), given.get("error")) if part]
    return [
        Turn(role="user", text=str(given.get("task") or "")),
        Turn(role="assistant", text="\n\n".join(said), speaker=_text(given.get("agent"))),
    ]


def _existing(given: Mapping[str, object]) -> Sequence[object]:
    found = _field(given, "existing_memories") or ()
    if not isinstance(found, Sequence):
        raise InvalidInput("existingMemories must be a list of memories")
    return found


def _task(given: Mapping[str, object]) -> str:
    return f"Task: {given.get('task') or ''}"


def _extraction(
    given: Mapping[str, object],
    facts: Sequence[ExtractedFact],
    against: Sequence[str],
    at: datetime,
) -> MemoryExtraction:
    if not facts:
        why = "; ".join(dict.fromkeys(against)) or "nothing in it is worth remembering"
        return MemoryExtraction(should_create_memory=False, reasoning=why)
    title = title_of(facts)
    tags = list(dict.fromkeys(tag for fact in facts for tag in fact.tags))
    lines = "\n".join(f"- {fact.text}" for fact in facts)
    weight = max(fact.importance for fact in facts)
    return MemoryExtraction(
        should_create_memory=True,
        reasoning="; ".join(dict.fromkeys(fact.reason for fact in facts)),
        memory_title=title,
        frontmatter={
            "title": title,
            "whenToUse": [trigger_of(facts)],
            "tags": tags,
            "importance": _metadata({"importance": weight}).level,
            "discoveredAt": iso(at),
            "discoveredBy": str(given.get("agent") or ""),
            "discoveredIn": _task(given),
        },
        content=f"# {title}\n\n{lines}\n",
    )


def slugify(title: str) -> str:
    """Returns a title in kebab-case, safe as the name of a file."""
    return slug(check_text(title, "title"))


def format_memory_file(memory: Mapping[str, object] | MemoryExtraction) -> str:
    """Returns a memory as a document of a memory file: frontmatter and content.

    Besides 001's frontmatter it may have `memoryTitle`, as an extraction has.
    """
    return memory_file.render(_document(memory))


def append_memory(
    memory: Mapping[str, object] | MemoryExtraction,
    *,
    folder: str | PathLike[str] = FOLDER,
) -> Path | None:
    """Appends a memory to the file of its title, and returns the file; nothing is overwritten.

    It takes what `extract_memory` returned as it is. A memory whose `shouldCreateMemory` is false
    is not written, and None is returned.

    Options:
        folder: where memory files live.
    """
    if not isinstance(memory, (Mapping, MemoryExtraction)):
        raise InvalidInput("a memory must be a mapping with title and content, or an extraction")
    if _field(memory, "should_create_memory") not in (None, True):
        return None
    document = _document(memory)
    path = Path(safe_path(str(folder), slugify(document.title) + ENDING))
    path.parent.mkdir(parents=True, exist_ok=True)
    append_locked(path, lambda held: memory_file.addition(held.decode(), document).encode())
    return path


def _document(memory: Mapping[str, object] | MemoryExtraction) -> MemoryFile:
    about = _metadata(memory)
    title = _text(_field(memory, "memory_title") or _field(memory, "title"))
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


def _context(given: Situation) -> MatchContext:
    if isinstance(given, MatchContext):
        return given
    task, name, plan = (_field(given, each) for each in ("task", "agent_name", "current_plan"))
    if not isinstance(task, str):
        raise InvalidInput(f"a context needs a task: MatchContext(task=…), not {shown(given)}")
    return MatchContext(task, str(name or ""), _text(plan))


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
    inner = _value(memory, "frontmatter")
    if inner is not None:
        places.insert(0, inner)
    names = _NAMES.get(name, (name,))
    found = (_value(place, spelling) for place in places for spelling in names)
    return next((value for value in found if value is not None), None)


def _value(place: object, name: str) -> object:
    return place.get(name) if isinstance(place, Mapping) else getattr(place, name, None)


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
