"""Folders that are made whole under another name, synced and only then given their own.

<name>.partial-<random>/          being made; a lock in it lives as long as its process
<name>.partial-<random>/.partial  that lock: one that can be taken was left by a killed process
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memory_mesh.process.durable_files import sync_folder
from memory_mesh.process.locks import locked
from memory_mesh.process.private import FOLDER, make_file, make_folder

MARK = ".partial"
_RANDOM_BYTES = 6
_LEFT = re.compile(r"\.partial-[0-9a-f]{12}")  # twice as many digits


@contextmanager
def staged(place: Path, name: str) -> Iterator[Path]:
    """A new folder to fill; it is removed at the end unless it was renamed."""
    with ExitStack() as stack:
        folder = _made(stack, place, name)
        stack.callback(_remove, folder)
        yield folder


def _made(stack: ExitStack, place: Path, name: str) -> Path:
    while True:
        make_folder(place)
        folder = _unnamed(place / name)
        folder.mkdir(FOLDER)
        folder.chmod(FOLDER)
        try:
            stack.enter_context(locked(folder / MARK))
        except FileNotFoundError:  # a process that sweeps took it for a killed one's
            continue
        return folder


def named(folder: Path, final: Path) -> None:
    """Gives a whole folder its name, on the disk; raises OSError if something has that name."""
    sync_tree(folder)
    folder.rename(final)
    sync_folder(final.parent)
    unmark(final)


def unmark(folder: Path) -> None:
    """Removes the mark of a folder that is no longer partial."""
    with suppress(OSError):
        (folder / MARK).unlink()


def discard(folder: Path) -> None:
    """Removes a folder: first its name, so that a kill leaves nothing that looks whole."""
    doomed = _unnamed(folder)
    make_file(folder / MARK)
    folder.rename(doomed)
    sync_folder(folder.parent)
    _remove(doomed)


def sweep(place: Path, is_ours: Callable[[str], object]) -> list[str]:
    """Removes what killed processes left of folders whose names are ours; returns which."""
    if not place.is_dir():
        return []
    left = [
        path
        for path in sorted(place.iterdir())
        if _LEFT.fullmatch(path.suffix)
        and is_ours(path.stem)
        and path.is_dir()
        and not path.is_symlink()
    ]
    return [path.name for path in left if _swept(path)]


def sync_tree(folder: Path) -> None:
    """Every file and folder below is on the disk."""
    for path in sorted(folder.rglob("*"), reverse=True):  # what a folder holds comes before it
        if path.is_dir():
            sync_folder(path)
        elif path.name != MARK:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    sync_folder(folder)


def _swept(folder: Path) -> bool:
    """Removes a folder unless its process lives; one without mark is empty."""
    mark = folder / MARK
    with suppress(OSError), ExitStack() as stack:
        if mark.exists() and not stack.enter_context(locked(mark, wait=False)):
            return False
        _remove(folder)  # under the lock: whoever just made the folder waits, and makes another
    return not folder.exists()


def _unnamed(final: Path) -> Path:
    return final.with_name(f"{final.name}.partial-{os.urandom(_RANDOM_BYTES).hex()}")


def _remove(folder: Path) -> None:
    """Removes a folder of ours, its mark last; what has no mark is left alone unless empty."""
    mark = folder / MARK
    with suppress(OSError):
        if mark.exists():
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif path != mark:
                    path.unlink()
            mark.unlink()
        folder.rmdir()
