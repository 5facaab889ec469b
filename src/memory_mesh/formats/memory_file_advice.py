"""Says how a memory file could be better, and which one is too long to be stored."""

import re
from collections.abc import Iterator
from functools import cache

from memory_mesh.formats.documents import prose
from memory_mesh.formats.memory_file_reading import UNTITLED, MemoryFile

MAX_WORDS = 2_000
IDEAL_WORDS = (200, 500)


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
    if not _headings().search(text):
        yield "it has no heading: begin with `# Title`"
    elif not _summary().search(text):
        yield "it has no summary: write one sentence below the first heading"
    if not _sections().search(text):
        yield "it has no sections: write `## Overview` and `## Key Points`"
    if not _lists().search(text):
        yield "it has no list: write the key points as `- …`"
    if len(text) == len(body):
        yield "it has no code example: write one between ``` lines"


@cache
def _headings() -> re.Pattern[str]:
    return re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE)


@cache
def _summary() -> re.Pattern[str]:
    """Text directly below the first heading."""
    return re.compile(r"\A(?:(?!#{1,6}[ \t])[^\n]*\n)*+#[^\n]*\n(?:[ \t\r]*\n)*+[^\s#\-*+>|]")


@cache
def _sections() -> re.Pattern[str]:
    return re.compile(r"^##[ \t]+\S", re.MULTILINE)


@cache
def _lists() -> re.Pattern[str]:
    return re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\S", re.MULTILINE)
