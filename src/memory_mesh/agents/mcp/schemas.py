"""Tools as hosts list them, and the parts of their JSON schemas."""

from collections.abc import Mapping

from memory_mesh.typed import Any, TypeAlias

Schema: TypeAlias = "dict[str, Any]"
IDS: Schema = {"type": "array", "items": {"type": "string"}}


def object_of(properties: Mapping[str, Schema], *required: str, closed: bool = False) -> Schema:
    """An object with these properties; a closed one has no others."""
    made: Schema = {"type": "object", "properties": dict(properties)}
    if required:
        made["required"] = list(required)
    if closed:
        made["additionalProperties"] = False
    return made


def text(about: str, **more: object) -> Schema:
    """A text."""
    return {"type": "string", "description": about, **more}


def text_or_object(about: str, **more: object) -> Schema:
    """A text, or an object with any properties."""
    return {"type": ["string", "object"], "description": about, **more}


def whole(about: str, least: int, most: int, default: int | None = None) -> Schema:
    """A whole number from `least` to `most`."""
    made: Schema = {"type": "integer", "minimum": least, "maximum": most, "description": about}
    return made if default is None else made | {"default": default}


def share(about: str, **more: object) -> Schema:
    """A number from 0 to 1."""
    return {"type": "number", "minimum": 0, "maximum": 1, "description": about, **more}


def list_of(items: Schema, about: str, **more: object) -> Schema:
    """A list of things of one sort."""
    return {"type": "array", "items": items, "description": about, **more}


def or_null(schema: Schema) -> Schema:
    """The same, or null."""
    return schema | {"type": [schema["type"], "null"]}


def tool(
    name: str,
    title: str,
    description: str,
    *,
    given: Schema,
    answered: Schema,
    reads: bool = False,
    destroys: bool = False,
    repeatable: bool = False,
    hint: str = "",
    at_hand: bool = False,
) -> Schema:
    """One tool; `hint` is found by a host's search for tools, `at_hand` keeps it out of one."""
    made: Schema = {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": given,
        "outputSchema": answered,
        "annotations": {
            "title": title,
            "readOnlyHint": reads,
            "destructiveHint": destroys,
            "idempotentHint": repeatable,
            "openWorldHint": False,
        },
    }
    if hint:
        made["_meta"] = {"anthropic/searchHint": hint}
        if at_hand:
            made["_meta"]["anthropic/alwaysLoad"] = True
    return made
