"""The files of a store's folder beside its namespaces, and what a disk says to copies of them."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_mesh.errors import InvalidInput, StoreError, StoreIsFull
from memory_mesh.process import key_record
from memory_mesh.process.experience_files import ExperienceFiles
from memory_mesh.process.keys import IDENTITY, KeyFile
from memory_mesh.process.private import make_file, make_folder

OWN = (IDENTITY, key_record.FILE)  # say which store it is, and which keys it was written with


def identity_of(store: Path) -> str | None:
    """The identity of a store; None if it has none yet."""
    try:
        return (store / IDENTITY).read_text(encoding="utf-8", errors="replace").strip() or None
    except FileNotFoundError:
        return None


def given_identity(store: Path) -> None:
    """Gives a store an identity if it has none; one that cannot be written goes without."""
    with suppress(StoreError):
        KeyFile.of(store)


def key_of(store: Path) -> str | None:
    """The id of the key that a store was last written with, if it says so."""
    recorded = key_record.read(store)
    return recorded[-1].id if recorded else None


def system_files(store: Path) -> list[Path]:
    """The files of the system memory: the archives, and the log of what is active."""
    files = ExperienceFiles(store)
    return [*files.archives(), *([files.log] if files.log.is_file() else [])]


def copy_file(source: Path, target: Path) -> None:
    """Copies a file for its owner only."""
    make_folder(target.parent)
    make_file(target)
    shutil.copyfile(source, target)


@contextmanager
def disk_faults(folder: Path) -> Iterator[None]:
    """Raises what the disk says as a StoreError that names the folder and says what to do."""
    try:
        yield
    except StoreIsFull as error:  # SQLite's, which does not say where
        raise _full(folder) from error
    except OSError as error:
        if error.errno is None:  # not the file system's
            raise
        where = error.filename or folder
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise _full(folder) from error
        if error.errno == errno.EMFILE:
            raise StoreError(
                "too many namespaces for the files that a process may open: run `ulimit -n 65536` "
                "first"
            ) from error
        raise StoreError(
            f"{where} cannot be used: {error.strerror}. Check the path and its rights, or give "
            "another folder"
        ) from error


def _full(folder: Path) -> StoreIsFull:
    return StoreIsFull(
        f"the disk of {folder} is full, and nothing was left there: free some space, or choose "
        "another folder"
    )


def refuse_file(path: Path) -> None:
    """Refuses a file where a folder is wanted."""
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is a file; give a folder")
