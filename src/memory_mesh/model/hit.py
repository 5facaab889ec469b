"""What a read is made of: the lens, the question, both legs, the hits; and a store in numbers."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from memory_mesh.base.typed import dataclass, field
from memory_mesh.model.memory import Json, Memory


@dataclass(frozen=True, slots=True)
class Match:
    """A version found by keyword, with BM25 as the ledger computes it (higher is better)."""

    version: int
    bm25: float


@dataclass(frozen=True, slots=True)
class Matches:
    """What the keyword leg found, and how it asked."""

    found: tuple[Match, ...] = ()
    ceiling: float = 0.0
    dropped: tuple[str, ...] = ()
    postings: Mapping[str, int] = field(default_factory=dict)  # texts that hold each term
    rows: int = 0  # texts there are
    read_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what else it may mean
    counts_as: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # what each counts


@dataclass(frozen=True, slots=True)
class Near:
    """A version found by meaning; of a long text the best window counts."""

    version: int
    cosine: float


@dataclass(frozen=True, slots=True)
class Nearest:
    """What the vector leg found, how near `also` are, and how much of it an index answered."""

    found: tuple[Near, ...] = ()
    also: tuple[Near, ...] = ()
    from_body: int = 0
    scanned: int = 0  # vectors that were compared one by one


@dataclass(frozen=True, slots=True)
class Placed:
    """A version in its place: its words, who said it and when, what was said before and after."""

    version: int
    terms: str
    session: str | None
    speaker: str | None
    role: str | None
    at: float  # seconds since 1970 when it happened; not known: when it was recorded
    usefulness: float
    before: int | None = None
    after: int | None = None
    cosine: float | None = None
    authority: int = 0  # place of trust.whose_words; 0 is the highest


@dataclass(frozen=True, slots=True)
class Indexed:
    """A text or a skill: what its terms are read from, and those that the ledger has of it."""

    number: int
    said: tuple[str, ...]  # a text has one field, a skill four
    tags: tuple[str, ...]  # of a text
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ViewName:
    """Names a view: the folder of its store, its namespace and user, and who reads there."""

    folder: str
    namespace: str
    user: str | None = None
    project: str | None = None
    agent: str | None = None
    session: str | None = None

    def __str__(self) -> str:
        """User or namespace, project and session, in words."""
        owner = f"namespace {self.namespace}" if self.user is None else f"user {self.user}"
        project = f", project {self.project}" if self.project else ""
        return owner + project + (f", session {self.session}" if self.session else "")


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a search was answered: which legs spoke, what was left out, and what went wrong."""

    profile: str
    space: str | None = None
    note: str | None = None
    pending: int = 0
    dropped: tuple[str, ...] = ()
    found_by_keyword: int = 0
    found_by_vector: int = 0
    from_body: int = 0
    read_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # and a hit holds it
    to_reindex: int = 0  # texts whose keyword terms an earlier analyzer wrote
    reranked: int = 0  # hits that a reranker put in order, those cut off later included
    below: int = 0  # candidates for the first `limit` hits that min_relevance left out
    best_below: float | None = None  # the best of their scores
    dissimilar: int = 0  # the same for min_similarity
    best_dissimilar: float | None = None  # the best of their similarities
    outgrown: bool = False  # too many vectors were compared one by one: an index is missing
    view: ViewName | None = None  # of one view's part in a search of several views
    views: "tuple[Explanation, ...]" = ()  # of a search of several views: each view's own


@dataclass(frozen=True, slots=True)
class Fused:
    """A version with its relevance 0-1 and the parts of it."""

    version: int
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked answer: the memory, its relevance 0-1 and the parts of that score."""

    memory: Memory
    score: float
    parts: Mapping[str, float]
    span: tuple[int, int] | None = None  # of a long text: the part that answers best
    newer: str | None = None  # the id of a memory that seems to update this one
    conflict: str | None = None  # the id of one that contradicts it, and nobody has decided yet
    view: ViewName | None = None  # of a search of several views: the one that found it

    @property
    def excerpt(self) -> str:
        """The part of the text that answers best; all of it where it is short."""
        return self.memory.text if self.span is None else self.memory.text[slice(*self.span)]

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def content(self) -> str:
        """The memory's text."""
        return self.memory.text

    @property
    def metadata(self) -> dict[str, Json]:
        """The memory's RFC-0011 metadata."""
        return self.memory.metadata

    @property
    def created(self) -> datetime:
        """When the memory was first recorded."""
        return self.memory.created

    @property
    def created_at(self) -> str:
        """When the memory was first recorded, as ISO 8601."""
        return self.memory.created_at


class Hits(list[Hit]):
    """Ranked answers, best first, and how they came about."""

    def __init__(self, hits: Iterable[Hit] = (), explanation: Explanation | None = None) -> None:
        super().__init__(hits)
        self.explanation: Explanation = explanation or Explanation("mesh")


class Page(list[Memory]):
    """Part of a listing; `cursor` asks for the rest and is None at the end."""

    def __init__(self, memories: Iterable[Memory] = (), cursor: str | None = None) -> None:
        super().__init__(memories)
        self.cursor = cursor
