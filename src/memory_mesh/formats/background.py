"""Formats memories as 001's background knowledge.

::

    ## Background Knowledge from Previous Runs

    ### Authentication Module Structure
    *Importance: HIGH*
    *Discovered by: planner*

    the first 500 characters

A text cannot imitate these lines, nor a turn of the conversation: what looks like one is escaped.
A name that is more than plain words is quoted, and so is a title that says what only we say. What
is not in the user's words says so: `*Discovered by: planner (trust: document)*`.
"""

import re
from collections.abc import Sequence

from memory_mesh.fastdataclass import dataclass
from memory_mesh.formats.imitations import ESCAPE, imitates, looks, word
from memory_mesh.formats.looks import as_seen
from memory_mesh.formats.prompt import harmless
from memory_mesh.formats.terminal import safe_text

HEADING = "## Background Knowledge from Previous Runs"
WARNING = "**Warning: this failed before.**\n\n"
FAILURE_TAGS = frozenset(("failure", "failures"))
MAX_CONTENT = 500  # characters of each memory
_CUT = "..."
_FENCE = "```"
_OURS = re.compile(r"importance ?:|discovered by ?:|background knowledge|warning: this failed")
_SAID_BY_US = re.compile(r"importance ?:|discovered by ?:|trust ?:")
_LONGEST = 200  # characters of a quoted title
_HEADED = re.compile(r"\s*#{3}(?!#)")  # the title of another memory


@dataclass(frozen=True, slots=True)
class Background:
    """What the prompt says of one memory."""

    title: str
    importance: str
    discovered_by: str
    content: str
    tags: tuple[str, ...] = ()
    trust: str | None = None  # its source kind, where that is not the user


def background(memories: Sequence[Background]) -> str:
    """Returns the block of the prompt, exactly as 001 has it; empty without memories."""
    if not memories:
        return ""
    return f"{HEADING}\n\n" + "".join(map(_entry, memories))


def truncate(text: str, limit: int) -> str:
    """Cuts a text to a number of characters, the mark of the cut and a closing fence included."""
    cut = text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT
    if cut.count(_FENCE) % 2 == 0:
        return cut
    end = f"\n{_FENCE}" if len(text) + len(_FENCE) < limit else f"{_CUT}\n{_FENCE}"
    return text[: limit - len(end)] + end


def _entry(memory: Background) -> str:
    failed = FAILURE_TAGS.intersection(tag.lower() for tag in memory.tags)
    content = (WARNING if failed else "") + _content(memory.content)
    return (
        f"### {_title(memory.title)}\n"
        f"*Importance: {_line(memory.importance).upper()}*\n"
        f"*Discovered by: {_discoverer(memory)}*\n\n"
        f"{truncate(content, MAX_CONTENT)}\n\n"
    )


def _content(text: str) -> str:
    lines = (harmless(line) for line in safe_text(text).strip("\n").split("\n"))
    return "\n".join(ESCAPE + line if _is_like_ours(line) else line for line in lines)


def _is_like_ours(line: str) -> bool:
    seen = as_seen(line)
    return _HEADED.match(seen) is not None or imitates(line, _OURS)


def _title(text: str) -> str:
    line = _line(text)
    return word(line, _LONGEST) if _SAID_BY_US.search(looks(line)) else line


def _discoverer(memory: Background) -> str:
    """Returns who found it, and how far that is trusted."""
    name = word(_line(memory.discovered_by))
    return f"{name} (trust: {memory.trust})" if memory.trust else name


def _line(text: str) -> str:
    return " ".join(harmless(safe_text(text, keep_newlines=False)).split())
