"""Reads memory files: any text gives documents and faults, never an error."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.formats import yaml_text
from memory_mesh.formats.documents import (
    END_KEY,
    DocumentSpan,
    prose,
    spans,
)
from memory_mesh.model import Json
from memory_mesh.model.errors import shown

MAX_WORDS = 2_000
IDEAL_WORDS = (200, 500)

IMPORTANCES = ("low", "medium", "high", "critical")
KEYS = (
    "title",
    "whenToUse",
    "tags",
    "importance",
    "discoveredAt",
    "discoveredBy",
    "discoveredIn",
    "source",
    "relatedMemories",
    "memoryId",
)
KNOWN = frozenset((*KEYS, END_KEY))
UNTITLED = "Untitled"


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """One document of a memory file; two are equal when their fields are, wherever they stand."""

    title: str
    when_to_use: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    importance: str = "medium"
    discovered_at: str | None = None
    discovered_by: str | None = None
    discovered_in: str | None = None
    source: str | None = None
    related: tuple[str, ...] = ()
    body: str = ""
    more: Mapping[str, Json] = field(default_factory=dict)  # keys of others, in their order
    memory_id: str | None = None
    raw: str = field(default="", compare=False, repr=False)
    start: int = field(default=0, compare=False)
    stop: int = field(default=0, compare=False)
    readable: bool = field(default=True, compare=False)  # False: its frontmatter is not valid


@dataclass(frozen=True, slots=True)
class FileFault:
    """What is wrong in a file, the line (from 1) where it stands and the document it is in."""

    line: int
    message: str
    document: int = 0


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The documents of a file in their order, and what is wrong with it."""

    documents: tuple[MemoryFile, ...]
    faults: tuple[FileFault, ...] = ()


def parse(text: str, *, name: str | None = None) -> ParsedFile:
    """Reads any text; `name` is the title of a document that has neither a title nor a heading."""
    faults: list[FileFault] = []
    lines = _LineCount(text)
    documents = tuple(
        _document(text, span, name, _Faults(faults, place, lines))
        for place, span in enumerate(spans(text))
    )
    return ParsedFile(documents, tuple(faults))


class _LineCount:
    """Finds the line of a position; the line ends are looked up when the first fault is found."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: list[int] | None = None

    def at(self, position: int) -> int:
        """The line (from 1) of a position."""
        if self._ends is None:
            self._ends = [found.start() for found in re.finditer("\n", self._text)]
        return bisect_left(self._ends, position) + 1


class _Faults:
    """Collects the faults of one document."""

    def __init__(self, into: list[FileFault], document: int, lines: _LineCount) -> None:
        self._into, self._document, self._lines = into, document, lines

    def add(self, position: int, message: str, line: int = 0) -> None:
        """Notes what is wrong `line` lines after a position."""
        self._into.append(FileFault(self._lines.at(position) + line, message, self._document))


def _document(text: str, span: DocumentSpan, name: str | None, faults: _Faults) -> MemoryFile:
    raw = text[span.start : span.stop]
    body = body_of(text, span)
    found, readable = yaml_text.YamlMap(), not span.unclosed
    if span.unclosed:
        faults.add(span.start, "the frontmatter is not closed: write a line `---` below it")
    if span.head is not None:
        block = text[slice(*span.head)]
        try:
            found = yaml_text.read_map(block.replace("\r\n", "\n"), texts=KNOWN)
        except yaml_text.YamlFault as fault:
            faults.add(span.head[0], f"the frontmatter is not read: {fault}", fault.line)
            readable = False
        for key in dict.fromkeys(found.repeated):
            faults.add(span.head[0], f"{key!r} stands twice; the last one counts")
    if span.unmarked:
        faults.add(span.start, f"`{END_KEY}` names a line that is missing; the body may be cut")
    read = _Values(found, faults, span.head[0] if span.head else span.start)
    return _made(read, body, name, raw=raw, span=span, readable=readable)


def _made(
    read: "_Values", body: str, name: str | None, *, raw: str, span: DocumentSpan, readable: bool
) -> MemoryFile:
    stated = read.text("title")
    return MemoryFile(
        title=stated if stated is not None else heading(body) or name or UNTITLED,
        when_to_use=read.texts("whenToUse"),
        tags=read.tags(),
        importance=read.importance(),
        discovered_at=read.time("discoveredAt"),
        discovered_by=read.text("discoveredBy"),
        discovered_in=read.text("discoveredIn"),
        source=read.text("source"),
        related=read.texts("relatedMemories"),
        body=body,
        more=read.more(),
        memory_id=read.text("memoryId"),
        raw=raw,
        start=span.start,
        stop=span.stop,
        readable=readable,
    )


def body_of(text: str, span: DocumentSpan) -> str:
    """The body as its author means it: without blank lines around it, with plain line ends."""
    body = text[slice(*span.body)]
    if line_end(text[span.start : span.stop]) == "\r\n":
        body = body.replace("\r\n", "\n")
    if span.head is not None and span.marked:
        return body.removeprefix("\n").removesuffix("\n")
    return stripped(body)


def stripped(body: str) -> str:
    """Returns a body without blank lines at its beginning and blanks at its end."""
    end = body.rstrip()
    blank = _blank_lines().match(end)
    return end[blank.end() :] if blank else end


def heading(body: str) -> str | None:
    """Returns the text of the first heading outside of code."""
    found = _headings().search(prose(body))
    if found is None:
        return None
    text = found[1].strip()
    closed = text.rstrip("#")
    return (text if closed[-1:].strip() else closed.rstrip()) or None


def is_time(text: str) -> bool:
    """Returns whether a text is a date or time of ISO 8601."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class _Values:
    """The values of a frontmatter as the fields of a memory."""

    def __init__(self, found: yaml_text.YamlMap, faults: _Faults, position: int) -> None:
        self._found, self._faults, self._position = found, faults, position

    def text(self, key: str) -> str | None:
        """The text under a key; a list or map is none."""
        value = self._found.values.get(key)
        if value is None or isinstance(value, str):
            return value
        self._wrong(key, "must be text")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts under a key; a single text is a list of one."""
        value = self._found.values.get(key)
        if isinstance(value, Mapping):
            self._wrong(key, "must be text or a list of texts")
            return ()
        return (value,) if isinstance(value, str) else tuple(_flat(value))

    def tags(self) -> tuple[str, ...]:
        """The tags; a text is split at commas and blanks as note-taking programs write it."""
        value = self._found.values.get("tags")
        if not isinstance(value, str):
            return self.texts("tags")
        parts = value.split(",") if "," in value else value.split()
        return tuple(part.strip().lstrip("#") for part in parts if part.strip().lstrip("#"))

    def time(self, key: str) -> str | None:
        """A time as it is written; whatever is no ISO 8601 is a fault."""
        said = self.text(key)
        if said is not None and not is_time(said):
            self._wrong(key, f"is {shown(said)}; write a time such as 2026-01-23T10:30:00Z")
        return said

    def importance(self) -> str:
        """One of the four words; medium when nothing or anything else is said."""
        said = self.text("importance")
        if said is None:
            return "medium"
        if said.strip().lower() in IMPORTANCES:
            return said.strip().lower()
        self._wrong("importance", f"is {shown(said)}; write one of {', '.join(IMPORTANCES)}")
        return "medium"

    def more(self) -> dict[str, Json]:
        """Every key that is not of this format."""
        return {key: value for key, value in self._found.values.items() if key not in KNOWN}

    def _wrong(self, key: str, why: str) -> None:
        self._faults.add(self._position, f"`{key}` {why}", self._found.lines.get(key, 0))


def _flat(value: Json) -> Iterator[str]:
    """The texts of a list; `[[Name]]` without quotes is a list in a list."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for item in value:
            yield from _flat(item)


