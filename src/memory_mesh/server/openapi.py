"""The description of the service as OpenAPI 3.1, from the declared operations and their values."""

from collections.abc import Mapping
from urllib.parse import quote

from memory_mesh._version import __version__
from memory_mesh.base.typed import Any
from memory_mesh.formats import wire
from memory_mesh.model.block import Block
from memory_mesh.model.care import ImportedFile
from memory_mesh.server.problems import TYPE
from memory_mesh.server.routes import PREFIX, ServiceRoute
from memory_mesh.server.streams import EVENTS, LINES

_HEADERS = {
    "User": "Whose memories: the id of a user, percent-encoded.",
    "Namespace": "Which part of the store, unless it is a user's; `default` by default.",
    "Project": "The project of the reader and writer.",
    "Agent": "The agent; by default the name of the key.",
    "Session": "The session.",
    "Channel": "Where texts come from; never trusted more than the key.",
}
_EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "add": {"content": "The user prefers dark themes", "tags": ["ui"]},
    "add_many": {"items": ["The office is in Oslo", "Standup is at nine"]},
    "search": {"query": "which theme?", "limit": 5},
    "context": {"question": "Set up the editor", "max_tokens": 800},
    "get": {"memory_id": "mem_1795094650219_b1e7eb"},
    "erase": {"memory_id": "mem_1795094650219_b1e7eb", "dry_run": True},
}
_STATUSES = {
    "400": "An option is not valid.",
    "401": "There is no valid key.",
    "403": "The key may not do this there.",
    "404": "There is no such memory here.",
    "409": "It contradicts an earlier call.",
    "412": "The memory has another version by now.",
    "413": "The body is too large.",
    "429": "The key asks too often.",
    "501": "An extra is not installed there.",
    "502": "A model or service behind it did not answer.",
    "503": "The store is busy or away; try again.",
    "507": "The disk is full.",
}
Schema = dict[str, Any]


def description(routes: Mapping[str, ServiceRoute]) -> Schema:
    """The whole description."""
    known: dict[str, Schema] = {}
    paths: dict[str, Schema] = {path: _of(route, known) for path, route in routes.items()}
    for value in (Block, ImportedFile):
        wire.schema(value, known)
    paths |= _STREAMS
    for name, about in {
        "livez": "Whether it runs.",
        "readyz": "Whether the store answers.",
    }.items():
        plain = {"description": "ok", "content": {"text/plain": {"schema": {"type": "string"}}}}
        paths[f"/{name}"] = {
            "get": {
                "operationId": name,
                "summary": about,
                "security": [],
                "responses": {"200": plain},
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "memory-mesh", "version": __version__, "description": _ABOUT},
        "security": [{"key": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(known.items())) | {"Problem": _PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "parameters": {name: _header(name, about) for name, about in _HEADERS.items()},
            "responses": {
                "Problem": {
                    "description": " ".join(
                        f"{status}: {said}" for status, said in _STATUSES.items()
                    ),
                    "content": {"application/problem+json": {"schema": _ref("schemas", "Problem")}},
                }
            },
        },
    }


def _stream(id_: str, about: str, asked: Schema, kinds: Mapping[str, Schema]) -> Schema:
    """A route that is no operation."""
    content = {kind: {"schema": schema} for kind, schema in kinds.items()}
    return {
        "operationId": id_,
        "tags": ["streams"],
        "summary": about,
        **asked,
        "responses": {
            "200": {"description": about, "content": content},
            "default": _ref("responses", "Problem"),
        },
    }


def _asked(**names: str) -> Schema:
    """Parameters of a query, and the headers that say whose memories."""
    named = [
        {"name": name, "in": "query", "schema": {"type": kind}} for name, kind in names.items()
    ]
    return {"parameters": [*named, *(_ref("parameters", name) for name in _HEADERS)]}


_ABOUT = (
    "Every operation of a mesh: `mesh.review.decide(id, approve=…)` is `POST /v1/review/decide` "
    "with the options as a JSON object. Headers say whose memories."
)
_PROBLEM: Schema = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "description": f"{TYPE} and the name of the error."},
        "title": {"type": "string", "description": "The name of the error in Python."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What went wrong, and what to do."},
    },
    "required": ["type", "title", "status", "detail"],
}


