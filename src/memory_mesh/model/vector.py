"""Vectors, the spaces they belong to and the bodies an index holds."""

from memory_mesh.fastdataclass import dataclass
from memory_mesh.typed import TypeAlias

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Space:
    """Where vectors of one making live; vectors of two spaces are never compared."""

    provider: str
    model: str
    revision: str
    dimension: int
    max_tokens: int
    normalised: bool = True
    query_prefix: str = ""
    text_prefix: str = ""

    @property
    def name(self) -> str:
        """A string that identifies the space."""
        parts = (self.provider, self.model, self.revision, str(self.dimension))
        prefixes = f"|{self.query_prefix}|{self.text_prefix}" if self.query_prefix else ""
        return "/".join(parts) + prefixes


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors of some texts, all of one space; a long text has one per window."""

    space: Space
    vectors: tuple[tuple[bytes, ...], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TextVectors:
    """Vectors that come after their text: it waited for them under this number."""

    text: int
    space: Space
    vectors: tuple[bytes, ...]
    spans: tuple[Span | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One vector of a text, and the part of it that it stands for; None for the whole."""

    vector: bytes
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """One version of an index, which never changes: how far it reaches and how much it holds."""

    version: int
    highest: int
    rows: int
