"""What a picture of memories shows, whatever its format: boxes with words, lines with a type."""

import unicodedata
from collections.abc import Mapping, Sequence

from memory_mesh.base.typed import dataclass
from memory_mesh.formats.terminal import safe_text
from memory_mesh.model import SIMILAR, Claim, Link, Memory, Status, times
from memory_mesh.model.graph import Neighbourhood

SUPERSEDES = "supersedes"  # drawn from a memory to the one that it replaced
NEWER_THAN = "newer_than"  # from a memory to one that it seems to update
_TEXT = 400  # characters of a memory that are looked at
_TYPE = 24  # columns of a link's type
_MARKS = 3  # accents on one character; more of them climb out of a line
_WIDE = 2  # columns of an East Asian character
_PART = 40  # columns of a part of a claim
_MINUTE = 16  # characters of a time up to its minute
_OTHER = "other types"


@dataclass(frozen=True, slots=True)
class Look:
    """How the lines of one type are drawn."""

    color: str
    dash: str = ""  # lengths of line and gap; empty for a whole line
    arrow: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """One memory in a picture."""

    id: str
    words: str  # its text on one line, without control characters
    kind: str
    at: str  # the day and minute at which it was first recorded, in UTC
    status: Status
    asked: bool  # the memory that the picture is about
    claim: str = ""  # what it says of whom, where that is known


@dataclass(frozen=True, slots=True)
class Edge:
    """A line between two nodes, by their places in the picture."""

    source: int
    target: int
    type: str
    similarity: float | None = None

    @property
    def weight(self) -> float:
        """How close the two ends are: a link that somebody made counts 1."""
        return 1.0 if self.similarity is None else self.similarity


@dataclass(frozen=True, slots=True)
class Picture:
    """All that is drawn: the asked memory is the first node."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    looks: Mapping[str, Look]  # by type, in the order of the legend
    more: int


_LOOKS = {
    SIMILAR: Look("#8a94a6", arrow=False),
    SUPERSEDES: Look("#c2410c"),
    "derived_from": Look("#2563eb", "7 4"),
    "part_of": Look("#15803d"),
    "related": Look("#7c3aed", "2 4", arrow=False),
    NEWER_THAN: Look("#0e7490", "5 4"),
    "follows": Look("#65a30d", "10 4 2 4"),
    "depends_on": Look("#be185d"),
}
_MORE_LOOKS = (
    Look("#a16207"),
    Look("#0369a1", "4 3"),
    Look("#4d7c0f", "8 3 2 3"),
    Look("#9f1239", "2 3"),
)
_REST = Look("#57534e", "1 3")


def picture(around: Neighbourhood) -> Picture:
    """Returns what to draw of a neighbourhood; links to memories that it lacks are left out."""
    first = [memory for memory in around.memories if memory.id == around.center]
    others = [memory for memory in around.memories if memory.id != around.center]
    nodes = tuple(_node(memory, around.center) for memory in (*first, *others))
    links = [
        *(
            [
                Link(memory.successor, memory.id, SUPERSEDES)
                for memory in around.memories
                if memory.successor is not None
            ]
        ),
        *around.links,
    ]
    looks = _looks([_type(link) for link in links])
    return Picture(nodes, _edges(nodes, links, looks), looks, around.more)


def one_line(text: str) -> str:
    """Returns a text on one line, with nothing in it that is hidden or that acts."""
    shown: list[str] = []
    marks = 0
    for char in " ".join(safe_text(text, keep_newlines=False).split()):
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        if marks <= _MARKS:
            shown.append(char)
    return "".join(shown)


def cut(text: str, columns: int) -> str:
    """Returns the first words of a text, at most this many columns of a fixed-width font."""
    used = 0
    for place, char in enumerate(text):
        used += _WIDE if unicodedata.east_asian_width(char) in "WF" else 1
        if used > columns:
            return _whole_words(text[: max(place - 1, 0)]).rstrip(" ,;:.-") + "…"
    return text


def _whole_words(text: str) -> str:
    """Returns the text without a last word that was cut, unless that is most of it."""
    head, space, _ = text.rpartition(" ")
    return head if space and len(head) * 2 > len(text) else text


def _node(memory: Memory, asked: str) -> Node:
    gone = memory.status is Status.DELETED
    return Node(
        memory.id,
        "(deleted)" if gone else one_line(memory.text[:_TEXT]) or "(empty)",
        memory.kind.value,
        times.iso(memory.created)[:_MINUTE].replace("T", " "),
        memory.status,
        memory.id == asked,
        "" if gone or memory.claim is None else _claim(memory.claim),
    )


def _claim(claim: Claim) -> str:
    said = (claim.subject, claim.predicate, claim.value)
    subject, predicate, value = (cut(one_line(part[:_TEXT]), _PART) for part in said)
    return f"{subject} · {predicate}: {value}"


def _type(link: Link) -> str:
    return cut(one_line(link.type), _TYPE) or _OTHER


def _looks(types: Sequence[str]) -> dict[str, Look]:
    """Returns the look of each type that occurs; types without an own look share the last one."""
    known = {name: look for name, look in _LOOKS.items() if name in types}
    unknown = sorted(set(types) - set(_LOOKS))
    own = dict(zip(unknown, _MORE_LOOKS, strict=False))
    return known | own | ({_OTHER: _REST} if len(unknown) > len(own) else {})


def _edges(
    nodes: Sequence[Node], links: Sequence[Link], looks: Mapping[str, Look]
) -> tuple[Edge, ...]:
    """Returns one edge for each pair and type; two ways of a type without an arrow are one."""
    places = {node.id: place for place, node in enumerate(nodes)}
    found: dict[tuple[int, int, str], Edge] = {}
    for link in links:
        source, target = places.get(link.source), places.get(link.target)
        if source is None or target is None or source == target:
            continue
        type_ = _type(link)
        type_ = type_ if type_ in looks else _OTHER
        if not looks[type_].arrow:
            source, target = sorted((source, target))
        edge = Edge(source, target, type_, link.similarity)
        key = (source, target, type_)
        if key not in found or edge.weight > found[key].weight:
            found[key] = edge
    return tuple(found.values())
