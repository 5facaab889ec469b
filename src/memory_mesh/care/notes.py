"""Folders and files that people and agents write by hand, as rows: notes, rule files, transcripts.

::

    a vault of Obsidian, a folder of notes   each note with its title, tags and links
    basic-memory                             each observation and relation of a note, and the rest
    the memory folder of Claude Code         each file, and what its index says itself
    transcripts of Claude Code               what the user said; the rules find what it states
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path

from memory_mesh.base.typed import Any
from memory_mesh.formats import memory_file
from memory_mesh.formats.exchange import Chat
from memory_mesh.formats.memory_file import MemoryFile
from memory_mesh.model import InvalidInput
from memory_mesh.model.learning import Turn
from memory_mesh.platform.text_files import Skipped, shown, texts

INDEX = "MEMORY.md"  # of Claude Code's memory folder
_DATES = ("created", "date", "created_at")
_HEAD_LINES = 8  # of a transcript, of which one names its session
_OF_BASIC_MEMORY = "permalink"
_LINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_STATED = re.compile(
    r"^[ \t]*[-*+][ \t]+(?:\[(?![ xX]?\])[^\]\n]+\][ \t]|[^\n]*\[\[)[^\n]*\n?", re.MULTILINE
)
_CONTEXT = re.compile(r"\s*\([^()]*\)$")  # behind an observation
_ONLY_LINK = re.compile(r"^\s*(?:[-*]\s*)?\[[^\]]*\]\([^)\s]+\.md\)")


def folder_name(path: Path) -> str | None:
    """What a folder of notes or transcripts is, in words; None for another one."""
    if (path / ".obsidian").is_dir():
        return "a vault of Obsidian"
    if any(is_transcript(each) for each in islice(sorted(path.glob("*.jsonl")), 3)):
        return "a set of transcripts of Claude Code"
    if (path / INDEX).is_file():
        return "the memory folder of Claude Code"
    first = [text for _, text in islice(texts(path, (".md",), recursive=True).found, 3)]
    if any(f"\n{_OF_BASIC_MEMORY}:" in text for text in first):
        return "a folder of notes of basic-memory"
    return "a folder of Markdown notes" if first else None


def is_transcript(path: Path) -> bool:
    """True for a file of Claude Code's own with what was said in a session."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = [line[:4_000] for line in islice(file, _HEAD_LINES)]
    except OSError:
        return False
    return any('"sessionId":' in line and '"type":' in line for line in lines)


def rows_of_notes(path: Path) -> Iterator[tuple[str, object]]:
    """The notes of a folder, or of one file, and why some are none."""
    found = texts(path, (".md",), recursive=True)
    for file, text in found.found:
        place = file.relative_to(path) if file != path else Path(file.name)
        if not any(part.startswith(".") for part in place.parts):  # a bin, settings
            name = shown(place.as_posix())
            kept = without_index(text) if file.name == INDEX else text
            source = shown(f"{path.resolve().name}/{name}") if file != path else name
            yield from ((name, row) for row in _rows_of(source, kept))
    yield from _left_out(found.skipped)


def rows_of_transcripts(path: Path) -> Iterator[tuple[str, object]]:
    """The sessions of a folder, or of one file: what its user wrote."""
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        said, begun = [], None
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if '"user"' in line and (turn := _turn(line)) is not None:
                    text, at = turn
                    begun = begun or at
                    said.append(Turn(role="user", text=text))
        yield shown(file.name), Chat(f"session {shown(file.stem)}", begun, said)


def without_index(text: str) -> str:
    """Returns an index without the lines that only lead to other files; empty if none is left."""
    rest = [line for line in text.splitlines() if not _ONLY_LINK.match(line)]
    if not any(line.strip() and not line.startswith("#") for line in rest):
        return ""
    return "\n".join(rest)


def _rows_of(name: str, text: str) -> Iterator[object]:
    stem = Path(name).stem
    for note in memory_file.parse(text, name=stem).documents:
        begun = memory_file.heading(note.body)
        title = stem if note.title == begun and _OF_BASIC_MEMORY not in note.more else note.title
        details: dict[str, object] = {
            "source_ref": name,
            "tags": list(dict.fromkeys((*note.tags, *memory_file.inline_tags(note.body)))),
            "metadata": {"note": title, "links": list(memory_file.wiki_links(note.body))},
            "created_at": next((note.more[key] for key in _DATES if key in note.more), None),
        }
        if not note.readable:
            yield InvalidInput("the lines between its first `---` lines are no YAML")
        elif _OF_BASIC_MEMORY in note.more:
            yield from ({**details, "content": one} for one in _stated(note))
        elif note.body.strip():
            yield {**details, "content": _titled(title, note.body)}


def _stated(note: MemoryFile) -> Iterator[str]:
    """What a note of basic-memory states: as its index says it, and then the rest of its text."""
    for observation in memory_file.observations(note.body):
        yield f"{note.title}: {_CONTEXT.sub('', _plain(observation.text))}"
    for relation in memory_file.relations(note.body):
        yield f"{note.title} {relation.type.replace('_', ' ')} {relation.target}"
    lines = _STATED.sub("", note.body).splitlines()
    if rest := "\n".join(line for line in lines if not line.startswith("#")).strip():
        yield _titled(note.title, rest)


def _titled(title: str, body: str) -> str:
    text, begun = _plain(body).strip(), memory_file.heading(body) or ""
    return text if begun.casefold() == title.casefold() else f"{title}\n\n{text}"


def _plain(text: str) -> str:
    """The text with the words of each link in its place."""
    return _LINK.sub(_words, text)


def _words(link: re.Match[str]) -> str:
    _, shown_as, words = link[1].rpartition("|")
    return words if shown_as else memory_file.link_target(words).rpartition("/")[2] or words[1:]


def _left_out(skipped: Skipped) -> Iterator[tuple[str, object]]:
    reasons = {
        "it is no text": skipped.binary,
        "it is not UTF-8": skipped.not_utf8,
        "it is too large": skipped.too_large,
        "it is no plain file": skipped.special,
        "it cannot be read": skipped.unreadable,
    }
    for reason, names in reasons.items():
        yield from ((name, InvalidInput(reason)) for name in names)


def _turn(line: str) -> tuple[str, datetime | None] | None:
    """What the user typed in a line of a transcript, and when: no answers of tools."""
    try:
        said: Any = json.loads(line)
        content = said["message"]["content"] if said["type"] == "user" else None
        if content is None or said.get("isMeta") or said.get("isSidechain"):
            return None
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text = "\n".join(str(part["text"]) for part in parts if part.get("type") == "text")
        at = datetime.fromisoformat(str(said.get("timestamp")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return (text, at) if text.strip() else None
