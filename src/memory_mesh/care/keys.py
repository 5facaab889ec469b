"""The keys of a store: where they lie, a new one beside the old, a new one for a lost one."""

import os
from collections.abc import Mapping
from pathlib import Path

from memory_mesh.care import key_file as care_key_file
from memory_mesh.care.key_file import (
    FILE,
    IDENTITY,
    LOST,
    KeyFile,
    KeyLine,
    StatedKeys,
    key_folder,
    need_key,
    stated_keys,
)
from memory_mesh.care.sqlite import copies
from memory_mesh.ledgers.sqlite import connections
from memory_mesh.ledgers.sqlite.connections import Files, refuse_read_only
from memory_mesh.model.care import KeyState, ReplacedKey
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError
from memory_mesh.platform import moved_marks
from memory_mesh.platform.durable_files import write_atomically
from memory_mesh.platform.store_urls import SERVERS
from memory_mesh.platform.system import make_folder
from memory_mesh.rules.arguments import shown_namespace


def key_state(folder: str | Path, environment: Mapping[str, str] | None = None) -> KeyState:
    """Returns where the keys of a store lie and whether they are the right ones; makes none."""
    store = Path(folder)
    moved_marks.refuse_store(store)
    stated = _stated(store, environment)
    if stated is None and not _has_key(store):
        return KeyState("", "", (), (), ())
    file = stated or KeyFile.of(store, environment)
    recorded = [one.id for one in file.recorded()]
    keys: list[KeyLine] = []
    problem = None
    try:
        keys = file.keys() if stated or file.path.exists() or recorded else []
    except StoreError as error:
        problem = str(error)
    here = {key.id for key in keys}
    in_file = stated is None or stated.variable == FILE
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
    return KeyFile.of(store, environment).rotate().id


def replace_key(folder: str | Path, environment: Mapping[str, str] | None = None) -> ReplacedKey:
    """Gives a store whose key is lost another one, and says what no longer matches."""
    store = Path(folder)
    if (stated := _stated(store, environment)) is not None:
        stated.replace()
    if store.parent.name == SERVERS:
        raise InvalidInput(f"nothing was replaced: {LOST}")
    _refuse_absent(store, environment)
    file = KeyFile.of(store, environment, anew=True)
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
    return (store / IDENTITY).exists() or (store / care_key_file.RECORD_FILE).exists()


def _stated(store: Path, environment: Mapping[str, str] | None) -> StatedKeys | None:
    """The keys that the environment states for a database; None for a store in a folder."""
    if store.parent.name != SERVERS:
        return None
    return stated_keys(os.environ if environment is None else environment)


def _refuse_absent(store: Path, environment: Mapping[str, str] | None) -> None:
    """Refuses to give a key to a store that is not there, or that cannot be written."""
    moved_marks.refuse_store(store)
    if store.parent.name == SERVERS:
        need_key(store, os.environ if environment is None else environment)
    if not _has_key(store) and not copies.is_store(store):
        raise NotFound(f"there is no store in {store}, so there is no key of it. Check --db-dir")
    refuse_read_only(store)


def _counted(store: Path) -> tuple[int, int, list[str]]:
    """Tombstones and texts with placeholders of all namespaces, and those that cannot be read."""
    tombstones = placeholders = 0
    unread: list[str] = []
    files = Files(store / "namespaces")
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


def key_file(folder: Path) -> KeyFile | None:
    """The key file of the store in a folder; None if there is none yet."""
    try:
        identity = (folder / IDENTITY).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    path = key_folder(os.environ) / f"{identity}.key"
    return KeyFile(path) if identity.isalnum() and path.exists() else None


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
    target = KeyFile.of(to)
    if target.path == given.path:
        return []
    if not target.path.exists() and not (to / care_key_file.RECORD_FILE).exists():
        make_folder(target.path.parent)
        write_atomically(target.path, given.path.read_bytes(), private=True)
        target.keys()  # which records them
        return []
    known = target.keys()
    older = [key for key in given.keys() if key not in known]  # noqa: SIM118  # of a file
    if older:
        lines = target.path.read_text(encoding="utf-8").splitlines(keepends=True)
        first = next(n for n, line in enumerate(lines) if line.strip() and line[0] != "#")
        lines[first:first] = [key.line for key in older]
        write_atomically(target.path, "".join(lines).encode(), private=True)
    if known[-1] == given.newest:
        return []
    remark = (
        f"the key file {target.path} has the keys of the old store as older ones: rejected values "
        "stay rejected, and new placeholders differ from those that are there"
    )
    return [remark]
