"""Memory files: Markdown with frontmatter that people read, edit and keep in git.

A file holds one document, or several that were appended one after another. `parse` reads any text
and never raises. `render`, `append` and `replace_document` write; what they do not mean to change
keeps its bytes.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from memory_mesh.errors import InvalidInput
from memory_mesh.formats import yaml_text
from memory_mesh.formats.documents import (
    END_KEY,
    SEPARATOR,
    Span,
    end_line,
    open_fence,
    prose,
    spans,
)
from memory_mesh.model import Json

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
_KNOWN = frozenset((*KEYS, END_KEY))
_UNTITLED = "Untitled"


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
class Fault:
    """What is wrong in a file, the line (from 1) where it stands and the document it is in."""

    line: int
    message: str
    document: int = 0


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The documents of a file in their order, and what is wrong with it."""

    documents: tuple[MemoryFile, ...]
    faults: tuple[Fault, ...] = ()


def parse(text: str, *, name: str | None = None) -> ParsedFile:
    """Reads any text; `name` is the title of a document that has neither a title nor a heading."""
    faults: list[Fault] = []
    lines = _LineCount(text)
    documents = tuple(
        _document(text, span, name, _Faults(faults, place, lines))
        for place, span in enumerate(spans(text))
    )
    return ParsedFile(documents, tuple(faults))


def render(document: MemoryFile) -> str:
    """Returns the document as text; parsing gives back the same fields."""
    head = "".join(_entries(document))
    return _whole(head, document.body)


def append(existing: str, document: MemoryFile) -> str:
    """Returns the file with one more document at its end; every earlier byte stays."""
    return existing + addition(existing, document)


def addition(existing: str, document: MemoryFile) -> str:
    """Returns what must be written behind the existing text to append a document."""
    written = render(document)
    if not existing:
        return written
    separator = SEPARATOR
    fence = open_fence(existing)
    if fence is not None:  # or the new document would be code
        separator = ("" if existing.endswith("\n") else "\n") + fence + separator
    whole = separator + written
    return whole.replace("\n", "\r\n") if _breaks(existing) == "\r\n" else whole


def replace_document(text: str, index: int, document: MemoryFile) -> str:
    """Returns the file with one document changed; all others keep their bytes."""
    before = parse(text).documents
    if not 0 <= index < len(before):
        raise InvalidInput(f"the file has {len(before)} documents, so there is no number {index}")
    old = before[index]
    if old == document:
        return text
    head, tail = text[: old.start], text[old.stop :]
    written = render(document)
    if not old.raw.endswith("\n"):
        written = written.removesuffix("\n")
    if _breaks(old.raw) == "\r\n":
        written = written.replace("\n", "\r\n")
    return head + written + tail


class _LineCount:
    """Counts lines up to positions that only grow."""

    def __init__(self, text: str) -> None:
        self._text, self._position, self._line = text, 0, 1

    def at(self, position: int) -> int:
        """The line (from 1) of a position."""
        if position >= self._position:
            self._line += self._text.count("\n", self._position, position)
            self._position = position
        return self._line


class _Faults:
    """Collects the faults of one document."""

    def __init__(self, into: list[Fault], document: int, lines: _LineCount) -> None:
        self._into, self._document, self._lines = into, document, lines

    def add(self, position: int, message: str, line: int = 0) -> None:
        """Notes what is wrong `line` lines after a position."""
        self._into.append(Fault(self._lines.at(position) + line, message, self._document))


