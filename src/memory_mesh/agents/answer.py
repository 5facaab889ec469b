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
    with stores.borrowing():
        return _answers(request.get("do"))(stores, request)


def _answers(do: object) -> Answers:
    if do == "warm":
        return _warm
    if do not in _HOMES:
        raise InvalidInput(f"do must be one of {', '.join((*_HOMES, 'warm'))}, not {do!r}")
    module, name = _HOMES[str(do)]
    answers: Answers = getattr(import_module(module), name)
    return answers


def _warm(stores: Stores, request: Mapping[str, Any]) -> dict[str, Any]:
    """Opens the store and loads the model, so that the next request need not wait for either."""
    stores.warm(request)
    return {}
