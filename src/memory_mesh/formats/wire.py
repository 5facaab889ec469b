"""Values of the model as JSON and back: what a service sends and its client reads.

::

    Memory(id="mem_…", text="…", created=datetime(…))
    {"object": "Memory", "id": "mem_…", "text": "…", "created": "2026-11-19T13:00:00+00:00", …}

A value is an object with the name of its class and its fields; a list with more than its items is
an object with `items`. Times are ISO 8601, bytes base64. What a field holds is read from its
annotation, so a new field of a value needs nothing here. Unknown fields are passed over: a client
reads the answers of a newer service.
"""

import builtins
from base64 import b64decode, b64encode
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set as AbstractSet
from datetime import datetime
from enum import Enum
from functools import cache
from importlib import import_module
from math import isfinite

from memory_mesh.base.typed import Any
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput, shown

_OBJECT = "object"
_MODULES = (
    *("block", "care", "commit", "graph", "hit", "job", "learning", "memory"),
    *("pack", "query", "record", "reembedding", "skill", "stats", "trace", "trigger", "why"),
)
_ARRAYS = (list, tuple, set, frozenset, Sequence, Iterable, AbstractSet)
Schema = dict[str, Any]


def encoded(value: object) -> Json:  # noqa: C901, PLR0911  # one line for each sort of value
    """The value as JSON; InvalidInput for one that cannot be sent, such as a function."""
    if isinstance(value, Enum):
        return encoded(value.value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return b64encode(value).decode()
    kind: Any = type(value)
    named = _fields(kind)
    if named is not None:
        sent = {name: encoded(getattr(value, name)) for name in named}
        return {_OBJECT: type(value).__name__, **sent}
    if isinstance(value, Mapping):
        return {str(encoded(name)): encoded(each) for name, each in value.items()}
    if isinstance(value, list) and type(value) is not list:
        more = {name: encoded(each) for name, each in vars(value).items()}
        return {_OBJECT: type(value).__name__, "items": [encoded(each) for each in value], **more}
    if isinstance(value, Iterable):
        return [encoded(each) for each in value]
    if hasattr(value, "__fspath__"):
        return str(value)
    raise InvalidInput(f"a {type(value).__name__} cannot be sent to a service")


def decoded(kind: object, data: Json) -> Any:  # noqa: ANN401, PLR0911  # whatever the kind is
    """The value of a kind, which is an annotation; JSON of no known kind stays as it is.

    What is wrong with an argument of an operation is said by the operation.
    """
    kind = _class_named(kind) if isinstance(kind, str) else kind
    if _is_union(kind):
        kind = _part(kind, data)
    if data is None:
        return None
    origin, parts = getattr(kind, "__origin__", kind), getattr(kind, "__args__", ())
    if isinstance(data, dict):
        return _of_object(origin, parts, data)
    if isinstance(data, list):
        if not isinstance(origin, type) or not issubclass(origin, _ARRAYS):
            return data
        if origin is tuple and parts and parts[-1] is not Ellipsis:
            return tuple(decoded(part, each) for part, each in zip(parts, data, strict=False))
        items = [decoded(parts[0] if parts else object, each) for each in data]
        made: Any = origin
        return made(items) if origin in (tuple, set, frozenset) else items
    if not isinstance(origin, type) or origin in (object, str, int, float, bool):
        return float(data) if origin is float and isinstance(data, int) else data
    if origin is datetime:
        return datetime.fromisoformat(str(data))
    if origin is bytes:
        return b64decode(str(data))
    held: Any = origin
    return held(data) if issubclass(origin, Enum) or hasattr(origin, "__fspath__") else data


def schema(kind: object, known: dict[str, Schema]) -> Schema:  # as above
    """The JSON schema of a kind; the classes that it names are added to `known`."""
    kind = _class_named(kind) if isinstance(kind, str) else kind
    if _is_union(kind):
        return _any_of([schema(part, known) for part in kind.__args__])  # type: ignore[attr-defined]
    origin, parts = getattr(kind, "__origin__", kind), getattr(kind, "__args__", ())
    if not isinstance(origin, type):
        return {}
    if origin in _PLAIN:
        return dict(_PLAIN[origin])
    if _fields(origin) is not None or (issubclass(origin, list) and origin is not list):
        if origin.__name__ not in known:
            known[origin.__name__] = {}
            known[origin.__name__] = _of_class(origin, known)
        return {"$ref": f"#/components/schemas/{origin.__name__}"}
    if issubclass(origin, Enum):
        return {"type": "string", "enum": [each.value for each in origin]}
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema(parts[-1], known) if parts else {}}
    if issubclass(origin, _ARRAYS) or origin in _ARRAYS:
        one = next((schema(part, known) for part in parts if part is not Ellipsis), {})
        return {"type": "array", "items": one}
    return {"type": "string"} if hasattr(origin, "__fspath__") else {}


