"""How hits look to a person at a terminal: the text, then when, where from and why it ranks."""

import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime

from memory_mesh.cli import output
from memory_mesh.model import Hit, Memory

_NARROWEST, _WIDEST = 20, 100  # columns of a text
_LINES = 6  # of a text; `get` shows the rest
_WIDE = 2  # columns of an East Asian character
_AGES = (
    (365 * 86_400, "year"), (30 * 86_400, "month"), (7 * 86_400, "week"), (86_400, "day"),
    (3_600, "hour"), (60, "minute"),
)  # fmt: skip


def lines(hits: Sequence[Hit], user: str | None, now: datetime) -> Iterator[str]:
    """The hits from best to worst, with an empty line between two."""
    indent = len(str(len(hits))) + 2
    width = min(_WIDEST, max(_NARROWEST, shutil.get_terminal_size().columns - indent))
    for number, hit in enumerate(hits, start=1):
        if number > 1:
            yield ""
        text = wrapped(output.unbroken(hit.content), width, _LINES)
        yield output.bold(f"{number}".rjust(indent - 2)) + f"  {text[0]}"
        yield from (" " * indent + line for line in text[1:])
        whose = user if hit.view is None else hit.view.user or f"namespace {hit.view.namespace}"
        told = " · ".join((*_about(hit.memory, whose, now), *_why(hit), hit.id))
        yield from (" " * indent + output.dim(line) for line in wrapped(told, width, _LINES))


def wrapped(text: str, columns: int, most: int) -> list[str]:
    """The text in lines of so many columns; what does not fit in so many lines ends with a mark."""
    rows, row, used = list[str](), "", 0
    for word in text.split(" "):
        size = _columns(word)
        if row and used + 1 + size > columns:
            rows.append(row)
            row, used = "", 0
        while size > columns:  # a long path, or a language without spaces
            fits = _fitting(word, columns)
            rows.append(word[:fits])
            word = word[fits:]  # noqa: PLW2901  # what is left of it
            size = _columns(word)
        row, used = (f"{row} {word}", used + 1 + size) if row else (word, size)
    rows.append(row)
    if len(rows) > most:
        rows = [*rows[: most - 1], rows[most - 1][: max(1, _fitting(rows[most - 1], columns - 2))]]
        rows[-1] += " …"
    return rows


def ago(then: datetime, now: datetime) -> str:
    """How long ago something was: 3 days ago."""
    seconds = (now - then).total_seconds()
    for size, name in _AGES:
        if seconds >= size:
            return f"{output.counted(int(seconds // size), name)} ago"
    return "just now" if seconds >= 0 else then.date().isoformat()


def _about(memory: Memory, user: str | None, now: datetime) -> Iterator[str]:
    """When it was said or stored, by whom and for whom."""
    yield ago(memory.occurred_at or memory.created, now)
    if memory.speaker:
        yield f"said by {output.unbroken(memory.speaker)}"
    elif memory.source.agent:
        yield f"from {output.unbroken(memory.source.agent)}"
    yield output.place_of(memory, user)
    if memory.pinned:
        yield "pinned"
    if memory.tags:
        yield " ".join(f"#{output.unbroken(tag)}" for tag in memory.tags)


def _why(hit: Hit) -> Iterator[str]:
    """What its rank is made of, in words."""
    yield f"score {hit.score:.2f}"
    parts = hit.parts
    if parts.get("covered"):
        yield f"{100 * min(1.0, parts['covered']):.0f} % of the words"
    if parts.get("cosine"):
        yield f"meaning {parts['cosine']:.2f}"
    if parts.get("speaker"):
        yield "said by whom you name"
    if parts.get("in_period", 0) > 0:
        yield "in the time you name"
    if hit.newer:
        yield f"updated by {hit.newer}"
    if hit.conflict:
        yield f"conflicts with {hit.conflict}: memory-mesh conflicts"


def _columns(text: str) -> int:
    return len(text) if text.isascii() else sum(_width(char) for char in text)


def _fitting(text: str, columns: int) -> int:
    """How many characters fit, at least one."""
    used = 0
    for place, char in enumerate(text):
        used += _width(char)
        if used > columns:
            return max(1, place)
    return len(text)


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return _WIDE if unicodedata.east_asian_width(char) in "WF" else 1
