"""Answers a request: the one place that the daemon and the fronts without a daemon share."""

from collections.abc import Callable, Mapping
from importlib import import_module

from memory_mesh.agents.opening import Stores
from memory_mesh.errors import InvalidInput
from memory_mesh.typed import Any

Answers = Callable[[Stores, Mapping[str, Any]], dict[str, Any]]
_HOMES = {
    "hook": ("memory_mesh.agents.hook.events", "on_event"),
    "tool": ("memory_mesh.agents.mcp.calls", "call_tool"),
    "resource": ("memory_mesh.agents.mcp.resources", "on_resource"),
    "prompt": ("memory_mesh.agents.mcp.resources", "on_prompt"),
}


def answer(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request, of whatever kind."""
    do = request.get("do")
    if do not in _HOMES:
        raise InvalidInput(f"do must be one of {', '.join(_HOMES)}, not {do!r}")
    module, name = _HOMES[do]
    answers: Answers = getattr(import_module(module), name)
    with stores.borrowing():
        return answers(stores, request)
