"""Whole stores, by their folder: back up, restore, carry, move, mend and delete.

No mesh has to be open. Each function lies in the module of its name and is loaded when it is first
asked for.
"""

from importlib import import_module

_FUNCTIONS: dict[str, str] = {}  # name to module of this package


def __getattr__(name: str) -> object:
    """The function of that name."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    return found
