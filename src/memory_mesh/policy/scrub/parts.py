"""The nouns of the scrubber: how it is set, what it makes, and the pieces it works with."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh.fastdataclass import dataclass
from memory_mesh.typed import TypeAlias

Span: TypeAlias = tuple[int, int]
Section: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """A paragraph, heading, list item, table row or code block of a content, and its plain text."""

    start: int
    stop: int
    text: str
    level: int = 0  # of a heading, from 1
    code: bool = False
    section: Section = ()  # a heading belongs to the section that it opens


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a content that becomes a chunk."""

    start: int
    stop: int
    text: str
    section: Section = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """What is embedded and indexed of a stretch of a content, and where it comes from."""

    text: str
    start: int
    stop: int
    section: Section
    hash: str  # of the text, SHA-256 in hexadecimal
    tokens: int
    source: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A text made ready: what is stored, what is embedded, and why something is missing."""

    content: str
    chunks: tuple[Chunk, ...]
    removed: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """The text of every chunk, one after the other."""
        return "\n".join(chunk.text for chunk in self.chunks)


def lines_of(text: str) -> Iterable[tuple[int, str]]:
    """Each line with the place where it starts."""
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1
