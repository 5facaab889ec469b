"""What a conversation loop hands to `MemoryContextManager` and is answered."""

from collections.abc import Mapping

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model.memory import Json, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionContext:
    """What surrounded one exchange: tools and files it used, the skill at work, its audience."""

    tools_used: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    skill_name: str | None = None
    importance: float | None = None  # a caller who knows better than the rules
    tags: tuple[str, ...] = ()
    scope: Scope | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """How memories are written into a prompt."""

    max_content_chars: int = 500  # of one memory
    max_chars: int | None = None  # of all of it
    include_scores: bool = True