def _document(text: str, span: Span, name: str | None, faults: _Faults) -> MemoryFile:
    raw = text[span.start : span.stop]
    body = _body(text, span)
    found, readable = yaml_text.Found(), not span.unclosed
    if span.unclosed:
        faults.add(span.start, "the frontmatter is not closed: write a line `---` below it")
    if span.head is not None:
        block = text[slice(*span.head)]
        try:
            found = yaml_text.read_map(block.replace("\r\n", "\n"), texts=_KNOWN)
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
    read: "_Values", body: str, name: str | None, *, raw: str, span: Span, readable: bool
) -> MemoryFile:
    return MemoryFile(
        title=read.text("title") or heading(body) or name or _UNTITLED,
        when_to_use=read.texts("whenToUse"),
        tags=read.tags(),
        importance=read.importance(),
        discovered_at=read.text("discoveredAt"),
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


def _body(text: str, span: Span) -> str:
    """The body as its author means it: without blank lines around it, with plain line ends."""
    body = text[slice(*span.body)]
    if _breaks(text[span.start : span.stop]) == "\r\n":
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


class _Values:
    """The values of a frontmatter as the fields of a memory."""

    def __init__(self, found: yaml_text.Found, faults: _Faults, position: int) -> None:
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

    def importance(self) -> str:
        """One of the four words; medium when nothing or anything else is said."""
        said = self.text("importance")
        if said is None:
            return "medium"
        if said.strip().lower() in IMPORTANCES:
            return said.strip().lower()
        self._wrong("importance", f"is {said[:40]!r}; write one of {', '.join(IMPORTANCES)}")
        return "medium"

    def more(self) -> dict[str, Json]:
        """Every key that is not of this format."""
        return {key: value for key, value in self._found.values.items() if key not in _KNOWN}

    def _wrong(self, key: str, why: str) -> None:
        self._faults.add(self._position, f"`{key}` {why}", self._found.lines.get(key, 0))


def _flat(value: Json) -> Iterator[str]:
    """The texts of a list; `[[Name]]` without quotes is a list in a list."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence):
        for item in value:
            yield from _flat(item)


def _entries(document: MemoryFile) -> Iterator[str]:
    """The lines of the frontmatter, in the order of the format."""
    for key in KEYS:
        written = _written(document, key)
        if written is not None:
            yield written
    for key, value in document.more.items():
        if key in _KNOWN:
            raise InvalidInput(f"{key!r} is a field of its own and cannot stand among the others")
        yield yaml_text.entry(key, yaml_text.flow(value))


def _written(document: MemoryFile, key: str) -> str | None:
    """One field as the lines of a frontmatter; None when it is not stated."""
    match key:
        case "title":
            return yaml_text.entry(key, yaml_text.quoted(document.title))
        case "whenToUse":
            items = "".join(f"\n  - {yaml_text.quoted(item)}" for item in document.when_to_use)
            return f"whenToUse:{items}\n" if items else "whenToUse: []\n"
        case "tags":
            return yaml_text.entry(key, yaml_text.flow(document.tags))
        case "importance":
            return yaml_text.entry(key, yaml_text.plain(document.importance))
        case "relatedMemories":
            related = document.related
            return yaml_text.entry(key, yaml_text.flow(related)) if related else None
        case _:
            return _optional(key, _texts(document)[key])


def _texts(document: MemoryFile) -> dict[str, str | None]:
    return {
        "discoveredAt": document.discovered_at,
        "discoveredBy": document.discovered_by,
        "discoveredIn": document.discovered_in,
        "source": document.source,
        "memoryId": document.memory_id,
    }


def _optional(key: str, value: str | None) -> str | None:
    if value is None:
        return None
    if key == "discoveredAt" and _times().fullmatch(value):
        return f"{key}: {value}\n"
    return yaml_text.entry(key, yaml_text.plain(value))


def _whole(head: str, body: str) -> str:
    """Frontmatter and body; a body that would not be found again gets an end of its own."""
    if _found_again(body):
        return f"---\n{head}---\n\n{body}\n" if body else f"---\n{head}---\n"
    mark = _mark(body)
    return f"---\n{head}{END_KEY}: {mark}\n---\n\n{body}\n{end_line(mark)}\n"


def _found_again(body: str) -> bool:
    """True when the body reads back as itself, alone and with a document behind it."""
    if body != stripped(body):
        return False
    small = "---\ntitle: x\n---\n"
    alone = f"{small}\n{body}\n"
    text = alone + SEPARATOR + small
    first, *others = spans(text)
    return len(others) == 1 and _body(text, first) == body and open_fence(alone) is None


def _mark(body: str) -> str:
    """A mark that the body does not hold; the same body has the same mark."""
    for size in range(8, 64, 8):
        mark = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:size]
        if end_line(mark) not in body:
            return mark
    raise InvalidInput("the body holds the marks that would end it; change a word of it")


def _breaks(text: str) -> str:
    r"""How the lines of a text end: `\r\n` where the first one does."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


@cache
def _headings() -> re.Pattern[str]:
    return re.compile(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]*)", re.MULTILINE)


@cache
def _blank_lines() -> re.Pattern[str]:
    return re.compile(r"(?:[^\S\n]*+\n)*+")


@cache
def _times() -> re.Pattern[str]:
    return re.compile(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII
    )
