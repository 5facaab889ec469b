"""The nouns of the scrubber: how it is set, what it makes, and the pieces it works with."""

from collections.abc import Iterable
from datetime import datetime

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.base.typed import TypeAlias
from memory_mesh.model.errors import InvalidInput

_LEAST_MAXIMUM = 32  # below it a long word could not be cut

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


# The settings of the scrubber: chunk sizes and what is kept.


@dataclass(frozen=True, slots=True)
class ScrubSettings:
    """How the scrubber works; the defaults are those of its use on its own."""

    enabled: bool = True  # off: no cleaning, but private data is still hidden and chunks still made
    min_tokens: int = 10
    max_tokens: int = 500
    hard_max_tokens: int = 2_000
    enforce_min_length: bool = True
    min_signal: float = 0.3  # of the characters of a document's line


STANDALONE = ScrubSettings()
IN_MESH = ScrubSettings(min_tokens=1, enforce_min_length=False)


# Stage 6, validation: no empty chunk, none too short where that is enforced, none too long.


def checked(settings: ScrubSettings) -> ScrubSettings:
    """The settings, if they can be kept."""
    ordered = 0 <= settings.min_tokens <= settings.max_tokens <= settings.hard_max_tokens
    if not ordered or settings.max_tokens < _LEAST_MAXIMUM:
        raise InvalidInput(
            f"the limits of a chunk must increase: min_tokens, max_tokens (at least "
            f"{_LEAST_MAXIMUM}), hard_max_tokens; not {settings.min_tokens}, "
            f"{settings.max_tokens}, {settings.hard_max_tokens}"
        )
    return settings


def validated(
    chunks: Iterable[Chunk], settings: ScrubSettings
) -> tuple[tuple[Chunk, ...], list[str]]:
    """The chunks that may be stored, and why the others may not."""
    kept: list[Chunk] = []
    refused: list[str] = []
    for chunk in chunks:
        if chunk.tokens > settings.hard_max_tokens:
            raise InvalidInput(
                f"a chunk has {chunk.tokens} tokens, more than the hard maximum of "
                f"{settings.hard_max_tokens}; it cannot be stored"
            )
        if not chunk.text.strip():
            refused.append("empty chunk")
        elif settings.enforce_min_length and chunk.tokens < settings.min_tokens:
            refused.append("chunk below the minimum length")
        else:
            kept.append(chunk)
    return tuple(kept), refused
