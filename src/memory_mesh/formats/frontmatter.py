"""Reads YAML frontmatter between `---` lines: plain values only, no aliases, dates as text.

`edited` changes single keys of it and keeps every other line as its author wrote it.
"""

from collections.abc import Mapping
from itertools import pairwise

from memory_mesh.errors import InvalidInput
from memory_mesh.formats import yaml_text
from memory_mesh.model import Json

MAX_CHARACTERS = 20_000
_OTHER_LINE_ENDS = "\r\x85\u2028\u2029"  # YAML counts a line at each of them


def read(text: str) -> dict[str, Json]:
    """Returns the mapping of a frontmatter; InvalidInput says where it is invalid."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidInput(f"the frontmatter has more than {MAX_CHARACTERS} characters")
    try:
        return yaml_text.read_map(text).values
    except yaml_text.YamlFault as fault:
        raise InvalidInput(f"line {fault.line + 1} of the frontmatter: {fault}") from None


def edited(text: str, changed: Mapping[str, str | None]) -> str | None:
    """Returns the frontmatter with the lines of these keys replaced, added or (None) removed.

    None is returned where the keys do not stand one below the other, so that nothing can be kept.
    """
    try:
        found = yaml_text.read_map(text)
    except yaml_text.YamlFault:
        return None
    if not found.block or found.repeated or any(end in text for end in _OTHER_LINE_ENDS):
        return None
    lines = [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []
    starts = sorted(found.lines.values())
    following = dict(pairwise((*starts, len(lines))))
    added = [written for key, written in changed.items() if written and key not in found.lines]
    last = max((_end(lines, start, following[start]) for start in starts), default=len(lines))
    lines[last:last] = added
    for key in sorted(found.lines, key=found.lines.__getitem__, reverse=True):
        if key in changed:
            start = found.lines[key]
            lines[start : _end(lines, start, following[start])] = [changed[key] or ""]
    return "".join(lines)


def _end(lines: list[str], start: int, following: int) -> int:
    """The end of a key's lines; blank lines and comments behind them belong to nobody."""
    while following > start + 1 and lines[following - 1][:1] in {"#", "\n", "\r"}:
        following -= 1
    return following
