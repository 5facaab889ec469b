"""Finds the clone that a folder lies in, by reading git's own files."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_OTHER_SYSTEMS = (".hg", ".jj", ".svn", ".bzr", ".sl", ".pijul", "_darcs", ".fslckout")
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
_HEADS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD", "FETCH_HEAD")
_OBJECT_ID = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\b")
_SHA256 = re.compile(r"^[ \t]*+objectformat\s*+=\s*+sha256[ \t\r]*+$", re.IGNORECASE | re.MULTILINE)
_MAX_SETTINGS = 1_000_000  # characters


@dataclass(frozen=True, slots=True)
class Clone:
    """A work tree, its own git folder, and the one that it shares with its other work trees."""

    top: Path
    private: Path
    shared: Path

    @property
    def hash_name(self) -> str:
        """The hash by which this clone names objects."""
        settings = read_text(self.shared / "config")[:_MAX_SETTINGS]
        return "sha256" if _SHA256.search(settings) else "sha1"

    @property
    def unborn(self) -> bool:
        """The branch has no commit yet."""
        word, _, branch = read_text(self.private / "HEAD").strip().partition(": ")
        return (
            word == "ref"
            and not (self.shared / branch).exists()
            and f" {branch}\n" not in read_text(self.shared / "packed-refs")
        )

    @property
    def under_way(self) -> str | None:
        """What git has begun here and not finished, such as a merge."""
        return next(
            (words for name, words in _UNDER_WAY.items() if (self.private / name).exists()), None
        )

    @property
    def heads(self) -> list[str]:
        """The commits that are being merged or were fetched last."""
        lines = (
            line
            for name in _HEADS
            for line in read_text(self.private / name)[:_MAX_SETTINGS].splitlines()
        )
        return [match[0] for line in lines if (match := _OBJECT_ID.match(line))]

    @property
    def merging(self) -> list[str]:
        """The commits whose content is being brought into the work tree."""
        names = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD")
        lines = (line for name in names for line in read_text(self.private / name).splitlines())
        return [match[0] for line in lines if (match := _OBJECT_ID.match(line))]


def clone_of(
    directory: Path, known: "dict[Path, Clone | str | None] | None" = None
) -> Clone | str | None:
    """The nearest clone around a folder; or the name of another system that comes first.

    `known` holds the answers for folders that were looked at before, and takes the new ones.
    """
    known = {} if known is None else known
    passed: list[Path] = []
    found: Clone | str | None = None
    for place in (directory, *directory.parents):
        if place in known:
            found = known[place]
            break
        passed.append(place)
        if (found := _clone_at(place)) is not None:
            break
    known.update(dict.fromkeys(passed, found))
    return found


def _clone_at(place: Path) -> Clone | str | None:
    """The clone whose top this folder is, or the name of another system."""
    for name in _OTHER_SYSTEMS:
        if os.path.exists(f"{place}/{name}"):  # noqa: PTH110  # asked of every folder above
            return name
    if not os.path.lexists(f"{place}/.git"):
        return None
    git = place / ".git"
    return Clone(place, git, git) if git.is_dir() else _linked(place, git)


def read_text(path: Path) -> str:
    """The text of one of git's small files; nothing where there is none."""
    try:
        if not path.is_file():
            return ""
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _linked(top: Path, link: Path) -> Clone:
    """A further work tree or a submodule: its `.git` is a file that says where to look."""
    word, _, target = read_text(link).partition(":")
    private = top / target.strip() if word == "gitdir" else link
    common = read_text(private / "commondir").strip()
    return Clone(top, private, Path(os.path.realpath(private / common)) if common else private)
