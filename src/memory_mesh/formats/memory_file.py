"""Memory files: Markdown with frontmatter that people read, edit and keep in git.

A file holds one document, or several that were appended one after another. `parse` reads any text
and never raises. `render`, `append` and `replace_document` write; what they do not mean to change
keeps its bytes: the other documents, and in a changed one every key, comment and line that says the
same as before. docs/reference/memory-files.md describes the format.
"""

import hashlib
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.formats import yaml_text
from memory_mesh.formats.documents import (
    END_KEY,
    SEPARATOR,
    DocumentSpan,
    end_line,
    open_fences,
    prose,
    spans,
)
from memory_mesh.formats.memory_file_reading import (
    IMPORTANCES,
    KEYS,
    KNOWN,
    MAX_WORDS,
    FileFault,
    MemoryFile,
    ParsedFile,
    advice,
    body_of,
    heading,
    line_end,
    parse,
    refusal,
    stripped,
)
from memory_mesh.model.errors import InvalidInput, shown

_UNCLOSED = (
    "an earlier document of the file has no end: a code fence (``` or ~~~) that no line closes, "
    f"or the line that its `{END_KEY}` names is missing; write that line, then try again"
)


def render(document: MemoryFile) -> str:
    """Returns the document as text; parsing gives back the same fields."""
    if document.importance not in IMPORTANCES:
        raise InvalidInput(f"importance is one of {', '.join(IMPORTANCES)}")
    written = _whole("".join(_lines_of(document).values()), document.body)
    try:
        written.encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            f"{shown(document.title, 60)} holds a lone surrogate, half a character: no file can"
        ) from None
    return written


def append(existing: str, document: MemoryFile) -> str:
    """Returns the file with one more document at its end; every earlier byte stays."""
    return existing + addition(existing, document)


def addition(existing: str, document: MemoryFile) -> str:
    """Returns what must be written behind the existing text to append a document."""
    written = render(document)
    if not existing:
        return written
    added = SEPARATOR + written
    opened = open_fences(existing)
    doubtful = bool(opened) or END_KEY in existing
    last = len(spans(existing)) - 1 if doubtful else -1
    if last in opened:  # or the new document would be code
        added = ("" if existing.endswith("\n") else "\n") + opened[last] + added
    if line_end(existing) == "\r\n":
        added = added.replace("\n", "\r\n")
    if doubtful and len(spans(existing + added)) != last + 2:
        raise InvalidInput(_UNCLOSED)
    return added


def replace_document(
    text: str, index: int, document: MemoryFile, *, name: str | None = None
) -> str:
    """Returns the file with one document changed; `name` is the one that `parse` was given."""
    before = parse(text, name=name).documents
    if not 0 <= index < len(before):
        raise InvalidInput(f"the file has {len(before)} documents, so there is no number {index}")
    old = before[index]
    if old == document:
        return text
    whole = render(document)
    wanted = (*before[:index], document, *before[index + 1 :])
    for written in (*_ways(text, spans(text)[index], old, document), _fitted(whole, old.raw)):
        new = text[: old.start] + written + text[old.stop :]
        if parse(new, name=name).documents == wanted:
            return new
    raise InvalidInput(_UNCLOSED)


def without(text: str, ids: Container[str | None]) -> str:
    """Returns the file without the documents of these memories; all others keep their bytes."""
    documents = parse(text).documents
    return cut(text, documents, [(d.start, d.stop) for d in documents if d.memory_id in ids])


def cut(text: str, documents: Sequence[MemoryFile], spans: Sequence[tuple[int, int]]) -> str:
    """Returns the file without the documents at these places, which are in order."""
    kept = [one for one in documents if (one.start, one.stop) not in set(spans)]
    if not kept:
        return ""
    result = text
    for start, stop in reversed(spans):
        after = next((one.start for one in documents if one.start >= stop), None)
        before = max((one.stop for one in documents if one.stop <= start), default=None)
        if after is not None:
            result = result[:start] + result[after:]
        elif before is not None:
            result = result[:before]
    return result


def _ways(text: str, span: DocumentSpan, old: MemoryFile, new: MemoryFile) -> Iterator[str]:
    """How the document may be written so that most of the old one stays."""
    head = _changed_head(text, span, old, new) if old.readable else None
    body = _changed_body(text, span, new.body) if old.body != new.body else None
    if head is not None:
        yield head + (text[_head_end(span) : span.stop] if body is None else body)
    elif body is not None and span.head is None:
        yield body


def _fitted(written: str, raw: str) -> str:
    """The text with the line ends of the one that it replaces, and with the blanks at its end."""
    if line_end(raw) == "\r\n":
        written = written.replace("\n", "\r\n")
    return written.rstrip("\r\n") + raw[len(raw.rstrip()) :]


def _head_end(span: DocumentSpan) -> int:
    return span.head[1] if span.head is not None else span.start


def _changed_head(text: str, span: DocumentSpan, old: MemoryFile, new: MemoryFile) -> str | None:
    """The document up to its second `---`, with the lines of the changed keys only."""
    if span.head is None:
        return None
    was, now = _lines_of(old), _lines_of(new)
    changed: dict[str, str | None] = {
        key: now.get(key) for key in {**was, **now} if was.get(key) != now.get(key)
    }
    edited = yaml_text.edited(text[slice(*span.head)].replace("\r\n", "\n"), changed)
    if edited is None:
        return None
    if line_end(text[span.start : span.stop]) == "\r\n":
        edited = edited.replace("\n", "\r\n")
    return text[span.start : span.head[0]] + edited


