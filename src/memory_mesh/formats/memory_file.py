"""Memory files: Markdown with frontmatter that people read, edit and keep in git.

A file holds one document, or several that were appended one after another. `parse` reads any text
and never raises. `render`, `append` and `replace_document` write; what they do not mean to change
keeps its bytes. docs/reference/memory-files.md describes the format.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_mesh.base.lazy_pattern import lazy_pattern
from memory_mesh.formats.documents import prose
from memory_mesh.formats.memory_file_reading import (
    IMPORTANCES,
    KEYS,
    MAX_WORDS,
    FileFault,
    MemoryFile,
    ParsedFile,
    advice,
    heading,
    parse,
    refusal,
)
from memory_mesh.formats.memory_file_writing import (
    addition,
    append,
    cut,
    render,
    replace_document,
    without,
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
