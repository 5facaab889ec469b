"""Text files of a folder: what `.gitignore` names is left, links are not followed.

Files are read one at a time, in the order of their names.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, Any, TypeAlias
from memory_mesh.model.errors import MeshError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Rules: TypeAlias = "tuple[tuple[Path, GitIgnoreSpec], ...]"
MAX_FILE_BYTES = 10_000_000  # bytes
_ALWAYS_LEFT = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}
_RULES = ".gitignore"  # says what is left, and is no text to keep


@dataclass(slots=True)
class Skipped:
    """What was not read, and why: counted, or by name."""

    ignored: int = 0
    links: int = 0
    folders: int = 0  # below the one that was named
    documents: list[tuple[str, str]] = field(default_factory=list)  # why each has no text
    binary: list[str] = field(default_factory=list)
    not_utf8: list[str] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)  # a pipe, a socket, a device
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Texts:
    """Files and their texts as they are asked for; `skipped` fills on the way."""

    found: Iterator[tuple[Path, str]]
    skipped: Skipped


def texts(
    root: Path, endings: Sequence[str] = (), *, recursive: bool = False, documents: bool = False
) -> Texts:
    """The text files below a folder, or a single file; with `documents` PDF and Word files, too."""
    skipped = Skipped()
    found = _walk(root, tuple(endings), skipped, recursive=recursive)
    read = ((path, _text(path, skipped, documents=documents)) for path in found)
    return Texts(((path, text) for path, text in read if text is not None), skipped)


def paths(root: Path, endings: Sequence[str] = (), *, recursive: bool = False) -> list[Path]:
    """The files that `texts` would look at, without opening them."""
    return list(_walk(root, tuple(endings), Skipped(), recursive=recursive))


def _walk(
    root: Path, endings: tuple[str, ...], skipped: Skipped, *, recursive: bool
) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    top = root.resolve()
    waiting = [iter(_listed(top, skipped))]
    rules = [_with_rules(top, _rules_above(top))]
    while waiting:  # no recursion: folders may lie deeper than calls may
        path = next(waiting[-1], None)
        if path is None:
            waiting.pop()
            rules.pop()
        elif path.is_symlink():
            skipped.links += 1
        elif path.name in _ALWAYS_LEFT or _ignored(path, rules[-1]):
            skipped.ignored += 1
        elif path.is_dir():
            skipped.folders += not recursive
            if recursive:
                waiting.append(iter(_listed(path, skipped)))
                rules.append(_with_rules(path, rules[-1]))
        elif path.name == _RULES or (endings and not path.name.lower().endswith(endings)):
            continue
        elif path.is_file():
            yield root / path.relative_to(top)
        else:
            skipped.special.append(shown(root / path.relative_to(top)))


def _listed(folder: Path, skipped: Skipped) -> list[Path]:
    """What a folder holds, by name; nothing and a note where it cannot be looked into."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        skipped.unreadable.append(shown(folder))
        return []


def _rules_above(root: Path) -> Rules:
    """The rules of the work tree that a folder lies in, from its top down to the folder."""
    above: list[Path] = []
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            break
        above.append(folder.parent)
    else:
        return ()  # in no work tree
    rules: Rules = ()
    for folder in reversed(above):
        rules = _with_rules(folder, rules)
    return rules


def _with_rules(folder: Path, rules: Rules) -> Rules:
    """The rules and those of this folder; a line that is no pattern says nothing, as with git."""
    listing = folder / _RULES
    if not listing.is_file() or listing.is_symlink():
        return rules
    from pathspec import GitIgnoreSpec

    patterns: list[Any] = []  # pathspec does not export their type
    try:
        lines = listing.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return rules
    for line in lines:
        with suppress(ValueError):
            patterns += GitIgnoreSpec.from_lines([line]).patterns
    return (*rules, (folder, GitIgnoreSpec(patterns)))


def _ignored(path: Path, rules: Rules) -> bool:
    """The rules of the nearest folder that has any say decide, as git does."""
    for folder, spec in reversed(rules):
        name = shown(path.relative_to(folder).as_posix()) + ("/" if path.is_dir() else "")
        verdict: bool | None = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def shown(path: Path | str) -> str:
    """A path as valid text: a file name may contain any bytes, here each becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def _text(path: Path, skipped: Skipped, *, documents: bool) -> str | None:
    """The file as text, or None and a note of why not."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)  # a size that a file tells may be wrong
    except OSError:
        skipped.unreadable.append(shown(path))
        return None
    if len(data) > MAX_FILE_BYTES:
        skipped.too_large.append(shown(path))
        return None
    if documents:
        from memory_mesh.platform.document_text import document_text  # loads `zipfile`

        try:
            if (text := document_text(data)) is not None:
                return text
        except MeshError as error:
            skipped.documents.append((shown(path), str(error)))
            return None
    if b"\0" in data:
        skipped.binary.append(shown(path))
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        skipped.not_utf8.append(shown(path))
        return None


# What folders take on disk.


def folder_bytes(folder: str | PathLike[str]) -> int:
    """Bytes of all files below a folder; 0 if there is none. Links are not followed."""
    found = 0
    for here, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # removed meanwhile
                found += os.lstat(f"{here}/{name}").st_size
    return found
