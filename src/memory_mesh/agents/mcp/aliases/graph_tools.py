"""The nine tools of the reference server-memory: its names and shapes, our words."""

from memory_mesh.agents.mcp.schemas import IDS, Schema, list_of, object_of, text, tool

_NAME = text("The name of an entity.", minLength=1)
_ENTITY = object_of(
    {
        "name": _NAME,
        "entityType": text("What sort of thing it is."),
        "observations": IDS | {"description": "What is known about it, one statement each."},
    },
    *("name", "entityType", "observations"),
)
_RELATION = object_of(
    {
        "from": text("The entity at its start.", minLength=1),
        "to": text("The entity at its end.", minLength=1),
        "relationType": text("What the first is or does to the second, in active voice."),
    },
    *("from", "to", "relationType"),
)
_ENTITIES, _RELATIONS = list_of(_ENTITY, "Entities."), list_of(_RELATION, "Relations.")
_GRAPH = object_of({"entities": _ENTITIES, "relations": _RELATIONS}, "entities", "relations")
_DONE = object_of(
    {"success": {"type": "boolean"}, "message": {"type": "string"}}, "success", "message"
)
_ADDED = object_of(
    {"entityName": {"type": "string"}, "addedObservations": IDS},
    *("entityName", "addedObservations"),
)


def _about(name: str, field: str, verb: str) -> Schema:
    """An entity and texts about it."""
    texts = IDS | {"description": f"The observations to {verb}."}
    return object_of({"entityName": _NAME, field: texts}, "entityName", field) | {
        "description": name
    }


TOOLS: tuple[Schema, ...] = (
    tool(
        "create_entities",
        "Remember entities",
        "Remember people, projects, systems and other things: add entities to the memory's "
        "knowledge graph. A name that is there already is left as it is.",
        given=object_of({"entities": _ENTITIES}, "entities"),
        answered=object_of({"entities": _ENTITIES}, "entities"),
    ),
    tool(
        "create_relations",
        "Remember relations",
        "Remember how entities belong together: add relations to the memory's knowledge graph.",
        given=object_of({"relations": _RELATIONS}, "relations"),
        answered=object_of({"relations": _RELATIONS}, "relations"),
    ),
    tool(
        "add_observations",
        "Remember observations",
        "Remember more about entities that are in the memory's knowledge graph.",
        given=object_of(
            {"observations": list_of(_about("One entity.", "contents", "add"), "What to add.")},
            "observations",
        ),
        answered=object_of({"results": list_of(_ADDED, "What was new.")}, "results"),
    ),
    tool(
        "delete_entities",
        "Forget entities",
        "Forget entities with their observations and relations. What the user said stays until "
        "the user agrees.",
        given=object_of({"entityNames": IDS | {"description": "Their names."}}, "entityNames"),
        answered=_DONE,
        destroys=True,
        repeatable=True,
    ),
    tool(
        "delete_observations",
        "Forget observations",
        "Forget single observations. What the user said stays until the user agrees.",
        given=object_of(
            {"deletions": list_of(_about("One entity.", "observations", "delete"), "Which.")},
            "deletions",
        ),
        answered=_DONE,
        destroys=True,
        repeatable=True,
    ),
    tool(
        "delete_relations",
        "Forget relations",
        "Forget relations between entities.",
        given=object_of({"relations": _RELATIONS}, "relations"),
        answered=_DONE,
        destroys=True,
        repeatable=True,
    ),
    tool(
        "read_graph",
        "Recall everything",
        "Recall the whole knowledge graph of the memory.",
        given=object_of({}),
        answered=_GRAPH,
        reads=True,
        repeatable=True,
    ),
    tool(
        "search_nodes",
        "Search memory",
        "Recall entities whose name, type or observations contain a text, with their relations.",
        given=object_of({"query": text("The text, in any case.")}, "query"),
        answered=_GRAPH,
        reads=True,
        repeatable=True,
    ),
    tool(
        "open_nodes",
        "Recall entities",
        "Recall entities by their names, with their relations.",
        given=object_of({"names": IDS | {"description": "Their names."}}, "names"),
        answered=_GRAPH,
        reads=True,
        repeatable=True,
    ),
)
