"""What `reflect` and `synthesize` answer (RFC-0011 leaves their shapes open)."""

from memory_mesh.model.memories import Memory
from memory_mesh.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What some memories say together; without a text nothing was found and nothing is stored.

    `prompt` asks a language model for the same, over the same memories.
    """

    topic: str | None
    count: int  # memories looked at
    text: str = ""
    sources: tuple[str, ...] = ()
    confidence: float = 0.0
    id: str | None = None  # of the stored reflection
    by_llm: bool = False
    failure: str | None = None  # why the language model's answer was not taken
    prompt: str = ""
    context: tuple[Memory, ...] = ()

    @property
    def stored(self) -> bool:
        """True when it is kept as a memory."""
        return self.id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """A skill made from memories and staged for review, or why there is none."""

    status: str  # staged or nothing
    analysis: str
    count: int = 0  # memories looked at
    skill_id: str | None = None
    skill_name: str | None = None
    yamo_text: str = ""
    sources: tuple[str, ...] = ()
