"""The types of a privacy rule and its match."""

from collections.abc import Callable, Iterable

from memory_mesh.base.typed import Literal, Protocol, TypeAlias, dataclass

Span: TypeAlias = tuple[int, int]
Check: TypeAlias = Callable[[str, int, int], Span | None]
KEEPABLE = ("email", "ip", "phone")  # kinds that are no secret: stored as written on request
Gate: TypeAlias = Literal["open", "number", "digits", "long word"]


class FinderMatch(Protocol):
    """One match of a finder."""

    def span(self) -> Span:
        """Returns start and end of the match."""
        ...


class MatchPosition:
    """A hit of a finder that is no pattern."""

    def __init__(self, start: int, stop: int) -> None:
        self._span = (start, stop)

    def span(self) -> Span:
        """Returns start and end of the hit."""
        return self._span


class Finder(Protocol):
    """Finds matches in a text, like a compiled pattern."""

    def finditer(self, text: str, /) -> Iterable[FinderMatch]:
        """Yields the matches, in order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyRule:
    """One kind of value that is redacted.

    A pattern's group `value` is what is replaced, or all of it where there is none. `check` decides
    about a candidate and may move its ends; with a `context` one of its words has to stand near by.
    A rule is tried when its gate is open and the text has one of its hints, if it states any, and
    as many `digits` as the shortest value.
    """

    name: str
    label: str
    pattern: str | Finder
    why: str
    example: str = ""
    gate: Gate = "open"
    hints: tuple[str, ...] = ()
    digits: int = 0
    check: Check | None = None
    context: str = ""
    identity: str = ""  # what the placeholder is made of, where it is not the value itself


@dataclass(frozen=True, slots=True)
class FoundValue:
    """The kind and the position of a match."""

    kind: str
    start: int
    stop: int
