"""Salvage: a new store with everything that can be read of a damaged one."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from os import PathLike
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import namespace_places
from memory_mesh.engines.ledgers.sqlite.keeping import copying, head_file
from memory_mesh.engines.ledgers.sqlite.namespace_places import SUFFIX
from memory_mesh.errors import InvalidInput, MeshError, NotFound, StoreError
from memory_mesh.flows.prepare import terms_of
from memory_mesh.model.safekeeping import Salvaged, SalvagedNamespace
from memory_mesh.process import moved, private
from memory_mesh.process.clock import SystemClock
from memory_mesh.process.ids import MonotonicIds
from memory_mesh.process.locks import locked
from memory_mesh.process.store_urls import need_folder

_BESIDE = ("identity", "key-record", "erasures")  # files of a store that are copied as they are
_LOCK_SECONDS = 30.0
_LEFT = re.compile(r"partial-[0-9a-f]{8}")  # twice _RANDOM_BYTES
_RANDOM_BYTES = 4


def salvage(folder: str | PathLike[str], to: str | PathLike[str]) -> Salvaged:
    """Copies all that can be read of every namespace into a new store, and verifies it.

    The damaged store is only read. The new one appears under its name when it is whole.
    """
    source, target = Path(need_folder(folder)), Path(need_folder(to))
    moved.refuse_store(source)
    gone = _gone(source)
    names = _names(source / "namespaces", gone)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} is not an empty folder; give a new one with --to")
    _remove_left(target)
    staged = target.with_name(f"{target.name}.partial-{os.urandom(_RANDOM_BYTES).hex()}")
    private.make_folder(staged / "namespaces")
    try:
        done, failed = _each(source, staged, names)
        for name in _BESIDE:
            if (source / name).is_file():
                shutil.copy(source / name, staged / name)
        _sync(staged)
        if target.exists():
            target.rmdir()
        staged.rename(target)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    _sync_folder(target.parent)
    return Salvaged(str(target), tuple(done), {**failed, **gone})


def _gone(source: Path) -> dict[str, str]:
    """The namespaces whose head file is all that is left of them, each with what it says."""
    left: dict[str, str] = {}
    for namespace in copying.gone(source):
        path = copying.place(source, namespace)
        mark = head_file.read(path)
        if mark is not None and not path.exists() and not Path(f"{path}-wal").exists():
            left[namespace] = (
                f"{path} is gone, and writes up to seq {mark.seq} were acknowledged. Restore a "
                "backup: memory-mesh restore --from BACKUP"
            )
    return left


def _names(folder: Path, gone: Mapping[str, str]) -> list[str]:
    """The namespaces of a store, also those of which only the log is left."""
    databases = namespace_places.holding(folder, SUFFIX, f"{SUFFIX}-wal")
    names = {name for name, _ in databases}
    if not names and gone:
        raise StoreError("; ".join(gone.values()))
    if not names:
        raise NotFound(f"{folder} holds no namespace; check --db-dir")
    return sorted(names)


def _each(
    source: Path, staged: Path, names: list[str]
) -> tuple[list[SalvagedNamespace], dict[str, str]]:
    from memory_mesh.engines.ledgers.sqlite.faults import translated
    from memory_mesh.engines.ledgers.sqlite.keeping import salvaging

    clock = SystemClock()
    means = salvaging.Means(clock.now(), MonotonicIds(clock).draw, terms_of)
    done, failed = [], {}
    for name in names:
        path = copying.place(source, name)
        made = staged / path.relative_to(source)
        namespace_places.make_room(made)
        try:
            with ExitStack() as held, translated(path, name):
                if os.access(path.parent, os.W_OK):
                    held.enter_context(locked(path.with_suffix(".lock"), seconds=_LOCK_SECONDS))
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


def _sync(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        else:
            _sync_folder(path)
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
