"""List the Markdown files of a folder with their stamps, and read the few that changed.

One `scandir` per folder and one `stat` per file: a file whose stamp is known is not opened. The
stamp is the time of the last change of the file's inode, which no program can set back. Names that
begin with a dot, other endings and links are left alone.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath

from memory_mesh.base.typed import TypeAlias
from memory_mesh.platform import system

Stamp: TypeAlias = int  # when the file last changed, in ns
Stamps: TypeAlias = Mapping[str, Mapping[str, Stamp]]  # by folder, then by name
ENDING = ".md"
MAX_FILE_BYTES = 1_000_000  # of one file
UNSETTLED_NS = 2_000_000_000  # a file may change again within one tick of its file system's clock
NO_STAMP: Stamp = 0  # differs from that of every file: it is read at the next run


@dataclass(slots=True)
class Listing:
    """The files of each folder, and the folders that could not be looked into.

    A folder is named by what stands before the names of its files: nothing, or `notes/`.
    """

    stamps: dict[str, dict[str, Stamp]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self.stamps.values()))

    def __contains__(self, path: str) -> bool:
        folder, slash, name = path.rpartition("/")
        return name in self.stamps.get(folder + slash, {})


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it was read: its bytes, their hash, its text and its stamp before the reading."""

    data: bytes
    text: str
    hash: str
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the last run: files to read, and files that are gone."""

    changed: list[str]
    gone: list[str]


def listing(folder: Path) -> Listing:
    """Every Markdown file below the folder."""
    found = Listing()
    waiting = [(str(folder), "")]
    while waiting:
        place, prefix = waiting.pop()
        try:
            found.stamps[prefix] = _list(place, prefix, waiting)
        except OSError:
            found.unreadable.append(prefix or ".")
    return found


def _list(place: str, prefix: str, waiting: list[tuple[str, str]]) -> dict[str, Stamp]:
    stamps: dict[str, Stamp] = {}
    with os.scandir(place) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(ENDING) and entry.is_file(follow_symlinks=False):
                if name[0] != ".":
                    stamps[name] = entry.stat(follow_symlinks=False).st_ctime_ns
            elif name[0] != "." and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{prefix}{name}/"))
    return stamps


def changes(now: Stamps, known: Stamps) -> Changes:
    """The paths whose stamp is new or another one, and those that are gone; sorted."""
    changed: list[str] = []
    gone: list[str] = []
    for folder in now.keys() | known.keys():
        here, before = now.get(folder, {}), known.get(folder, {})
        if here != before:
            changed += [folder + name for name, _ in here.items() - before.items()]
            gone += [folder + name for name in before.keys() - here.keys()]
    return Changes(sorted(changed), sorted(gone))


def read(folder: Path, path: str) -> FileText:
    """The file's text; raises OSError, or ValueError in words if it is no text we take."""
    if leaves(folder, path):
        raise ValueError("a folder above it is a link; links are not followed")
    descriptor = os.open(folder / path, os.O_RDONLY | system.NO_LINK)
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError("it is no regular file")
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES:,} bytes; split it")
    if b"\0" in data:
        raise ValueError("it is binary")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8; convert it") from None
    return FileText(data, text, hashed(data), about.st_ctime_ns)


def leaves(folder: Path, path: str) -> bool:
    """True if a folder between the mirrored one and the file is a link."""
    return any((folder / place).is_symlink() for place in list(PurePosixPath(path).parents)[:-1])


def settled(stamp: Stamp, now_ns: int) -> Stamp:
    """The stamp to remember: none for a file that may change again without a new stamp."""
    return stamp if stamp + UNSETTLED_NS < now_ns else NO_STAMP


def hashed(data: bytes | str) -> str:
    """The digest that files and documents are compared by."""
    return sha256(data.encode() if isinstance(data, str) else data).hexdigest()
