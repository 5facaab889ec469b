"""A knowledge graph of entities, observations and relations, each of which is a memory.

::

    entity       "Ada (person)"              metadata: graph, entity, sort, place
    observation  "Ada: plays chess"          metadata: graph, entity, place
    relation     "Ada works at Heron"        metadata: graph, from, to, relation, place

All of them have the tag `knowledge-graph` and no project: there is one graph per store. `place`
keeps the order in which they came. Two writers at once may store the same thing twice; it is read
as one, and deleted as one.
"""

from collections.abc import Iterator

from memory_mesh.fastdataclass import dataclass, field
from memory_mesh.formats import tool_text
from memory_mesh.model import Memory
from memory_mesh.sync import MemoryMesh
from memory_mesh.typed import Any, TypeAlias

TAG = "knowledge-graph"
ENTITY, OBSERVATION, RELATION = "entity", "observation", "relation"
_PAGE = 1_000
Ends: TypeAlias = tuple[str, str, str]  # from, to, type


@dataclass(frozen=True, slots=True)
class Observation:
    """A text about an entity, and the memories that hold it."""

    text: str
    ids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Entity:
    """A node, the memories that make it one, and its observations by their keys."""

    name: str
    sort: str
    ids: list[str] = field(default_factory=list)
    observations: dict[str, Observation] = field(default_factory=dict)

    def says(self, query: str) -> bool:
        """Whether its name, type or an observation contains the text, which is in lower case."""
        texts = (self.name, self.sort, *(each.text for each in self.observations.values()))
        return any(query in text.lower() for text in texts)

    def as_json(self) -> dict[str, Any]:
        """The entity as the tools show it."""
        said = [each.text for each in self.observations.values()]
        return {"name": self.name, "entityType": self.sort, "observations": said}


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge, and the memories that hold it."""

    ends: Ends
    ids: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The relation as the tools show it."""
        return dict(zip(("from", "to", "relationType"), self.ends, strict=True))


class Graph:
    """What is in the graph now, in the order in which it came; names are found by their keys."""

    def __init__(self, mesh: MemoryMesh) -> None:
        self._mesh = mesh
        self.entities: dict[str, Entity] = {}
        self.relations: dict[Ends, Relation] = {}
        rows = sorted(_rows(mesh), key=_order)
        self.next_place: int = 1 + max((_place(row) for row in rows), default=0)
        for row in rows:
            self._read_node(row)
        for row in rows:
            self._read_observation(row)

    def key(self, text: str) -> str:
        """What a text is compared by: as it is stored and shown, whatever stands between words."""
        return _key(self.shown(text))

    def shown(self, text: str) -> str:
        """A text as it is stored, without secrets, and as it is shown, harmless."""
        return tool_text.said(self._mesh._redacted(text))  # noqa: SLF001  # a surface of the same house

    def ends(self, given: dict[str, str]) -> Ends:
        """The key of a relation."""
        return (
            self.key(given["from"]),
            self.key(given["to"]),
            self.key(given["relationType"]),
        )

    def around(self, keys: set[str]) -> dict[str, Any]:
        """These entities, and the relations that one of them is an end of."""
        return {
            "entities": [self.entities[key].as_json() for key in self.entities if key in keys],
            "relations": [
                relation.as_json()
                for (start, end, _), relation in self.relations.items()
                if start in keys or end in keys
            ],
        }

    def ids(self, keys: set[str]) -> Iterator[str]:
        """The memories of these entities."""
        for key in keys & set(self.entities):
            entity = self.entities[key]
            yield from entity.ids
            for observation in entity.observations.values():
                yield from observation.ids

    def _read_node(self, row: Memory) -> None:
        said = row.extra
        if said.get("graph") == ENTITY:
            name, sort = (_text(said.get(each)) for each in ("entity", "sort"))
            key = _key(name)
            self.entities.setdefault(key, Entity(name, sort)).ids.append(row.id)
        elif said.get("graph") == RELATION:
            start, end, sort = (_text(said.get(each)) for each in ("from", "to", "relation"))
            ends = (_key(start), _key(end), _key(sort))
            self.relations.setdefault(ends, Relation((start, end, sort))).ids.append(row.id)

    def _read_observation(self, row: Memory) -> None:
        if row.extra.get("graph") != OBSERVATION:
            return
        name = str(row.extra.get("entity"))
        entity = self.entities.get(_key(tool_text.said(name)))
        if entity is not None:  # else its entity was deleted on another surface
            text = tool_text.said(row.text.removeprefix(f"{name}: "))
            found = entity.observations.setdefault(_key(text), Observation(text))
            found.ids.append(row.id)


def _key(shown: str) -> str:
    return " ".join(shown.split())


def _rows(mesh: MemoryMesh) -> Iterator[Memory]:
    page = mesh.get_all(limit=_PAGE, filter=f"tags = '{TAG}'")
    yield from page
    while page.cursor is not None:
        page = mesh.get_all(limit=_PAGE, filter=f"tags = '{TAG}'", cursor=page.cursor)
        yield from page


def _order(row: Memory) -> tuple[int, object, str]:
    return _place(row), row.created, row.id


def _place(row: Memory) -> int:
    place = row.extra.get("place")
    return place if isinstance(place, int) else 0


def _text(value: object) -> str:
    return tool_text.said(value if isinstance(value, str) else "")
