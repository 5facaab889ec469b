"""Answers a call of a tool, in the daemon or in the front: arguments in, content out.

An error is a result that the model can read, with what to do next.
"""

from collections.abc import Callable, Mapping

from memory_mesh.agents.mcp import reading, writing
from memory_mesh.agents.mcp.arguments import checked
from memory_mesh.agents.mcp.calling import ToolCall
from memory_mesh.agents.mcp.tools import BY_NAME
from memory_mesh.agents.opening import Stores
from memory_mesh.errors import (
    InvalidInput,
    MeshError,
    NotFound,
    StoreIsBusy,
    StoreIsFull,
)
from memory_mesh.formats.private import without_private
from memory_mesh.formats.terminal import safe_text
from memory_mesh.typed import Any, TypeAlias

Tool: TypeAlias = Callable[[ToolCall, Mapping[str, Any]], tuple[dict[str, Any], str]]
_TOOLS: Mapping[str, Tool] = {
    "memory_store": writing.store,
    "memory_search": reading.search,
    "memory_get": reading.get,
    "memory_context": reading.context,
    "memory_forget": writing.forget,
    "memory_feedback": writing.feedback,
    "memory_explain": reading.explain,
    "memory_reflect": reading.reflect,
}
_ADVICE: tuple[tuple[type[MeshError], str], ...] = (
    (NotFound, "No such memory is visible here; find ids with memory_search."),
    (StoreIsBusy, "Nothing was done. Call the tool again in a moment."),
    (StoreIsFull, "Tell the user that the disk is full; nothing was stored."),
    (InvalidInput, "Correct the arguments and call the tool again."),
    (MeshError, "Ask the user to run `memory-mesh doctor`, which says what is wrong."),
)


def call_tool(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the result of a call: content, structured content, and whether it failed."""
    name = str(request["input"].get("name"))
    try:
        if name not in _TOOLS:
            raise InvalidInput(f"there is no tool {name[:80]!r}; there are: {', '.join(_TOOLS)}")
        stated = request["input"].get("arguments") or {}
        given = checked(BY_NAME[name], {each: _public(each, stated[each]) for each in stated})
        answer, text = _TOOLS[name](ToolCall(stores, request), given)
    except MeshError as error:
        return failed(error)
    return {"content": [_block(text)], "structuredContent": answer, "isError": False}


def failed(error: MeshError) -> dict[str, Any]:
    """The result of a call that failed: what happened, and what to do next."""
    advice = next(said for kind, said in _ADVICE if isinstance(error, kind))
    text = advice if isinstance(error, NotFound) else f"{safe_text(str(error))}\n{advice}"
    return {"content": [_block(text)], "isError": True}


def _public(name: str, value: object) -> object:
    """A text without what the user marked as private: it is neither stored nor looked for."""
    if not isinstance(value, str):
        return value
    public = without_private(value)
    if value.strip() and not public.strip():
        raise InvalidInput(f"all of {name} is marked as private, so nothing was done with it")
    return public


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
