"""Answers a call of a tool, in the daemon or in the front: arguments in, content out.

An error is a result that the model can read, with what to do next.
"""

from collections.abc import Iterator, Mapping

from memory_mesh.agents.mcp import reading, writing
from memory_mesh.agents.mcp.aliases import Tool, ToolSet, set_named
from memory_mesh.agents.mcp.arguments import checked
from memory_mesh.agents.mcp.calling import ToolCall
from memory_mesh.agents.mcp.tools import TOOLS
from memory_mesh.agents.opening import Stores
from memory_mesh.errors import (
    InvalidInput,
    MayBeStored,
    MeshError,
    NotFound,
    StoreIsAway,
    StoreIsBusy,
    StoreIsFull,
)
from memory_mesh.formats.private import without_private
from memory_mesh.formats.terminal import safe_text
from memory_mesh.typed import Any

_ANSWERS: Mapping[str, Tool] = {
    "memory_store": writing.store,
    "memory_search": reading.search,
    "memory_get": reading.get,
    "memory_context": reading.context,
    "memory_forget": writing.forget,
    "memory_feedback": writing.feedback,
    "memory_explain": reading.explain,
    "memory_reflect": reading.reflect,
}
_OWN = ToolSet(TOOLS, _ANSWERS, "memory_search")
_ADVICE: tuple[tuple[type[MeshError], str], ...] = (
    (NotFound, "No such memory is visible here; find ids with {finder}."),
    (StoreIsBusy, "Nothing was done. Call the tool again in a moment."),
    (StoreIsAway, "Nothing was stored. Call the tool again in a moment."),
    (MayBeStored, "It may be stored: look for it with {finder} before you store it again."),
    (StoreIsFull, "Tell the user that the disk is full; nothing was stored."),
    (InvalidInput, "Correct the arguments and call the tool again."),
    (MeshError, "Ask the user to run `memory-mesh doctor`, which says what is wrong."),
)
_PRIVATE = "nothing was done: the text repeats what the user marked as private in this session"


def call_tool(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result of a call: content, structured content, and whether it failed."""
    given, offered = request["input"], _OWN
    name, stated = str(given.get("name")), given.get("arguments") or {}
    try:
        if given.get("compat") is not None:
            offered = set_named(given["compat"])
        schema = offered.schema(name)
        known = checked(schema, {each: _public(each, stated[each]) for each in stated})
        call = ToolCall(stores, request)
        if not schema["annotations"]["readOnlyHint"] and call.hides(_texts(known)):
            raise InvalidInput(_PRIVATE)
        answer, said = offered.answers[name](call, known)
    except MeshError as error:
        return failed(error, offered.finder)
    texts = [said] if isinstance(said, str) else said
    content = [_block(text) for text in texts]
    return {"content": content, "structuredContent": answer, "isError": False}


def failed(error: MeshError, finder: str = _OWN.finder) -> dict[str, Any]:
    """The result of a call that failed: what happened, and what to do next."""
    advice = next(said for kind, said in _ADVICE if isinstance(error, kind)).format(finder=finder)
    text = advice if isinstance(error, NotFound) else f"{safe_text(str(error))}\n{advice}"
    return {"content": [_block(text)], "isError": True}


def _public(name: str, value: object) -> object:
    """Texts without what the user marked as private: it is neither stored nor looked for."""
    if isinstance(value, list):
        return [_public(name, each) for each in value]
    if isinstance(value, dict):
        return {key: _public(name, each) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    public = without_private(value)
    if value.strip() and not public.strip():
        raise InvalidInput(f"all of {name} is marked as private, so nothing was done with it")
    return public


def _texts(value: object) -> Iterator[str]:
    """Every text in the arguments of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
