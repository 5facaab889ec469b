"""Reads YAML and keeps the line of each value, so that an error can name it."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from memory_mesh.errors import InvalidInput
from memory_mesh.typed import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from yaml import Node

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands: the keys and places from the top of the file."""
Lines: TypeAlias = Mapping[Path, int]


def read(text: str, file: str) -> tuple[object, Lines]:
    """Returns the values of a file, and the line of each; a key that is there twice is an error."""
    import yaml

    try:
        values = yaml.safe_load(text)
        top = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        shown = " ".join(str(error).split())
        raise InvalidInput(f"{file} is not valid YAML: {shown}") from None
    lines: dict[Path, int] = {}
    try:
        if top is not None:
            _walk(top, (), lines, file)
    except RecursionError:
        raise InvalidInput(f"{file} holds a value that contains itself") from None
    return values, lines


def unknown(key: object, known: Iterable[str], where: str) -> str:
    """Returns what to say of a key that is not allowed: the nearest one, and all that are."""
    allowed = sorted(known)
    near = get_close_matches(str(key), allowed, 1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return f"there is no {str(key)!r} in {where}{hint} Allowed: {', '.join(allowed)}"


def _walk(node: "Node", path: Path, lines: dict[Path, int], file: str) -> None:
    import yaml

    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for place, item in enumerate(node.value):
            _walk(item, (*path, place), lines, file)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner, line = (*path, str(key.value)), key.start_mark.line + 1
            if inner in lines:
                raise InvalidInput(f"{file}, line {line}: {key.value} is there twice")
            lines[inner] = line
            _walk(value, inner, lines, file)
