"""Mends what a host says: half of a cut emoji or a NUL byte must not cost a prompt its memories."""

from collections.abc import Mapping

from memory_mesh.typed import Any

_UNREADABLE = "\ufffd"


def storable(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, with a sign for the unreadable where no store takes a character."""
    return {_mended(name): _storable(value) for name, value in given.items()}


def _storable(value: object) -> object:
    if isinstance(value, str):
        return _mended(value)
    if isinstance(value, dict):
        return storable(value)
    return [_storable(each) for each in value] if isinstance(value, list) else value


def _mended(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", _UNREADABLE)
