"""What a search asks: the tree of a filter, the lens, the query, and what the ledger is asked.

`rules/filters.py` parses a filter, each ledger compiles it to its own SQL.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from memory_mesh.base.typed import TYPE_CHECKING, TypeAlias, dataclass, field
from memory_mesh.model.memory import Scope, Status


class FieldType(Enum):
    """What the values of a field are, and so what it may be compared with."""

    TEXT = "a 'text' in single quotes"
    NUMBER = "a number"
    TIME = "a time such as '2026-01-31T12:00:00Z'"
    BOOL = "true or false"
    TAGS = "a 'tag' in single quotes"
    METADATA = "a 'text' in single quotes, a number, true or false"


class Sign(Enum):
    """How a field compares with a value."""

    EQUAL = "="
    UNEQUAL = "!="
    BELOW = "<"
    AT_MOST = "<="
    ABOVE = ">"
    AT_LEAST = ">="


Value: TypeAlias = str | int | float | bool | datetime


@dataclass(frozen=True, slots=True)
class MetadataKey:
    """A top-level key of the metadata; a test of it holds if it holds for one element of a list."""

    name: str


Field: TypeAlias = str | MetadataKey  # a field of ours by its name, or a key of the metadata


@dataclass(frozen=True, slots=True)
class Compare:
    """The field stands in this relation to the value; for tags: one of them is the value."""

    field: Field
    sign: Sign
    value: Value


@dataclass(frozen=True, slots=True)
class Among:
    """The field is one of the values; for tags: one of them is."""

    field: Field
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """The field matches a pattern of % and _, with a backslash to mean them literally."""

    field: Field
    pattern: str


@dataclass(frozen=True, slots=True)
class Between:
    """The field lies between two values, both included."""

    field: Field
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class IsNull:
    """The field has no value; for tags: there are none."""

    field: Field


@dataclass(frozen=True, slots=True)
class And:
    """Every part holds."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: "tuple[Filter, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Filter"


Test: TypeAlias = Compare | Among | Like | Between | IsNull
Filter: TypeAlias = Compare | Among | Like | Between | IsNull | And | Or | Not
GivenFilter: TypeAlias = str | Mapping[str, object] | None  # as callers write it

if TYPE_CHECKING:
    from memory_mesh.model.hit import Near
    from memory_mesh.model.query import Filter
    from memory_mesh.model.trigger import InjectionRules

# Vectors, the spaces they belong to and the bodies an index holds.


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


@dataclass(frozen=True, slots=True)
class Lens:
    """What one read may see. `across` names audience tests left out; the namespace never is."""

    now: datetime
    scope: Scope = Scope()
    across: frozenset[str] = frozenset()
    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    where: "Filter | None" = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    any_validity: bool = False
    session_days: int = 0  # after which the memories of a session expire; 0: never


@dataclass(frozen=True, slots=True)
class Query:
    """A question and how to answer it."""

    text: str
    lens: Lens
    limit: int = 10
    profile: str = "mesh"
    keyword_only: bool = False
    weights: Mapping[str, float] = field(default_factory=dict)  # of profile composite
    min_similarity: float | None = None  # similarity below which nothing is returned
    min_relevance: float = 0.0  # relevance below which nothing is returned
    rules: "InjectionRules | None" = None  # of profile points
    read_names: bool = False  # the further names of the reader's project are still to be read


@dataclass(frozen=True, slots=True)
class Question:
    """A query's vector and where to look; `also` names versions found otherwise."""

    space: Space
    vector: bytes
    limit: int
    also: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """Texts that hold a word; of several words all of them, close together."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Texts that one of the expressions finds."""

    of: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True)
class AllOf:
    """Texts that all of the expressions find."""

    of: "tuple[Expression, ...]"


Expression: TypeAlias = "Name | AnyOf | AllOf"  # what texts are asked for by their words


@dataclass(frozen=True, slots=True)
class Postings:
    """How many texts hold an expression, and which, where they are few."""

    count: int
    texts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of a space there is, and how much of it a reader may see."""

    vectors: int  # at most so many: numbers that were given
    seen: int | None = None  # memories that the reader may see; None: not counted
    audiences: tuple[int, ...] | None = None  # whose memories these are; None: any
    body: Body | None = None  # the index that the ledger names
    inside: bool = False  # the ledger holds that index, and asks it by itself


@dataclass(frozen=True, slots=True)
class SearchLook:
    """What one look found: those that the reader sees, and how many candidates it looked at."""

    found: "tuple[Near, ...]"
    candidates: int


@dataclass(frozen=True, slots=True)
class SkillQuery:
    """Which skills: by words and vector, else all of a status that the reader sees."""

    reader: Scope
    limit: int
    terms: tuple[str, ...] = ()
    vector: tuple[Space, bytes] | None = None
    statuses: frozenset[Status] = frozenset({Status.ACTIVE})
    named: str | None = None
    ids: tuple[str, ...] = ()
    below: float | None = None
    waiting: Space | None = None  # those without a vector in it
    across: frozenset[str] = frozenset()  # audience tests left out
    before: str | None = None  # older than the skill with this id
    space: Space | None = None  # with their vectors in it


@dataclass(frozen=True, slots=True)
class Probe:
    """A text whose similar memories are sought, by the vectors of its parts, for one reader."""

    vectors: tuple[bytes, ...]
    lens: Lens
    besides: str | None = None  # the memory that it is the text of


@dataclass(frozen=True, slots=True)
class Similar:
    """Texts of one space whose nearest memories are sought."""

    space: Space
    probes: tuple[Probe, ...]
    least: float  # cosine
    limit: int  # of each text
    newest: int | None = None  # vectors that are compared at most; None: all


@dataclass(frozen=True, slots=True)
class Vectored:
    """A memory of the present with its vectors in a space."""

    memory: str
    scope: Scope
    text: str
    recorded_from: datetime
    vectors: tuple[bytes, ...]
    similar: frozenset[str] = frozenset()  # memories that it is linked to as similar
