"""Packages of extras: whether they are installed, asked without loading them."""

from importlib.util import find_spec

from memory_mesh.model.errors import MissingExtra


def is_installed(module: str) -> bool:
    """Returns whether a module of this name can be imported."""
    return find_spec(module) is not None


def need(module: str, *, extra: str, purpose: str) -> None:
    """Raises MissingExtra, which says what to install, unless the module is there."""
    if not is_installed(module):
        raise MissingExtra.of(extra, purpose)
