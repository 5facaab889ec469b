"""Changes of files that belong to a host: planned and shown first, then written as a whole."""

import os
from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

from memory_mesh.base.fastdataclass import dataclass
from memory_mesh.formats import json_text
from memory_mesh.model import Json
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import durable_files

_OURS = "memory-mesh"


@dataclass(frozen=True, slots=True)
class Member:
    """One member that we put into a JSON file of the host."""

    path: tuple[str, ...]
    value: Json
    scaffold: bool = False  # a file that holds nothing else counts as empty

    @property
    def ours(self) -> bool:
        """True if nobody else has a use for the member, whatever its value is now."""
        return any(_OURS in name for name in self.path)


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a file holds and what it is to hold; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    members: tuple[Member, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yields the difference as lines of a unified diff; of a removed file only its name."""
        if self.after is None:
            yield f"--- {self.path} (removed)"
            return
        before, after = (
            (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
            for data in (self.before, self.after)
        )
        old = "/dev/null" if self.before is None else str(self.path)
        for line in unified_diff(before, after, old, str(self.path), lineterm=""):
            yield line.rstrip("\r\n")


def current(path: Path) -> bytes | None:
    """Returns the bytes of a file, or None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def with_members(path: Path, members: Sequence[Member]) -> FileChange:
    """Plans to put members into a JSON file; InvalidInput names a file that cannot be read."""
    before = current(path)
    text = text_of(path, before)
    try:
        for member in members:
            if json_text.value_at(text, member.path) != (member.value,):
                text = json_text.with_member(text, member.path, value=member.value)
    except InvalidInput as error:
        raise BrokenFile(path, error) from None
    return FileChange(path, before, text.encode() if text else None, tuple(members))


def members_of(path: Path) -> dict[str, Json]:
    """Returns the object in a JSON file; an empty one if there is no file."""
    try:
        return json_text.read_object(text_of(path, current(path)))
    except InvalidInput as error:
        raise BrokenFile(path, error) from None


def apply(change: FileChange) -> None:
    """Writes, replaces or removes the file of a change."""
    if change.before == change.after:
        return
    if change.after is None:
        change.path.unlink(missing_ok=True)
        durable_files.sync_folder(change.path.parent)
        return
    change.path.parent.mkdir(parents=True, exist_ok=True)
    durable_files.write_atomically(change.path, change.after)


def text_of(path: Path, data: bytes | None) -> str:
    """Returns what a file holds as text; an empty text if there is no file."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        raise BrokenFile(path, "it is not UTF-8") from None


class BrokenFile(InvalidInput):
    """A file of the host that is broken already, so that nothing was written."""

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(
            f"{os.fspath(path)} cannot be changed, because it is not valid JSON: {why}. Nothing "
            "was written. Mend the file (Claude Code cannot read it either) and run this again"
        )
        self.path: Path = path
        self.why: str = str(why)
