"""Repair: rebuilds what a namespace derives from its rows, in place."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from os import PathLike
from pathlib import Path

from memory_mesh.care import backups
from memory_mesh.care.sqlite import copies, rebuild, salvage as salvaging
from memory_mesh.ledgers.sqlite import (
    namespace_file,
    namespace_places,
    open_file,
    schema,
    vector_file,
)
from memory_mesh.ledgers.sqlite.connection import SqliteConnection, translated
from memory_mesh.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.ledgers.sqlite.verify import verify
from memory_mesh.model.care import Repaired, Salvaged, SalvagedNamespace
from memory_mesh.model.errors import InvalidInput, MeshError, NotFound, StoreError, StoreIsDamaged
from memory_mesh.models.lance.index import folder_name
from memory_mesh.platform import moved_marks, system
from memory_mesh.platform.durable_files import sync_folder, sync_tree
from memory_mesh.platform.ids import MonotonicIds, SystemClock
from memory_mesh.platform.locks import locked
from memory_mesh.platform.store_urls import need_folder
from memory_mesh.rules.arguments import shown_namespace
from memory_mesh.write.prepare import terms_of

_BESIDE = ("identity", "key-record", "erasures")  # files of a store that are copied as they are
_SALVAGE_LOCK_SECONDS = 30.0
_LEFT = re.compile(r"partial-[0-9a-f]{8}")  # twice _RANDOM_BYTES
_RANDOM_BYTES = 4

_LOCK_SECONDS = 30.0


def repair(folder: str | PathLike[str], namespace: str, *, accept_loss: bool = False) -> Repaired:
    """Rebuilds keyword tables, indexes, counters, the head file and the index of large stores.

    Writes that the head file knows and the database lacks stay an error unless the loss is
    accepted. A kill at any point leaves a store that the next run repairs.
    """
    store = Path(need_folder(folder))
    path = namespace_places.database(store / "namespaces", namespace)
    moved_marks.refuse_store(store)
    if (wrong := namespace_places.no_file(path)) is not None:
        raise StoreIsDamaged(wrong)
    if not path.exists() and namespace_file.read_head(path) is None:
        moved_marks.refuse_namespace(path, namespace)
        raise NotFound(
            f"there is no namespace {shown_namespace(namespace)} in {folder}. List those there "
            "are: memory-mesh namespaces"
        )
    refuse_read_only(path.parent)
    with locked(path.with_suffix(".lock"), seconds=_LOCK_SECONDS), translated(path, namespace):
        if not path.exists() or not path.stat().st_size:
            return _emptied(path, namespace, accept_loss=accept_loss)
        if not accept_loss and (flaw := namespace_file.lack(path, namespace)) is not None:
            raise flaw
        with rebuild.opened(path) as db:
            return _repaired(db, path, namespace, accept_loss=accept_loss)


def _emptied(path: Path, namespace: str, *, accept_loss: bool) -> Repaired:
    """Forgets what a namespace held whose database is gone or empty; it is not opened.

    SQLite removes the log beside an empty database, and salvage may still read it.
    """
    mark = namespace_file.read_head(path)
    what = "it is empty" if path.exists() else "it is gone"
    if mark is not None and not accept_loss:
        raise namespace_file.missing(path, namespace, mark, what)
    namespace_file.remove_head(path)
    vector_file.remove(path)
    with open_file.empty(namespace) as nothing:
        found = verify(nothing)
    if mark is None:
        return Repaired(namespace, (), found, None)
    lost = f"all writes, up to seq {mark.seq}, are gone"
    return Repaired(namespace, ("the head file was removed",), found, lost)


def _repaired(db: SqliteConnection, path: Path, namespace: str, *, accept_loss: bool) -> Repaired:
    mark = namespace_file.read_head(path)
    flaw = None if mark is None else namespace_file.flaw(db, path, namespace, mark)
    if flaw is not None and not accept_loss:
        raise flaw
    open_file.check_writer(db)
    if 0 < schema.version(db) < schema.NEWEST:  # what is rebuilt below is that of today's schema
        schema.ensure(db, path, namespace)
    done = rebuild.repair(db)
    if rebuild.forget_index(db):
        store = namespace_places.store_of(path)
        if store is not None:
            shutil.rmtree(store / "index" / folder_name(namespace), ignore_errors=True)
        done.append("the index is not used any more; memory-mesh upkeep builds it anew")
    if vector_file.remove(path):
        done.append("the vector files were removed; the next search makes them anew")
    found = verify(db)
    stands = namespace_file.stands(db)
    if stands != mark:
        namespace_file.write_head(path, stands)
        done.append("the head file was written anew")
    lost = None
    if flaw is not None and mark is not None:
        lost = _gone(stands.seq + 1, mark.seq)
        lost = lost if mark.seq > stands.seq else f"the file was replaced; it ends at {stands.seq}"
    return Repaired(namespace, tuple(done), found, lost)


def _gone(first: int, last: int) -> str:
    if first == last:
        return f"the write with seq {first} is gone"
    return f"writes from seq {first} to {last} are gone"


# Salvage: a new store with everything that can be read of a damaged one.


def salvage(folder: str | PathLike[str], to: str | PathLike[str]) -> Salvaged:
    """Copies all that can be read of every namespace into a new store, and verifies it.

    The damaged store is only read. The new one appears under its name when it is whole.
    """
    source, target = Path(need_folder(folder)), Path(need_folder(to))
    moved_marks.refuse_store(source)
    gone = _without_file(source)
    names = _names(source / "namespaces", gone)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} is not an empty folder; give a new one with --to")
    _remove_left(target)
    staged = target.with_name(f"{target.name}.partial-{os.urandom(_RANDOM_BYTES).hex()}")
    system.make_folder(staged / "namespaces")
    try:
        done, failed = _each(source, staged, names)
        for name in _BESIDE:
            if (source / name).is_file():
                shutil.copy(source / name, staged / name)
        sync_tree(staged)
        if target.exists():
            target.rmdir()
        staged.rename(target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    sync_folder(target.parent)
    return Salvaged(str(target), tuple(done), {**failed, **gone})


def _without_file(source: Path) -> dict[str, str]:
    """Namespaces of which a head file is all that is left, or which are no files, each with why."""
    left: dict[str, str] = {}
    for namespace, why in copies.gone(source).items():
        path = copies.place(source, namespace)
        if namespace_places.no_file(path) is not None:
            left[namespace] = why
            continue
        mark = namespace_file.read_head(path)
        if mark is not None and not path.exists() and not Path(f"{path}-wal").exists():
            left[namespace] = (
                f"{path} is gone, and writes up to seq {mark.seq} were acknowledged. Restore a "
                "backup: memory-mesh restore --from BACKUP"
            )
    return left


def _names(folder: Path, gone: Mapping[str, str]) -> list[str]:
    """The namespaces of a store, also those of which only the log is left."""
    databases = namespace_places.holding(
        folder, namespace_places.SUFFIX, f"{namespace_places.SUFFIX}-wal"
    )
    names = {name for name, _ in databases} - gone.keys()
    if not names and gone:
        raise StoreError("; ".join(gone.values()))
    if not names:
        raise NotFound(f"{folder} holds no namespace; check --db-dir")
    return sorted(names)


def _each(
    source: Path, staged: Path, names: list[str]
) -> tuple[list[SalvagedNamespace], dict[str, str]]:
    clock, erased = SystemClock(), partial(backups.erased_of, source)
    means = salvaging.Means(clock.now(), MonotonicIds(clock).draw, terms_of, erased)
    done, failed = [], {}
    for name in names:
        path = copies.place(source, name)
        made = staged / path.relative_to(source)
        namespace_places.make_room(made)
        try:
            with ExitStack() as held, translated(path, name):
                if os.access(path.parent, os.W_OK):
                    held.enter_context(
                        locked(path.with_suffix(".lock"), seconds=_SALVAGE_LOCK_SECONDS)
                    )
                done.append(salvaging.salvage(path, made, name, means))
        except (MeshError, ValueError) as error:  # the others are still worth it
            failed[name] = str(error)
            for left in made.parent.glob(f"{made.stem}.*"):
                left.unlink()
    if not done:
        raise StoreError("; ".join(f"{name}: {why}" for name, why in failed.items()))
    return done, failed


def _remove_left(target: Path) -> None:
    """Removes what a killed salvage left beside its target."""
    if target.parent.is_dir():
        for path in target.parent.iterdir():
            name, _, end = path.name.rpartition(".")
            if name == target.name and _LEFT.fullmatch(end):
                shutil.rmtree(path, ignore_errors=True)
