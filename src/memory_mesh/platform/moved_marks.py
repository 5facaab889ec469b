"""The marker where a store or a namespace was before it was moved: nobody begins another there.

    <store>/moved                     of a store: none is opened there
    <store>/namespaces/<name>.moved   of a namespace: none of its name begins there
        v1 <UTC time> "<folder of the store where it is now>"
        one line for people: what to do

A process, a line of cron or a hook that still names the old folder is told the new one. A move, a
restore or an import back to the old place removes the marker, and so may a person.

A store with namespaces in folders has a file of the same name, with a word in place of the time:

    <store>/moved
        v1 folders-1 "<what to do>"
        one line for people

It was not moved. Versions that do not know such folders take the file for a marker, say what it
says and open nothing, where they would see some namespaces and make others twice.
"""

import json
import os
from pathlib import Path

from memory_mesh.base.typed import dataclass
from memory_mesh.model.errors import StoreIsNewer, StoreWasMoved
from memory_mesh.platform.durable_files import sync_folder, write_atomically
from memory_mesh.rules.arguments import shown_namespace

STORE = "moved"
SUFFIX = ".moved"
_FORM, _WORDS = "v1", 3
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_BYTES = 16_384  # of a marker that are read: a path is shorter
_FOR_PEOPLE = "It was moved to that folder. Use it there, or remove this file to begin anew here."
_FOLDERS, _NEWEST_FOLDERS = "folders-", 1
_FOR_OLDER = (  # who say that it was moved to …
    '"a form that this version cannot read; upgrade: pip install -U memory-mesh"\n'
    "This store was not moved: its namespaces lie in folders, which earlier versions do not read. "
    "Keep this file.\n"
)


@dataclass(frozen=True, slots=True)
class Marker:
    """Where something was moved, and when; a damaged marker does not say."""

    to: str = ""
    at: str = ""

    def __str__(self) -> str:
        return f"to {self.to} at {self.at}" if self.to else "to another folder"


def of_store(folder: Path) -> Path:
    """The marker of a store."""
    return folder / STORE


def of_namespace(database: Path) -> Path:
    """The marker of a namespace, beside where its database was."""
    return database.with_suffix(SUFFIX)


def read(marker: Path) -> Marker | None:
    """What a marker says; None if there is none."""
    try:
        data = _data(marker)
    except OSError as error:  # none was there, though one may come now; or it may not be read
        return Marker() if not isinstance(error, FileNotFoundError) and marker.is_file() else None
    return None if data is None or _is_of_folders(data) else _parsed(data)


def has_folders(store: Path) -> bool:
    """Whether a store is marked as one whose namespaces may lie in folders."""
    try:
        data = _data(of_store(store))
    except OSError:
        return False
    return data is not None and _is_of_folders(data)


def mark_folders(store: Path) -> None:
    """Marks a store as one whose namespaces may lie in folders; on the disk when it returns.

    The marker of a move goes: whoever writes this brings the store back, or makes a namespace.
    """
    if has_folders(store):
        return
    text = f"{_FORM} {_FOLDERS}{_NEWEST_FOLDERS} {_FOR_OLDER}"
    write_atomically(of_store(store), text.encode(), private=True)


def write(marker: Path, to: Path, at: str) -> None:
    """Leaves a marker, whole or not at all; on the disk when it returns."""
    text = f"{_FORM} {at} {json.dumps(str(to))}\n{_FOR_PEOPLE}\n"
    write_atomically(marker, text.encode(), private=True)


def remove(marker: Path) -> None:
    """Takes a marker away: what it tells of is back."""
    if read(marker) is not None:
        marker.unlink(missing_ok=True)
        sync_folder(marker.parent)


def refuse_store(folder: Path) -> None:
    """Raises StoreWasMoved if the store in a folder was moved away."""
    found = read(of_store(folder))
    if found is not None:
        there = found.to or "FOLDER"
        raise StoreWasMoved(
            f"the store in {folder} was moved {found}. Use it there: --db-dir {there}, or "
            f"MEMORY_MESH_DIR={there}. To begin a new store here instead, remove the file "
            f"{of_store(folder)}"
        )


def refuse_namespace(database: Path, namespace: str) -> None:
    """Raises StoreWasMoved if a namespace was moved to another store; for one that is not here."""
    found = read(of_namespace(database))
    if found is not None:
        raise StoreWasMoved(
            f"the namespace {shown_namespace(namespace)} was moved {found}. Use it there: --db-dir "
            f"{found.to or 'FOLDER'}. To begin a new namespace of this name here instead, remove "
            f"the file {of_namespace(database)}"
        )


def _data(marker: Path) -> bytes | None:
    """The beginning of a marker; None for a folder of that name."""
    descriptor = os.open(marker, _FLAGS)
    try:
        return os.read(descriptor, _BYTES)
    except IsADirectoryError:  # somebody else's
        return None
    finally:
        os.close(descriptor)


def _is_of_folders(data: bytes) -> bool:
    """Whether it is no marker of a move; raises StoreIsNewer for folders of a later form."""
    words = data.decode("utf-8", "replace").split(" ", _WORDS - 1)
    if len(words) < _WORDS or not words[1].startswith(_FOLDERS):
        return False
    form = words[1].removeprefix(_FOLDERS)
    if words[0] != _FORM or not form.isdecimal() or int(form) > _NEWEST_FOLDERS:
        raise StoreIsNewer
    return True


def _parsed(data: bytes) -> Marker:
    """What a marker says; one that says nothing is a marker all the same."""
    line, _, _ = data.decode("utf-8", "replace").partition("\n")
    words = line.split(" ", _WORDS - 1)
    try:
        to = json.loads(words[-1]) if len(words) == _WORDS and words[0] == _FORM else None
    except ValueError:
        to = None
    return Marker(to, words[1]) if isinstance(to, str) else Marker()
