"""Reads the files of words and of learned weights that lie beside the modules which use them."""

from pathlib import Path


def text_beside(module: str, name: str) -> str:
    """Returns a text file of the module's folder."""
    return Path(module).with_name(name).read_text(encoding="utf-8")


def bytes_beside(module: str, name: str) -> bytes:
    """Returns a file of the module's folder as it is."""
    return Path(module).with_name(name).read_bytes()


def word_sets(module: str, name: str) -> dict[str, frozenset[str]]:
    """Returns the sets of a file: after each `[NAME]` its words."""
    sets = (part.partition("]") for part in text_beside(module, name).split("[")[1:])
    return {title: frozenset(words.split()) for title, _, words in sets}