_PLAIN: Mapping[type, Schema] = {
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime: {"type": "string", "format": "date-time"},
}


def _of_class(origin: type, known: dict[str, Schema]) -> Schema:
    fields = _fields(origin)
    about = (origin.__doc__ or "").strip().partition("\n")[0]
    if fields is not None:
        found = {name: schema(kind, known) for name, kind in fields.items()}
    else:
        found = {"items": {"type": "array", "items": schema(_item(origin), known)}}
    named = {_OBJECT: {"const": origin.__name__}, **found}
    return {"type": "object", "description": about, "properties": named, "required": list(named)}


def _any_of(parts: list[Schema]) -> Schema:
    return {"anyOf": parts} if {} not in parts else {}


def _of_object(origin: object, parts: Sequence[object], data: dict[str, Json]) -> Any:  # noqa: ANN401
    """An object as its annotation says; one that the annotation leaves open stays an object."""
    fields = _fields(origin) if isinstance(origin, type) else None
    if fields is not None:
        made: Any = origin
        try:
            return made(
                **{
                    name: _field(name, kind, data[name])
                    for name, kind in fields.items()
                    if name in data
                }
            )
        except TypeError as error:  # one that it needs is missing
            raise InvalidInput(f"this is no {made.__name__}: {error}") from None
    if isinstance(origin, type) and issubclass(origin, list):
        made = origin(decoded(list[_item(origin)], data.get("items") or []))  # type: ignore[misc]
        for name, held in vars(made).items():
            if name in data:
                setattr(made, name, decoded(type(held), data[name]))
        return made
    each = parts[-1] if parts else object
    return {name: decoded(each, value) for name, value in data.items()}


def _field(name: str, kind: object, data: Json) -> Any:  # noqa: ANN401  # whatever the kind is
    """The value of a field; InvalidInput for what it cannot hold."""
    try:
        value = decoded(kind, data)
    except ValueError:  # no such time, or no member of an enum
        value = None
    if data is not None and not _admits(kind, value):
        raise InvalidInput(f"{name} cannot be {shown(data)}")
    return value


def _admits(kind: object, value: object) -> bool:
    kind = _class_named(kind) if isinstance(kind, str) else kind
    if _is_union(kind):
        return any(_admits(part, value) for part in kind.__args__)  # type: ignore[attr-defined]
    origin = getattr(kind, "__origin__", kind)
    if not isinstance(origin, type):
        return True
    return isinstance(value, origin) or (origin is float and isinstance(value, int))


def _item(kind: Any) -> object:  # noqa: ANN401  # a list with more than its items
    found: object = kind.__orig_bases__[0].__args__[0]
    return found


def _part(kind: object, data: Json) -> object:
    """The part of a union that the data belongs to."""
    found: list[object] = []
    for part in kind.__args__:  # type: ignore[attr-defined]
        part = _class_named(part) if isinstance(part, str) else part  # noqa: PLW2901
        origin = getattr(part, "__origin__", part)
        if isinstance(origin, type) and _fits(origin, data):
            found.append(part)
    named = data.get(_OBJECT) if isinstance(data, dict) else type(data).__name__
    return max(found, key=lambda part: getattr(part, "__name__", "") == named, default=object)


def _fits(origin: type, data: Json) -> bool:
    """Whether JSON may stand for a value of a class."""
    if isinstance(data, dict):
        return _fields(origin) is not None or issubclass(origin, Mapping | list)
    if isinstance(data, list):
        return origin in _ARRAYS or issubclass(origin, list | tuple)
    if isinstance(data, str):
        return origin in (str, datetime, bytes) or issubclass(origin, Enum)
    return isinstance(data, origin) or (origin is float and isinstance(data, int))


def _is_union(kind: object) -> bool:
    return type(kind).__name__ in {"UnionType", "_UnionGenericAlias"}


@cache
def _fields(kind: Hashable) -> Mapping[str, object] | None:
    """The fields of a class of values with their annotations; None for any other class."""
    stated = getattr(kind, "__value_fields__", None)
    return None if stated is None else {name: field.type for name, field in stated.items()}


@cache
def _classes() -> Mapping[str, type]:
    """The classes of the model by name."""
    modules = [import_module(f"memory_mesh.model.{name}") for name in _MODULES]
    return {
        name: each
        for module in modules
        for name, each in vars(module).items()
        if isinstance(each, type) and each.__module__.startswith("memory_mesh.model.")
    }


class _Names(dict[str, object]):
    """What names in an annotation mean; one that stands for no class may be anything."""

    def __missing__(self, name: str) -> object:
        return getattr(builtins, name, object)


@cache
def _class_named(text: str) -> object:
    """What an annotation that is written as text means."""
    known = {"datetime": datetime, "Mapping": Mapping, "Sequence": Sequence, "Iterable": Iterable}
    found: object = eval(text, {}, _Names({**known, **_classes()}))  # noqa: S307  # our own
    return found
