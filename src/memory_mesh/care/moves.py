"""Move a store, or one namespace of it, to another folder with its key.

::

    lock ── copy into <to>/move.partial-<random>/ ── verify ── sync ── rename into place
                                                                            │ the one step
         old files under another name, kept: <folder>.moved-<time>/ ◀───────┘
         and in the old place a marker, before they go: <folder>/moved

Nobody can write meanwhile. The old files are never removed: a kill at any point leaves them, or the
copy, or both, and the same call goes on from there. The index is left behind: upkeep makes it anew.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.care import backups, restores, store_files
from memory_mesh.care.archives import IMPORT_LOCK, publish
from memory_mesh.care.key_file import KEY_FOLDER, key_folder
from memory_mesh.care.keys import carry_keys
from memory_mesh.care.sqlite import copies
from memory_mesh.care.store_files import findings
from memory_mesh.ledgers.sqlite import archive_rows, namespace_places, vector_file
from memory_mesh.ledgers.sqlite.connection import command
from memory_mesh.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.model.care import Moved, NamespaceCopy
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError, StoreIsDamaged
from memory_mesh.platform import moved_marks
from memory_mesh.platform.durable_files import sync_folder
from memory_mesh.platform.locks import locked
from memory_mesh.platform.store_urls import need_folder
from memory_mesh.platform.system import make_folder
from memory_mesh.rules.arguments import shown_namespace

_STAGE = "move"
_BESIDE = (*store_files.OWN, backups.FILE, "mirrors", "system")
_NOT_COPIED = re.compile(r".*(\.db|-wal|-shm|\.lock|\.partial|\.import\.lock)")
_SHOWN = 3  # findings that a message names


def move_store(folder: str | PathLike[str], to: str | PathLike[str]) -> Moved:
    """Moves a whole store to a folder that holds no store; its key stays where it is found."""
    source, target = _apart(Path(need_folder(folder)), Path(need_folder(to)))
    _refuse_moved(source, target)
    if not copies.is_store(source):
        moved_marks.refuse_store(source)
        raise NotFound(f"there is no store in {source}. Check --db-dir")
    refuse_read_only(source / "namespaces")
    store_files.given_identity(source)
    with store_files.disk_faults(target):
        make_folder(target)
    with store_files.disk_faults(target), restores.locked_store(source):
        found, gone = copies.files(source), copies.gone(source)
        store_files.sweep(target, _STAGE.__eq__)
        if not _is_there(source, target, found):
            with store_files.staged(target, _STAGE) as partial:
                for namespace in found:
                    _copied(source, partial, namespace)
                _copy_rest(source, partial)
                store_files.sync_tree(partial)
                restores.mark_folders(partial, target)
                _put(partial, target)
        restores.unmark_move(target)
        unmarked = _marked(moved_marks.of_store(source), target)
        kept = _set_aside(source)
    named = shlex.quote(str(target))
    return Moved(
        to=str(target),
        namespaces=tuple(found),
        kept=str(kept),
        remarks=(
            f"name the new folder from now on: --db-dir {named}, or MEMORY_MESH_DIR={named}",
            f"the old files are kept in {kept}; remove them when the new place works",
            *unmarked,
            *(f"not moved: {why}" for why in gone.values()),
        ),
    )


def move_namespace(folder: str | PathLike[str], namespace: str, to: str | PathLike[str]) -> Moved:
    """Moves one namespace to another store, which gets the keys of this store as older ones."""
    source, target = _apart(Path(need_folder(folder)), Path(need_folder(to)))
    path, place = copies.place(source, namespace), copies.place(target, namespace)
    for store in (source, target):
        moved_marks.refuse_store(store)
    if not path.exists() or not path.stat().st_size:
        moved_marks.refuse_namespace(path, namespace)
        raise NotFound(
            f"there is no namespace {shown_namespace(namespace)!r} in {source}. "
            "List those there are: memory-mesh namespaces"
        )
    refuse_read_only(path.parent)
    with store_files.disk_faults(target):
        make_folder(target / "namespaces")
    remarks: list[str] = []
    databases = target / "namespaces"
    with (
        store_files.disk_faults(target),
        locked(path.with_suffix(".lock")),
        locked(databases / IMPORT_LOCK),
    ):
        store_files.sweep(target, _STAGE.__eq__)
        stands = copies.standing(path)
        if backups.is_erased(target, stands.identity):
            raise StoreError(
                f"this namespace was erased from the store in {target}, and stays erased; name "
                "another folder"
            )
        remarks += carry_keys(source, target)
        if not _is_same(stands, place):
            _refuse_filled(place, target, namespace)
            with (
                store_files.staged(target, _STAGE) as partial,
                restores.place_held(databases, namespace) as place,
            ):
                _copied(source, partial, namespace)
                store_files.sync_tree(partial)
                _refuse_filled(place, target, namespace)
                publish(copies.place(partial, namespace), place)
        else:
            copies.acknowledge(place)  # a kill may have come before that
        backups.carry(source, target)
        moved_marks.remove(moved_marks.of_namespace(place))
        _take_along(path.with_suffix(".spool"), place.with_suffix(".spool"))
        remarks += _marked(moved_marks.of_namespace(path), target)
        kept = _set_file_aside(path)
    remarks.append(f"the old file is kept as {kept}; when the new place works, remove it")
    return Moved(to=str(target), namespaces=(namespace,), kept=str(kept), remarks=tuple(remarks))


def _apart(source: Path, target: Path) -> tuple[Path, Path]:
    """Both folders as they are on the disk; neither may lie in the other."""
    source, target = source.resolve(), target.resolve()
    store_files.refuse_file(target)
    if source == target or source in target.parents or target in source.parents:
        raise InvalidInput(f"{target} is not apart from {source}; name a folder outside of it")
    keys = key_folder(os.environ).resolve()
    if target in (keys, *keys.parents):
        raise InvalidInput(
            f"the keys lie in {keys}, and would be inside the store they protect; set {KEY_FOLDER} "
            f"to a folder outside {target}, or name another folder"
        )
    return source, target


def _refuse_moved(source: Path, target: Path) -> None:
    """Refuses a store that was moved to another folder; the same move may go on after a kill."""
    marker = moved_marks.read(moved_marks.of_store(source))
    if marker is not None and marker.to != str(target):
        moved_marks.refuse_store(source)


def _is_there(source: Path, target: Path, found: Iterable[str]) -> bool:
    """Whether an interrupted move has already brought everything; refuses any other store."""
    there, identity = copies.files(target), store_files.identity_of(target)
    own = identity == store_files.identity_of(source)
    if not there and (own or identity is None):
        return False
    if own and all(
        name in there and _is_same(copies.standing(copies.place(source, name)), there[name])
        for name in found
    ):
        return True
    raise StoreError(
        f"there is another store in {target}: name another folder, or move single namespaces "
        "there: memory-mesh move --only --namespace NAME --to FOLDER"
    )


def _is_same(stands: NamespaceCopy, place: Path) -> bool:
    """Whether a file holds the same namespace, as of the same write."""
    return place.exists() and not archive_rows.is_empty(place) and copies.standing(place) == stands


def _refuse_filled(place: Path, target: Path, namespace: str) -> None:
    if not archive_rows.is_empty(place):
        raise InvalidInput(
            f"the store in {target} has a namespace {shown_namespace(namespace)} with memories "
            "already, and nothing is merged. To bring it there under another name: "
            f"{command('export', namespace)} --to FILE, then memory-mesh import --db-dir "
            f"{shlex.quote(str(target))} --from FILE --into NAME"
        )


def _copied(source: Path, partial: Path, namespace: str) -> None:
    """Copies a namespace and verifies the copy."""
    path = copies.place(source, namespace)
    if (other := namespace_places.twin(source / "namespaces", path)) is not None:
        namespace_places.refuse_twin(path, other)
    place = partial / path.relative_to(source)
    namespace_places.make_room(place)
    stands = copies.copied(path, place)
    wrong = [*stands.findings, *findings(partial, namespace, stands.schema)]
    if replace(copies.standing(place), findings=stands.findings) != stands:
        wrong.append("the copy is not as of the same write")
    if wrong:
        raise StoreIsDamaged(
            f"the namespace {shown_namespace(namespace)} in {source} is damaged: "
            f"{'; '.join(wrong[:_SHOWN])}. Nothing was moved. Run: "
            f"{command('repair', namespace)}; if that does not help: memory-mesh salvage --to "
            "FOLDER"
        )


def _copy_rest(source: Path, partial: Path) -> None:
    """Copies the small files beside the databases, and those of the store."""
    for entry in namespace_places.entries(source / "namespaces"):
        if entry.is_file(follow_symlinks=False) and not _NOT_COPIED.fullmatch(entry.name):
            target = partial / Path(entry).relative_to(source)
            namespace_places.make_room(target)
            store_files.copy_file(Path(entry), target)
    for name in _BESIDE:
        if (source / name).is_dir():
            shutil.copytree(source / name, partial / name)
        elif (source / name).exists():
            store_files.copy_file(source / name, partial / name)


def _put(partial: Path, target: Path) -> None:
    """Renames what was copied into place, the namespaces last: with them it is the store.

    The identity comes first: a call after a kill knows by it what is its own.
    """
    own = store_files.identity_of(target) == store_files.identity_of(partial)
    backups.carry(partial, target)
    for name in (*_BESIDE, "namespaces"):
        new, there = partial / name, target / name
        if not new.exists() or name == backups.FILE:
            continue
        if there.is_dir():
            if not own and any(there.iterdir()):
                raise StoreError(f"{there} is there already: name another folder")
            shutil.rmtree(there)
        new.replace(there)
        sync_folder(target)


def _marked(marker: Path, target: Path) -> list[str]:
    """Leaves a marker in the old place; a full disk, which may be why it is moved, ends no move."""
    try:
        moved_marks.write(marker, target, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    except OSError as error:
        remark = (
            f"{marker} could not be written ({error.strerror}): whoever still names the old folder "
            "is not told of the new one, and begins anew there"
        )
        return [remark]
    return []


def _set_aside(source: Path) -> Path:
    """Gives the old files another name, the namespaces first; returns the folder."""
    place, name = (
        (source, "store")
        if os.path.ismount(source) or not os.access(source.parent, os.W_OK)
        else (source.parent, source.name)
    )
    aside = place / f"{name}.moved-{_stamp()}"
    make_folder(aside)
    restores.mark_folders(source, aside)
    for each in ("namespaces", "index", *_BESIDE):
        if (source / each).exists():
            (source / each).rename(aside / each)
    sync_folder(source)
    with suppress(OSError):
        source.rmdir()  # unless it holds the marker, models or files of agents
    sync_folder(place)
    return aside


def _take_along(spool: Path, to: Path) -> None:
    """Moves records of reads that wait for the next write, unless some wait there too."""
    if spool.exists() and not to.exists():
        store_files.copy_file(spool, to)
        spool.unlink()


def _set_file_aside(path: Path) -> Path:
    """Gives a namespace's old file another name, which is no namespace's; returns it."""
    kept = path.with_suffix(f".moved-{_stamp()}.bak")
    path.with_suffix(".head").unlink(missing_ok=True)
    vector_file.remove(path)
    path.rename(kept)
    for end in ("-wal", "-shm"):  # SQLite finds the log of a file by its name
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(kept.with_name(kept.name + end))
    sync_folder(path.parent)
    return kept


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.urandom(2).hex()}"
