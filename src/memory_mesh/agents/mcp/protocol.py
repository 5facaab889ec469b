"""The Model Context Protocol in both of its eras, as far as it can be answered from a file.

::

    2024-11-05 … 2025-11-25   initialize, then requests of the version that was agreed on
    2026-07-28                stateless: every request names its version in params._meta

Each request says itself which era it is of, so that a client may probe one and go on in the other.
What a version does not know is left out of its answers. Light: the front loads it at its start.
"""

from memory_mesh._version import __version__
from memory_mesh.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
BATCHED = "2025-03-26"  # the only version with arrays of messages
_ANNOTATED = "2025-03-26"  # the first version with annotations of tools
_STRUCTURED = "2025-06-18"  # the first one with titles, output schemas, meta

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, TOO_MANY = -32602, -32603, -32000
NO_RESOURCE, UNSUPPORTED_VERSION = -32002, -32022

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_CACHED = {*LISTS, "resources/read", "server/discover"}
_ADVICE = "If it happens again, ask the user to run: memory-mesh doctor"
_LIST_MS = 3_600_000  # how long a client may keep a list: it changes with the package only


class Refused(Exception):
    """A request that is answered by a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code: int = code
        self.data: object = data

    def as_json(self) -> dict[str, Any]:
        """The error object."""
        made: dict[str, Any] = {"code": self.code, "message": str(self)}
        return made if self.data is None else made | {"data": self.data}


def version_of(method: str, params: "Mapping[str, Any]", agreed: str) -> str:
    """The version that a request speaks: its own if it names one, else the one agreed on."""
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if method == "initialize" or (VERSION_KEY not in meta and method != "server/discover"):
        return agreed
    missing = [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise Refused(INVALID_PARAMS, f"params._meta misses: {', '.join(missing)}")
    version = meta[VERSION_KEY]
    if not isinstance(version, str):
        raise Refused(INVALID_PARAMS, f"{VERSION_KEY} must be a text")
    if version not in STATELESS:
        supported = {"supported": list(STATELESS), "requested": version}
        raise Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", supported)
    return version


def agreed_on(params: "Mapping[str, Any]") -> str:
    """The version of a handshake: the one that the client asks for, else our latest."""
    asked = params.get("protocolVersion")
    if not isinstance(asked, str):
        raise Refused(INVALID_PARAMS, "initialize needs protocolVersion, a text")
    return asked if asked in HANDSHAKE else HANDSHAKE[-1]


def answered(
    offer: "Mapping[str, Any]", method: str, params: "Mapping[str, Any]", version: str
) -> dict[str, Any] | None:
    """The result of a request that needs no store; None for one that does."""
    if method in LISTS:
        if params.get("cursor") is not None:
            raise Refused(INVALID_PARAMS, "there is one page only: ask without a cursor")
        return {LISTS[method]: [_known(each, version) for each in offer[LISTS[method]]]}
    if method == "ping":
        return {}
    if method == "initialize":
        return {
            "protocolVersion": version,
            "capabilities": _capabilities(),
            "serverInfo": _server(offer, version),
            "instructions": offer["instructions"],
        }
    if method == "server/discover":
        return {
            "supportedVersions": list(STATELESS),
            "capabilities": _capabilities(),
            "instructions": offer["instructions"],
        }
    return None


def shaped(
    offer: "Mapping[str, Any]", method: str, result: dict[str, Any], version: str
) -> dict[str, Any]:
    """A result as its version knows it."""
    if version not in STATELESS:
        if version < _STRUCTURED:
            result = {name: part for name, part in result.items() if name != "structuredContent"}
        return result
    stamp: dict[str, Any] = {
        "resultType": "complete",
        "_meta": {SERVER_KEY: _server(offer, version)},
    }
    if method in _CACHED:
        kept = 0 if method == "resources/read" else _LIST_MS
        scope = "private" if method == "resources/read" else "public"
        stamp |= {"ttlMs": kept, "cacheScope": scope}
    return result | stamp


def failure(kind: str, text: str, version: str) -> Refused:
    """The error for a resource or a prompt that could not be read; `kind` is that of ours."""
    if kind == "NotFound":
        return Refused(INVALID_PARAMS if version in STATELESS else NO_RESOURCE, text)
    return Refused(INVALID_PARAMS if kind == "InvalidInput" else INTERNAL_ERROR, text)


def failed_call(kind: str, text: str) -> dict[str, Any]:
    """The result of a call that nobody answered: an error in a tool is for the model to read."""
    said = f"memory-mesh could not do this ({kind}): {text}\n{_ADVICE}"
    return {"content": [{"type": "text", "text": said}], "isError": True}


def _capabilities() -> dict[str, Any]:
    return {"tools": {}, "resources": {}, "prompts": {}}


def _server(offer: "Mapping[str, Any]", version: str) -> dict[str, Any]:
    made = {"name": offer["name"], "title": offer["title"], "version": __version__}
    return _known(made, version)


def _known(item: "Mapping[str, Any]", version: str) -> dict[str, Any]:
    """A tool, resource, prompt or server without what its version does not know."""
    unknown = {"title", "outputSchema", "_meta"} if version < _STRUCTURED else set()
    if version < _ANNOTATED:
        unknown.add("annotations")
    return {name: part for name, part in item.items() if name not in unknown}
