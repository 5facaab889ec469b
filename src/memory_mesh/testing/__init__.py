"""Shipped for those who test against the product, or write an embedder or an adapter for it.

The suites need pytest. Each is loaded when it is asked for, so that the clock and the scripted
model work without it.
"""

from importlib import import_module

from memory_mesh.base.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from memory_mesh.testing.adapter_contract import AdapterContract
    from memory_mesh.testing.doubles import FrozenClock, ScriptedLLM
    from memory_mesh.testing.embedder_contract import EmbedderContract

__all__ = [
    "AdapterContract",
    "EmbedderContract",
    "FrozenClock",
    "ScriptedLLM",
]

_HOMES = {  # name to module of this package
    "AdapterContract": "adapter_contract",
    "EmbedderContract": "embedder_contract",
    "FrozenClock": "doubles",
    "ScriptedLLM": "doubles",
}


def __getattr__(name: str) -> object:
    """The class of that name."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    """The public names, whether loaded or not."""
    return sorted(__all__)
