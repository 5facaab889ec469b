"""Checks the arguments of a tool against its input schema; says what is wrong and what it takes.

Knows the parts of JSON Schema that our tools use (schemas.py). Pure.
"""

from collections.abc import Mapping

from memory_mesh.agents.mcp.schemas import Schema
from memory_mesh.errors import InvalidInput, shown
from memory_mesh.typed import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def checked(tool: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without those that are null; InvalidInput names the first that is wrong."""
    return _checked(tool["name"], tool["inputSchema"], given)


def _checked(name: str, schema: Schema, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a closed object does not know is refused; any other object is read without it."""
    known: Mapping[str, Schema] = schema["properties"]
    unknown = sorted(set(given) - set(known))
    if unknown and schema.get("additionalProperties") is False:
        named = ", ".join(shown(each) for each in unknown[:5])
        raise InvalidInput(f"{name} does not take {named}; it takes: {', '.join(known)}")
    stated = {each: given[each] for each in given if each in known and given[each] is not None}
    for required in schema.get("required", ()):
        if required not in stated:
            about = known[required].get("description", "")
            raise InvalidInput(f"{name} needs {required}: {about}".rstrip(": "))
    for each, value in stated.items():
        _check(each, known[each], value)
    return stated


def _check(name: str, schema: Schema, value: object) -> None:
    named = schema["type"]
    wanted = [named] if isinstance(named, str) else list(named)
    wrong = isinstance(value, bool) and "boolean" not in wanted
    if wrong or not any(isinstance(value, _TYPES[each]) for each in wanted):
        said = " or ".join(_WORDS[each] for each in wanted)
        raise InvalidInput(f"{name} must be {said}, not {shown(value)}")
    if "enum" in schema and value not in schema["enum"]:
        raise InvalidInput(
            f"{name} must be one of: {', '.join(schema['enum'])}; not {shown(value)}"
        )
    if isinstance(value, int | float):
        _check_size(name, schema, value, ("minimum", "maximum"), "")
    elif isinstance(value, str):
        _check_size(name, schema, len(value.strip()), ("minLength", "maxLength"), " characters")
    elif isinstance(value, list):
        _check_size(name, schema, len(value), ("minItems", "maxItems"), " entries")
        for each in value:
            _check(f"each of {name}", schema["items"], each)
    elif isinstance(value, dict) and "properties" in schema:
        _checked(name, schema, value)


def _check_size(name: str, schema: Schema, size: float, limits: tuple[str, str], unit: str) -> None:
    least, most = (schema.get(limit) for limit in limits)
    verb = "has" if unit else "is"
    if least is not None and size < least:
        raise InvalidInput(f"{name} {verb} {size}{unit}; the least is {least}")
    if most is not None and not size <= most:  # of a NaN neither holds
        raise InvalidInput(f"{name} {verb} {size}{unit}; the most is {most}")
