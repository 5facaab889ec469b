"""The files of a store's folder beside its namespaces, and what a disk says to copies of them.

Among them its keys: where they lie, a new one beside the old, a new one for a lost one.
"""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memory_mesh.care import key_file as care_key_file
from memory_mesh.care.sqlite import copies
from memory_mesh.learn import upkeep
from memory_mesh.learn.system_memory import ExperienceFiles
from memory_mesh.ledgers.sqlite import connections, schema
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model.care import KeyState, ReplacedKey
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError, StoreIsDamaged, StoreIsFull
from memory_mesh.platform import durable_files, moved_marks
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.locks import locked
from memory_mesh.platform.store_urls import SERVERS
from memory_mesh.platform.system import FOLDER, make_file, make_folder
from memory_mesh.rules.arguments import shown_namespace

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
    care_key_file.IDENTITY,
    care_key_file.RECORD_FILE,
)  # say which store it is, and which keys it was written with


def identity_of(store: Path) -> str | None:
    """The identity of a store; None if it has none yet."""
    try:
        return (store / care_key_file.IDENTITY).read_text(
            encoding="utf-8", errors="replace"
        ).strip() or None
    except FileNotFoundError:
        return None


def given_identity(store: Path) -> None:
    """Gives a store an identity if it has none; one that cannot be written goes without."""
    with suppress(StoreError):
        care_key_file.KeyFile.of(store)


def key_of(store: Path) -> str | None:
    """The id of the key that a store was last written with, if it says so."""
    recorded = care_key_file.read(store)
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
    durable_files.sync_folder(final.parent)
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
    durable_files.sync_folder(folder.parent)
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


def key_state(folder: str | Path, environment: Mapping[str, str] | None = None) -> KeyState:
    """Returns where the keys of a store lie and whether they are the right ones; makes none."""
    store = Path(folder)
    moved_marks.refuse_store(store)
    stated = _stated(store, environment)
    if stated is None and not _has_key(store):
        return KeyState("", "", (), (), ())
    file = stated or care_key_file.KeyFile.of(store, environment)
    recorded = [one.id for one in file.recorded()]
    keys: list[care_key_file.KeyLine] = []
    problem = None
    try:
        keys = file.keys() if stated or file.path.exists() or recorded else []
    except StoreError as error:
        problem = str(error)
    here = {key.id for key in keys}
    in_file = stated is None or stated.variable == care_key_file.FILE
    return KeyState(
        str(file.path) if in_file else "",
        "" if stated else file.path.stem,
        tuple((key.id, key.made) for key in keys),
        tuple(recorded) or tuple(key.id for key in keys),
        tuple(id_ for id_ in recorded if id_ not in here),
        problem,
        stated.variable if stated else None,
    )


def rotate_key(folder: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Adds a key to the store's key file and uses it from now on; returns its id.

    Other machines that use a database need the new file, too. A key that is stated is refused.
    """
    store = Path(folder)
    if (stated := _stated(store, environment)) is not None:
        stated.rotate()
    _refuse_absent(store, environment)
    found = key_state(store, environment)
    if not found.keys and found.problem is None:
        raise InvalidInput(
            f"the store in {store} has no key yet, so there is nothing to rotate: the first memory "
            "that needs a key makes it"
        )
    return care_key_file.KeyFile.of(store, environment).rotate().id


def replace_key(folder: str | Path, environment: Mapping[str, str] | None = None) -> ReplacedKey:
    """Gives a store whose key is lost another one, and says what no longer matches."""
    store = Path(folder)
    if (stated := _stated(store, environment)) is not None:
        stated.replace()
    if store.parent.name == SERVERS:
        raise InvalidInput(f"nothing was replaced: {care_key_file.LOST}")
    _refuse_absent(store, environment)
    file = care_key_file.KeyFile.of(store, environment, anew=True)
    recorded = [one.id for one in file.recorded()]
    new = file.replace()
    kept = file.keys()
    here = {key.id for key in kept}
    tombstones, placeholders, unread = _counted(store)
    return ReplacedKey(
        new.id,
        str(file.path),
        tuple(id_ for id_ in recorded if id_ not in here),
        tombstones,
        placeholders,
        tuple(unread),
    )


def _has_key(store: Path) -> bool:
    return (store / care_key_file.IDENTITY).exists() or (store / care_key_file.RECORD_FILE).exists()


def _stated(store: Path, environment: Mapping[str, str] | None) -> care_key_file.StatedKeys | None:
    """The keys that the environment states for a database; None for a store in a folder."""
    if store.parent.name != SERVERS:
        return None
    return care_key_file.stated_keys(os.environ if environment is None else environment)


def _refuse_absent(store: Path, environment: Mapping[str, str] | None) -> None:
    """Refuses to give a key to a store that is not there, or that cannot be written."""
    moved_marks.refuse_store(store)
    if store.parent.name == SERVERS:
        care_key_file.need_key(store, os.environ if environment is None else environment)
    if not _has_key(store) and not copies.is_store(store):
        raise NotFound(f"there is no store in {store}, so there is no key of it. Check --db-dir")
    connections.refuse_read_only(store)


def _counted(store: Path) -> tuple[int, int, list[str]]:
    """Tombstones and texts with placeholders of all namespaces, and those that cannot be read."""
    tombstones = placeholders = 0
    unread: list[str] = []
    files = connections.Files(store / "namespaces")
    try:
        for name in files.names():
            try:
                with files.reading(name) as db:
                    found = connections.counts(db)
            except StoreError:
                unread.append(shown_namespace(name))
                continue
            tombstones, placeholders = tombstones + found[0], placeholders + found[1]
    finally:
        files.close()
    return tombstones, placeholders, unread


# Which keys a store has, without making one, and keys that go along to another store.


def key_file(folder: Path) -> care_key_file.KeyFile | None:
    """The key file of the store in a folder; None if there is none yet."""
    try:
        identity = (folder / care_key_file.IDENTITY).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    path = care_key_file.key_folder(os.environ) / f"{identity}.key"
    return care_key_file.KeyFile(path) if identity.isalnum() and path.exists() else None


def key_ids(folder: Path) -> list[str]:
    """The ids of the keys of the store in a folder, the oldest first."""
    found = key_file(folder)
    return [] if found is None else [key.id for key in found.keys()]  # noqa: SIM118  # of a file


def carry_keys(source: Path, to: Path) -> list[str]:
    """Gives a store the keys of another as older ones; returns what a person should know.

    A store that has no key yet gets them as they are, so that placeholders go on as before.
    """
    given = key_file(source)
    if given is None:
        return []
    target = care_key_file.KeyFile.of(to)
    if target.path == given.path:
        return []
    if not target.path.exists() and not (to / care_key_file.RECORD_FILE).exists():
        make_folder(target.path.parent)
        durable_files.write_atomically(target.path, given.path.read_bytes(), private=True)
        target.keys()  # which records them
        return []
    known = target.keys()
    older = [key for key in given.keys() if key not in known]  # noqa: SIM118  # of a file
    if older:
        lines = target.path.read_text(encoding="utf-8").splitlines(keepends=True)
        first = next(n for n, line in enumerate(lines) if line.strip() and line[0] != "#")
        lines[first:first] = [key.line for key in older]
        durable_files.write_atomically(target.path, "".join(lines).encode(), private=True)
    if known[-1] == given.newest:
        return []
    remark = (
        f"the key file {target.path} has the keys of the old store as older ones: rejected values "
        "stay rejected, and new placeholders differ from those that are there"
    )
    return [remark]
