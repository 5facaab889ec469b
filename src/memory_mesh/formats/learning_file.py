"""The text of a learning, as seed 002 writes it, and back.

::

    # Learning: {pattern name}
    ## Context                  how often, with what success, with which tools
    ## Key Insights             a numbered list
    ## Recommended Approach     step by step
    ## Anti-Patterns            bullets
"""

import re
from collections.abc import Sequence
from functools import cache

from memory_mesh.fastdataclass import dataclass

NOTHING = "None observed"
_INSIGHTS, _APPROACH, _ANTI_PATTERNS = "Key Insights", "Recommended Approach", "Anti-Patterns"


@dataclass(frozen=True, slots=True)
class LearningFile:
    """What a learning says; every item is one line."""

    name: str
    count: int
    rate: int  # per cent of the executions that succeeded
    tools: tuple[str, ...] = ()
    insights: tuple[str, ...] = ()
    approach: tuple[str, ...] = ()
    anti_patterns: tuple[str, ...] = ()


def render(learning: LearningFile) -> str:
    """Returns the text of a learning."""
    tools = ", ".join(map(_line, learning.tools)) or NOTHING
    return "\n".join(
        (
            f"# Learning: {_line(learning.name)}",
            "",
            "## Context",
            f"- Observed in {learning.count} executions",
            f"- Success rate: {learning.rate}%",
            f"- Common tools: {tools}",
            "",
            f"## {_INSIGHTS}",
            *_numbered(learning.insights),
            "",
            f"## {_APPROACH}",
            *_numbered(learning.approach),
            "",
            f"## {_ANTI_PATTERNS}",
            *(f"- {_line(item)}" for item in learning.anti_patterns or (NOTHING,)),
        )
    )


def parse(text: str) -> LearningFile | None:
    """Reads the text of a learning; None where its heading or its context is missing."""
    sections = _sections(text)
    name = next((head for head in sections if head.startswith("Learning:")), None)
    context = "\n".join(sections.get("Context", ()))
    counted, rated = _count().search(context), _rate().search(context)
    if name is None or counted is None or rated is None:
        return None
    tools = _tools().search(context)
    return LearningFile(
        name.removeprefix("Learning:").strip(),
        int(counted[1]),
        int(rated[1]),
        tuple(_real([one.strip() for one in (tools[1] if tools else "").split(", ")])),
        tuple(_items(sections.get(_INSIGHTS, ()))),
        tuple(_items(sections.get(_APPROACH, ()))),
        tuple(_items(sections.get(_ANTI_PATTERNS, ()))),
    )


def _sections(text: str) -> dict[str, list[str]]:
    """Returns the lines under each heading."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        heading = _headings().fullmatch(line.rstrip())
        if heading:
            lines = found.setdefault(heading[1].strip(), [])
        elif line.strip():
            lines.append(line.strip())
    return found


def _items(lines: Sequence[str]) -> list[str]:
    return _real([_markers().sub("", line, count=1) for line in lines])


def _real(items: Sequence[str]) -> list[str]:
    """Returns the items without the one that says that there is none."""
    return [item for item in items if item and item != NOTHING]


def _numbered(items: Sequence[str]) -> list[str]:
    return [f"{place}. {_line(item)}" for place, item in enumerate(items or (NOTHING,), start=1)]


def _line(text: str) -> str:
    return " ".join(text.split())


@cache
def _headings() -> re.Pattern[str]:
    return re.compile(r"#{1,2}\s++(.+)")


@cache
def _markers() -> re.Pattern[str]:
    return re.compile(r"\A(?:\d+[.)]|[-*])\s+")


@cache
def _count() -> re.Pattern[str]:
    return re.compile(r"Observed in (\d+) executions?")


@cache
def _rate() -> re.Pattern[str]:
    return re.compile(r"Success rate: (\d+)%")


@cache
def _tools() -> re.Pattern[str]:
    return re.compile(r"Common tools: (.+)")
