"""Which memories describe files that have changed since.

A memory's `source` or `discoveredIn` may name a file of the project. Its digest is remembered when
the document is written or read; a memory is stale once the file is another one, or gone. Editing
the document says that its memory is right again.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from memory_mesh.fastdataclass import dataclass
from memory_mesh.mirror.scan import hashed
from memory_mesh.model import Memory

_MOST_BYTES = 10_000_000
_GONE = ""  # the digest of no file


@dataclass(frozen=True, slots=True)
class Stale:
    """A memory whose source file changed or is gone."""

    memory: str
    path: str  # of its document
    source: str  # of the file that it is about
    words: str


def sources(memory: Memory, root: Path) -> dict[str, str]:
    """The project's files that a memory comes from, each with its digest; of no file: empty."""
    found: dict[str, str] = {}
    for name in _names(memory):
        path = _inside(root, name)
        found[name] = _GONE if path is None else _digest(path)
    return found


def differing(known: dict[str, str], root: Path) -> Iterator[tuple[str, str]]:
    """The files whose digest is another one than the known one, and what happened to each."""
    for name, before in known.items():
        path = _inside(root, name)
        now = _GONE if path is None else _digest(path)
        if now == _GONE:
            yield name, "is gone" if before else "was not there when this was written"
        elif now != before:
            yield name, "has changed" if before else "is there again"


def project_root(folder: Path) -> Path:
    """The folder that relative paths start from: the work tree, or the one above `.rawko`."""
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place
    return folder.parent.parent if folder.parent.name.startswith(".") else folder


def _names(memory: Memory) -> list[str]:
    aside = memory.extra.get("frontmatter")
    said = dict(aside) if isinstance(aside, dict) else {}
    stated = (said.get("source"), said.get("discoveredIn"), memory.source.ref)
    names = (_path().fullmatch(text.strip()) for text in stated if isinstance(text, str))
    return list(dict.fromkeys(match["path"] for match in names if match))


def _inside(root: Path, name: str) -> Path | None:
    """The file of this name if it lies in the project and may be read."""
    path = (root / name).resolve()
    return path if path.is_relative_to(root.resolve()) and path.is_file() else None


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashed(file.read(_MOST_BYTES))
    except OSError:
        return _GONE


@cache
def _path() -> re.Pattern[str]:
    """A relative path with a folder or an ending, with or without a line number."""
    return re.compile(
        r"(?:file:)?(?:\./)?(?P<path>[^\s/:\\][^\s:\\]*(?:/[^\s:\\]+|\.\w{1,10}))(?::\d+(?:-\d+)?)?"
    )