def line_end(text: str) -> str:
    r"""How the lines of a text end: `\r\n` where the first one does."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


_headings = lazy_pattern(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]*)", re.MULTILINE)


_blank_lines = lazy_pattern(r"(?:[^\S\n]*+\n)*+")


# Says how a memory file could be better, and which one is too long to be stored.


def refusal(document: MemoryFile) -> str | None:
    """Returns why a document is not stored as a new memory, or None."""
    words = word_count(document.body)
    if words <= MAX_WORDS:
        return None
    return f"it has {words:,} words; a memory has at most {MAX_WORDS:,}: split it into several"


def advice(document: MemoryFile) -> tuple[str, ...]:
    """Returns what the guidelines of the format miss in a document; nothing of it is an error."""
    return (*_of_fields(document), *_of_body(document.body))


def word_count(body: str) -> int:
    """Returns the words of a body, code included."""
    return len(body.split())


def _of_fields(document: MemoryFile) -> Iterator[str]:
    if document.title == UNTITLED or not document.title.strip():
        yield "it has no title: write `title`"
    if not document.when_to_use:
        yield "it has no triggers, so only a search finds it: write `whenToUse`"
    if not document.tags:
        yield "it has no tags: write `tags`"
    if document.discovered_at is None:
        yield "it does not say when it was found: write `discoveredAt`"
    if document.discovered_by is None:
        yield "it does not say who found it: write `discoveredBy`"


def _of_body(body: str) -> Iterator[str]:
    least, most = IDEAL_WORDS
    words = word_count(body)
    if not least <= words <= most:
        yield f"it has {words:,} words; {least} to {most} are ideal, {MAX_WORDS:,} the most"
    text = prose(body)
    if not _advised_headings().search(text):
        yield "it has no heading: begin with `# Title`"
    elif not _summary().search(text):
        yield "it has no summary: write one sentence below the first heading"
    if not _sections().search(text):
        yield "it has no sections: write `## Overview` and `## Key Points`"
    if not _lists().search(text):
        yield "it has no list: write the key points as `- …`"
    if len(text) == len(body):
        yield "it has no code example: write one between ``` lines"


_advised_headings = lazy_pattern(r"^#{1,6}[ \t]+\S", re.MULTILINE)


# Text directly below the first heading.
_summary = lazy_pattern(r"\A(?:(?!#{1,6}[ \t])[^\n]*\n)*+#[^\n]*\n(?:[ \t\r]*\n)*+[^\s#\-*+>|]")


_sections = lazy_pattern(r"^##[ \t]+\S", re.MULTILINE)


_lists = lazy_pattern(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\S", re.MULTILINE)
