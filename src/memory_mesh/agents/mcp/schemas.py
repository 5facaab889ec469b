"""Parts of the JSON schemas of our tools."""

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
