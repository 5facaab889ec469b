"""Text files of a folder: what `.gitignore` names is left, links are not followed.

Files are read one at a time, in the order of their names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Rules: TypeAlias = "tuple[tuple[Path, GitIgnoreSpec], ...]"
LARGEST = 10_000_000  # bytes
_ALWAYS_LEFT = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}
_SNIFFED = 8_192  # bytes looked at to tell text from binary


@dataclass(slots=True)
class Skipped:
    """What was not read, and why."""

    binary: int = 0
    ignored: int = 0
    links: int = 0
    too_large: int = 0
    unreadable: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Texts:
    """Files and their texts as they are asked for; `skipped` fills on the way."""

    found: Iterator[tuple[Path, str]]
    skipped: Skipped


def texts(root: Path, endings: Sequence[str] = (), *, recursive: bool = False) -> Texts:
    """The text files below a folder, or a single file."""
    skipped = Skipped()
    return Texts(_read(root, tuple(endings), skipped, recursive=recursive), skipped)


def paths(root: Path, endings: Sequence[str] = (), *, recursive: bool = False) -> list[Path]:
    """The files that `texts` would look at, without opening them."""
    return list(_walk(root, tuple(endings), Skipped(), recursive=recursive))


def _read(
    root: Path, endings: tuple[str, ...], skipped: Skipped, *, recursive: bool
) -> Iterator[tuple[Path, str]]:
    for path in _walk(root, endings, skipped, recursive=recursive):
        text = _text(path, skipped)
        if text is not None:
            yield path, text


def _walk(
    root: Path, endings: tuple[str, ...], skipped: Skipped, *, recursive: bool
) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    yield from _below(root, endings, skipped, (), recursive=recursive)


def _below(
    folder: Path,
    endings: tuple[str, ...],
    skipped: Skipped,
    rules: Rules,
    *,
    recursive: bool,
) -> Iterator[Path]:
    rules = _with_rules(folder, rules)
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            skipped.links += 1
        elif path.name in _ALWAYS_LEFT or _ignored(path, rules):
            skipped.ignored += 1
        elif path.is_dir():
            if recursive:
                yield from _below(path, endings, skipped, rules, recursive=True)
        elif path.is_file() and (not endings or path.name.lower().endswith(endings)):
            yield path


def _with_rules(folder: Path, rules: Rules) -> Rules:
    listing = folder / ".gitignore"
    if not listing.is_file() or listing.is_symlink():
        return rules
    from pathspec import GitIgnoreSpec

    lines = listing.read_text(encoding="utf-8", errors="replace").splitlines()
    return (*rules, (folder, GitIgnoreSpec.from_lines(lines)))


def _ignored(path: Path, rules: Rules) -> bool:
    """The rules of the nearest folder that has any say decide, as git does."""
    for folder, spec in reversed(rules):
        name = path.relative_to(folder).as_posix() + ("/" if path.is_dir() else "")
        verdict: bool | None = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def _text(path: Path, skipped: Skipped) -> str | None:
    """The file as text, or None and a count of why not."""
    try:
        if path.stat().st_size > LARGEST:
            skipped.too_large += 1
            return None
        data = path.read_bytes()
    except OSError:
        skipped.unreadable.append(str(path))
        return None
    if b"\0" in data[:_SNIFFED]:
        skipped.binary += 1
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        skipped.binary += 1
        return None