def _of(route: ServiceRoute, known: dict[str, Schema]) -> Schema:
    options, needed = dict[str, Schema](), list[str]()
    for option in route.options.values():
        about = option.about and f"{option.about[0].upper()}{option.about[1:]}."
        options[option.name] = wire.schema(option.kind, known) | (
            {"description": about} if about else {}
        )
        if option.is_required:
            needed.append(option.name)
    doc = (route.operation.__wrapped__.__doc__ or "").partition("Options:")[0]
    lines = [line.strip() for line in doc.strip().splitlines()]
    about, more = lines[0], "\n".join(lines[1:]).strip()
    result = wire.schema(route.operation.__wrapped__.__annotations__.get("return"), known)
    made = _post(
        route.name.rstrip("_").replace(".", "_"),
        route.name.rpartition(".")[0] or "memories",
        about,
        _object(options, needed),
        result,
    )
    if more:
        made["post"]["description"] = more
    if route.name in _EXAMPLES:
        content = made["post"]["requestBody"]["content"]["application/json"]
        content["example"] = dict(_EXAMPLES[route.name])
    made["post"]["x-needs"] = route.needs
    made["post"]["parameters"] = [_ref("parameters", name) for name in _HEADERS]
    if route.tells_progress:
        made["post"]["responses"]["200"]["content"][EVENTS] = {"schema": {"type": "string"}}
    if "if_version" in route.options:
        made["post"]["parameters"] += [
            _header("If-Match", "The ETag that it must still have, else 412.", prefix="")
        ]
    if route.name in {"add", "evolve", "add_many"}:
        made["post"]["parameters"] += [
            _header("Idempotency-Key", "The same key stores nothing twice.", prefix="")
        ]
    return made


def _post(id_: str, tag: str, about: str, body: Schema, result: Schema) -> Schema:
    return {
        "post": {
            "operationId": id_,
            "tags": [tag],
            "summary": about,
            "requestBody": {
                "required": bool(body.get("required")),
                "content": {"application/json": {"schema": body}},
            },
            "responses": {
                "200": {
                    "description": "What the operation returns.",
                    "content": {"application/json": {"schema": result}},
                },
                "default": _ref("responses", "Problem"),
            },
        }
    }


def _object(properties: Schema, needed: list[str]) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return made | {"required": needed} if needed else made


def _header(name: str, about: str, prefix: str = "Memory-Mesh-") -> Schema:
    return {
        "name": f"{prefix}{name}",
        "in": "header",
        "description": about,
        "schema": {"type": "string"},
    }


def _ref(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{quote(name)}"}


_TEXT: Schema = {"type": "string"}
_STREAMS: Schema = {
    f"{PREFIX}changes": {
        "get": _stream(
            "changes",
            "What was written after a write; as events, each write as it comes.",
            _asked(after="integer", limit="integer"),
            {
                "application/json": _object(
                    {
                        "items": {"type": "array", "items": _ref("schemas", "Block")},
                        "after": {"type": "integer", "description": "Where to go on."},
                    },
                    ["items", "after"],
                ),
                EVENTS: _TEXT,
            },
        )
    },
    f"{PREFIX}export": {
        "get": _stream(
            "export", "The memories, one per line.", _asked(filter="string"), {LINES: _TEXT}
        )
    },
    f"{PREFIX}import": {
        "post": _stream(
            "import",
            "Stores memories, one per line.",
            _asked() | {"requestBody": {"required": True, "content": {LINES: {"schema": _TEXT}}}},
            {"application/json": _ref("schemas", "ImportedFile")},
        )
    },
}
