"""Tools as hosts list them, and the parts of their JSON schemas."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from memory_mesh.base.typed import Any, TypeAlias
from memory_mesh.mesh.operation import Option, options_of

Schema: TypeAlias = "dict[str, Any]"
IDS: Schema = {"type": "array", "items": {"type": "string"}}
_NAMES = {str: "string", int: "integer", float: "number", Mapping: "object", Iterable: "array"}


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


def offered(
    method: Callable[..., object], hidden: Collection[str], said: Mapping[str, Schema]
) -> dict[str, Schema]:
    """The options of an operation but the hidden ones; those of `said` first, in its words."""
    rest = {
        option.name: _schema(option)
        for option in options_of(method).values()
        if not (option.positional or option.name in hidden or option.name in said)
    }
    return {**said, **rest}


def chosen(method: Callable[..., object], more: Mapping[str, Schema]) -> dict[str, Schema]:
    """These options of an operation as it declares them, each with what is said beside."""
    known = options_of(method)
    return {name: _schema(known[name]) | said for name, said in more.items()}


def _schema(option: Option) -> Schema:
    kinds = [_NAMES[kind] for kind in option.classes if kind in _NAMES] or ["boolean"]
    about = f"{option.about[0].upper()}{option.about[1:]}"
    about += ", ISO 8601." if datetime in option.classes else "."
    return {"type": kinds[0] if len(kinds) == 1 else kinds, "description": about}


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
