"""How a pack is made: its budget, how it is counted, and what it looks like."""

from collections.abc import Callable, Mapping
from datetime import datetime

from memory_mesh.errors import InvalidInput, shown
from memory_mesh.fastdataclass import dataclass, field
from memory_mesh.policy.packing import counting
from memory_mesh.policy.ranking.profiles import MESH, MIN_RELEVANCE
from memory_mesh.typed import TypeAlias

Count: TypeAlias = Callable[[str], int]

DEFAULT_TOKENS = 2_000
WINDOW_SHARE = 0.05  # of the model's window, where that is less
FIRST_SHARE = 0.3  # of the budget, for pinned memories and lessons together
FORMATS = ("markdown", "xml", "json")
CALLER = "count_tokens"  # what counted, where the caller's tokenizer did


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRules:
    """How to select and render; `price` replaces the tokens in value per token (003's formula)."""

    max_tokens: int = DEFAULT_TOKENS
    profile: str = MESH
    weights: Mapping[str, float] = field(default_factory=dict)
    max_memories: int | None = None
    min_relevance: float = MIN_RELEVANCE
    format: str = FORMATS[0]
    compact: bool = False
    count: Count = counting.count
    counted_by: str = counting.NAME
    price: Count | None = None
    lesson_confidence: float = 0.0  # lessons less certain than this are not put first
    lessons_since: datetime | None = None  # nor older ones
    exclude: frozenset[str] = frozenset()  # ids of what the reader has already


def budget(max_tokens: object, window: object) -> int:
    """The tokens that a pack may have: as stated, else 2,000, or 5 % of a smaller window."""
    if max_tokens is not None:
        return _whole(max_tokens, "max_tokens")
    if window is None:
        return DEFAULT_TOKENS
    return max(1, min(DEFAULT_TOKENS, int(_whole(window, "window") * WINDOW_SHARE)))


def format_of(word: object) -> str:
    """The format, if it is one of ours."""
    if word not in FORMATS:
        raise InvalidInput(f"format must be one of: {', '.join(FORMATS)}; not {shown(word)}")
    return str(word)


def checked(count: object) -> Count:
    """The caller's counter; an answer that is no count is an error, never a pack too large."""
    if not callable(count):
        raise InvalidInput("count_tokens must be a function that takes a text and returns a number")

    def counted(text: str) -> int:
        found: object = count(text)
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            raise InvalidInput(f"count_tokens must return a whole number, not {shown(found)}")
        return found

    return counted


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{name} must be a whole number of tokens from 1 on, not {shown(value)}")
    return value
