"""The files of a store's folder beside its namespaces, and what a disk says to copies of them."""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memory_mesh.care import key_file
from memory_mesh.care.key_file import IDENTITY, KeyFile
from memory_mesh.care.sqlite import copies
from memory_mesh.learn import upkeep
from memory_mesh.learn.system_memory import ExperienceFiles
from memory_mesh.ledgers.sqlite import schema
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model.errors import InvalidInput, StoreError, StoreIsDamaged, StoreIsFull
from memory_mesh.platform import durable_files
from memory_mesh.platform.durable_files import sync_folder
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.locks import locked
from memory_mesh.platform.system import FOLDER, make_file, make_folder

_NO_DAMAGE = frozenset(
    {
        "analyzer of the keyword terms",  # that upkeep has to write anew
        "missing head file",  # that a copy gets in its place
    }
)
_CHECKED = "check"  # the folder of a copy that is migrated to be read

MARK = ".partial"
_RANDOM_BYTES = 6
_LEFT = re.compile(r"\.partial-[0-9a-f]{12}")  # twice as many digits

OWN = (
    IDENTITY,
    key_file.RECORD_FILE,
)  # say which store it is, and which keys it was written with


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
    recorded = key_file.read(store)
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


# Folders that are made whole under another name, synced and only then given their own.
#
# <name>.partial-<random>/          being made; a lock in it lives as long as its process
# <name>.partial-<random>/.partial  that lock: one that can be taken was left by a killed process


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
    """Every file and folder below is on the disk, but for the mark that is locked."""
    durable_files.sync_tree(folder, besides=MARK)


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


# Whether the copy of a namespace is sound.


def findings(store: Path, namespace: str, version: int) -> tuple[str, ...]:
    """What `verify` finds wrong in a namespace of a store that nobody else uses.

    A file of an earlier schema is checked as its migrated copy and stays as it is.
    """
    if version >= schema.NEWEST:
        return _found(store, namespace)
    migrated = store / _CHECKED
    make_folder(migrated / "namespaces")
    try:
        copies.copied(copies.place(store, namespace), copies.place(migrated, namespace))
        return _found(migrated, namespace)
    finally:
        shutil.rmtree(migrated)


def _found(store: Path, namespace: str) -> tuple[str, ...]:
    ledger = SqliteLedger(store, SystemClock(), allow_network=True)
    try:
        verification = upkeep.verify(ledger, namespace, None)
    except StoreIsDamaged as error:
        return (str(error),)
    finally:
        ledger.close()
    return tuple(
        f"{finding.check}: {finding.detail}"
        for finding in verification.findings
        if finding.check not in _NO_DAMAGE
    )