def _changed_body(text: str, span: DocumentSpan, body: str) -> str:
    """What stands behind the frontmatter, with another body between the same blank lines."""
    behind = text[_head_end(span) : span.body[0]]
    found = text[slice(*span.body)]
    rest = text[span.body[1] : span.stop]
    if line_end(text[span.start : span.stop]) == "\r\n":
        body = body.replace("\n", "\r\n")
    inner = (
        found.replace("\r\n", "\n").removeprefix("\n").removesuffix("\n")
        if span.marked
        else stripped(found)
    )
    place = found.find(inner) if inner else -1
    if place < 0:
        return f"{behind}\n{body}\n{rest}"
    return behind + found[:place] + body + found[place + len(inner) :] + rest


def _lines_of(document: MemoryFile) -> dict[str, str]:
    """The lines of every key that a document states."""
    lines = {key: _written(document, key) for key in KEYS}
    stated = {key: written for key, written in lines.items() if written is not None}
    return stated | dict(_more(document))


def _more(document: MemoryFile) -> Iterator[tuple[str, str]]:
    for key, value in document.more.items():
        if key in KNOWN:
            raise InvalidInput(f"{key!r} is a field of its own and cannot stand among the others")
        yield key, yaml_text.entry(key, yaml_text.flow(value))


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
    return len(others) == 1 and body_of(text, first) == body and not open_fences(alone)


def _mark(body: str) -> str:
    """A mark that the body does not hold; the same body has the same mark."""
    for size in range(8, 64, 8):
        mark = hashlib.sha256(body.encode("utf-8", "replace")).hexdigest()[:size]
        if end_line(mark) not in body:
            return mark
    raise InvalidInput("the body holds the marks that would end it; change a word of it")


_times = lazy_pattern(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII
)


_LONGEST_TARGET = 500  # characters; a longer text in brackets is no link

__all__ = [
    "IMPORTANCES",
    "KEYS",
    "MAX_WORDS",
    "FileFault",
    "MemoryFile",
    "ObservationLine",
    "ParsedFile",
    "RelationLine",
    "addition",
    "advice",
    "append",
    "cut",
    "heading",
    "inline_tags",
    "link_target",
    "observations",
    "parse",
    "refusal",
    "relations",
    "render",
    "replace_document",
    "wiki_links",
    "without",
]


# Reads what notes of Obsidian and basic-memory say in their text: links, tags, observations.


@dataclass(frozen=True, slots=True)
class RelationLine:
    """A line such as `- implements [[Login flow]]`."""

    type: str
    target: str


@dataclass(frozen=True, slots=True)
class ObservationLine:
    """A line such as `- [decision] We use JWT #auth (since May)`."""

    category: str
    text: str
    tags: tuple[str, ...]


def wiki_links(body: str) -> tuple[str, ...]:
    """Returns the targets of `[[links]]` outside of code, each once, in their order."""
    targets = (link_target(found[0]) for found in _links().finditer(_plain(body)))
    return tuple(dict.fromkeys(target for target in targets if target))


def link_target(written: str) -> str:
    """Returns the note that `[[Folder/Note#Heading|shown]]`, `Note.md` or `Note` names."""
    inner = written.strip().removeprefix("!").removeprefix("[[").removesuffix("]]")
    return re.split(r"[#|^]", inner, maxsplit=1)[0].rstrip("\\").strip()


def inline_tags(body: str) -> tuple[str, ...]:
    """Returns the `#tags` in the text outside of code, each once; a bare number is none."""
    found = (match[1].rstrip("/-") for match in _tags().finditer(_plain(body)))
    return tuple(dict.fromkeys(tag for tag in found if tag and not tag.isdigit()))


def relations(body: str) -> tuple[RelationLine, ...]:
    """Returns the relations that list items state; a bare link in a list is `relates_to`."""
    return tuple(_relations_of(_plain(body)))


def observations(body: str) -> tuple[ObservationLine, ...]:
    """Returns the observations that list items state; a check box is none."""
    return tuple(
        ObservationLine(found[1].strip(), found[2].strip(), inline_tags(found[2]))
        for found in _observations().finditer(_plain(body))
    )


def _relations_of(text: str) -> Iterator[RelationLine]:
    for item in _items().finditer(text):
        line = item[1]
        link = _links().search(line)
        if link is None or line.startswith(("[ ]", "[x]", "[X]")):
            continue
        said = line[: link.start()].strip().strip("\"'").strip()
        if said.startswith("[") or len(said) > _LONGEST_TARGET:
            continue
        target = link_target(link[0])
        if target:
            yield RelationLine(said or "relates_to", target)


def _plain(body: str) -> str:
    """The text without code, in fences or between backticks."""
    return _code().sub(" ", prose(body)) if "`" in body else body


_links = lazy_pattern(rf"!?\[\[[^\[\]\n]{{1,{_LONGEST_TARGET}}}\]\]")


_tags = lazy_pattern(r"(?<![\w&#/\[(])#([\w/-]+)")


_items = lazy_pattern(r"^[ \t]*[-*+][ \t]+(\S[^\n]*)$", re.MULTILINE)


_observations = lazy_pattern(
    r"^[ \t]*[-*+][ \t]+\[(?![ xX]?\]|\[)([^\[\]\n]{1,60})\](?!\()[ \t]+(\S[^\n]*)$",
    re.MULTILINE,
)


# Code between single, double or more backticks on one line.
_code = lazy_pattern(r"(?<!`)(`{1,3})(?!`)[^`\n]+\1(?!`)")
