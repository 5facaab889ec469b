"""What a rule is, and what it finds."""

from collections.abc import Callable, Iterable

from memory_mesh.fastdataclass import dataclass
from memory_mesh.typed import Literal, Protocol, TypeAlias

Span: TypeAlias = tuple[int, int]
Check: TypeAlias = Callable[[str, int, int], Span | None]
Gate: TypeAlias = Literal["open", "number", "long word"]


class Hit(Protocol):
    """One place a finder points at."""

    def span(self) -> Span:
        """Where it starts and stops."""
        ...


class Finder(Protocol):
    """Anything that points at places in a text, as a compiled pattern does."""

    def finditer(self, text: str, /) -> Iterable[Hit]:
        """The places, in order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of thing that is redacted.

    A pattern's group `value` is what is replaced, or all of it where there is none. `check` decides
    about a candidate and may move its ends; with a `context` one of its words has to stand near by.
    A rule is tried when its gate is open and the text has one of its hints, if it states any.
    """

    name: str
    label: str
    pattern: str | Finder
    why: str
    example: str = ""
    gate: Gate = "open"
    hints: tuple[str, ...] = ()
    check: Check | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a text holds something of a kind."""

    kind: str
    start: int
    stop: int
