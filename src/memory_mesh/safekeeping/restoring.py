"""Restore: a backup, or the copy of one namespace, becomes a store again.

Every file is held against its hash, every namespace is verified and held against the manifest, and
what was erased since is left out. Only then does anything appear in its place.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import namespace_places
from memory_mesh.engines.ledgers.sqlite.keeping import copying
from memory_mesh.engines.ledgers.sqlite.mounts import refuse_network_folder
from memory_mesh.errors import BackupIsDamaged, InvalidInput, StoreError, StoreIsDamaged
from memory_mesh.fastdataclass import replace as changed
from memory_mesh.model.safekeeping import Kept, Restored
from memory_mesh.policy.users import shown_namespace
from memory_mesh.ports import Clock
from memory_mesh.process import moved
from memory_mesh.process.clock import SystemClock
from memory_mesh.process.private import make_file, make_folder
from memory_mesh.process.store_urls import need_folder
from memory_mesh.safekeeping import (
    checking,
    erasures,
    files,
    manifest as manifests,
    placing,
    staging,
)

_STAMP = "%Y%m%dT%H%M%SZ"
_SHOWN = 3  # findings that a message names
Tell = Callable[[str], None]


def restore(
    source: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    replace: bool = False,
    known: str | os.PathLike[str] | None = None,
    allow_network: bool = False,
    tell: Tell | None = None,
    clock: Clock | None = None,
) -> Restored:
    """Restores a backup, or a single `.db` or `.bak` file, into a folder.

    A store that is there is refused, or with `replace` put aside. What was erased from it, from the
    store in `known` if it is the same one, or before the backup was made does not come back.
    """
    given, target = (Path(need_folder(place)).absolute() for place in (source, to))
    if not allow_network:
        refuse_network_folder(target)
    if given.resolve() in (target.resolve(), *target.resolve().parents):
        raise InvalidInput(f"{target} lies in the backup itself; give a folder elsewhere")
    files.refuse_file(target)
    say = tell or (lambda _: None)
    erasers = [target, *([] if known is None else [Path(known).absolute()])]
    marker = moved.read(moved.of_store(target))  # the store went on elsewhere, and erased there
    erasers += [] if marker is None or not marker.to else [Path(marker.to)]
    stamp = (clock or SystemClock()).now().astimezone(UTC).strftime(_STAMP)
    with files.disk_faults(target):
        if given.is_file():
            return _restored_file(given, target, erasers, stamp)
        return _restored(given, target, erasers, stamp, replace=replace, tell=say)


def _restored(
    source: Path, to: Path, erasers: Iterable[Path], stamp: str, *, replace: bool, tell: Tell
) -> Restored:
    manifest = manifests.read(source)
    placing.check(to, manifest, replace=replace)
    place, name = placing.beside(to)
    swept = staging.sweep(place, name.__eq__)
    with staging.staged(place, name) as partial:
        _carry_own(source, manifest, partial)
        _carry_erasures(erasers, manifest.store, partial)
        kept, erased = _sorted_out(partial, manifest)
        held = {entry.name: entry for entry in manifest.files}
        for number, one in enumerate(kept, 1):
            tell(f"{number} of {len(kept)}: {shown_namespace(one.namespace)}")
            _carry_namespace(source, held, one, partial)
        tell("")
        there = set(copying.files(to)) if replace else set[str]()
        before = placing.put(partial, to, stamp)
    named = {one.namespace for one in manifest.namespaces}
    return Restored(
        str(to),
        str(source),
        tuple(kept),
        erased=tuple(erased),
        missing=tuple(namespace for namespace, _ in manifest.missing),
        before=None if before is None else str(before),
        left_behind=tuple(sorted(there - named)),
        swept=tuple(swept),
    )


def _carry_own(source: Path, manifest: manifests.Manifest, partial: Path) -> None:
    """Copies every file that is no namespace."""
    make_folder(partial / "namespaces")
    for entry in manifest.files:
        if not entry.name.startswith("namespaces/"):
            _carry(source, entry, partial / entry.name)


def _carry(source: Path, entry: manifests.Held, target: Path) -> None:
    make_folder(target.parent)
    make_file(target)
    manifests.carry(source, entry, target)


def _carry_erasures(erasers: Iterable[Path], store: str | None, partial: Path) -> None:
    """Adds what was erased from the stores that are this one."""
    for other in erasers:
        if store is not None and files.identity_of(other) == store:
            erasures.carry(other, partial)


def _sorted_out(partial: Path, manifest: manifests.Manifest) -> tuple[list[Kept], list[str]]:
    """The namespaces to restore, and the names of those that were erased."""
    kept: list[Kept] = []
    erased: list[str] = []
    for one in manifest.namespaces:
        if erasures.is_erased(partial, one.identity):
            erased.append(one.namespace)
        else:
            kept.append(one)
    return kept, erased


def _carry_namespace(
    source: Path, held: Mapping[str, manifests.Held], kept: Kept, partial: Path
) -> None:
    """Copies a namespace and checks that it is sound and the one that the manifest tells of."""
    file = namespace_places.file_name(kept.namespace)
    folders = namespace_places.both_folders(Path("namespaces"), kept.namespace)
    names = [(folder / file).as_posix() for folder in folders]
    name = next((name for name in names if name in held), None)
    if name is None:
        raise BackupIsDamaged(f"the manifest of {source} names no file {names[0]}")
    target = partial / name
    namespace_places.make_room(target)
    _carry(source, held[name], target)
    there = copying.standing(target)
    if changed(there, namespace=kept.namespace, findings=kept.findings) != kept:
        raise BackupIsDamaged(f"{source / name} does not stand where the manifest says")
    _refuse_damage(source, partial, kept.namespace, kept.schema)
    copying.acknowledge(target)


def _refuse_damage(source: Path, partial: Path, namespace: str, schema: int) -> None:
    wrong = checking.findings(partial, namespace, schema)
    if wrong:
        raise BackupIsDamaged(
            f"{source} holds a damaged copy of the namespace {shown_namespace(namespace)}: "
            f"{'; '.join(wrong[:_SHOWN])}{_more(len(wrong))}. Nothing was restored. "
            f"{_instead(source)}"
        )


def _instead(source: Path) -> str:
    if source.is_file():
        return "Give another file, or restore a whole backup"
    return (
        "Restore an older backup, or copy what can be read: memory-mesh salvage --db-dir "
        f"{shlex.quote(str(source))} --to FOLDER"
    )


def _more(count: int) -> str:
    return f", and {count - _SHOWN} more" if count > _SHOWN else ""


def _restored_file(source: Path, to: Path, erasers: Iterable[Path], stamp: str) -> Restored:
    """Restores one namespace from its file into a store of its own."""
    if copying.is_store(to):
        raise StoreError(f"there is a store in {to}: restore a single file into a new folder")
    origin = namespace_places.store_of(source) or source.parent
    erasures.hashes(origin)  # a damaged one is named by its own path
    place, name = placing.beside(to)
    swept = staging.sweep(place, name.__eq__)
    try:
        kept = copying.standing(source)
    except StoreIsDamaged as error:
        raise BackupIsDamaged(
            f"{source} is no database of a namespace, or it is damaged. Nothing was restored: give "
            "another file, or a whole backup"
        ) from error
    with staging.staged(place, name) as partial:
        make_folder(partial / "namespaces")
        for own in (*files.OWN, erasures.FILE):
            if (origin / own).is_file():
                files.copy_file(origin / own, partial / own)
        _carry_erasures(erasers, files.identity_of(partial), partial)
        if erasures.is_erased(partial, kept.identity):
            raise StoreError(
                f"{source} holds the namespace {shown_namespace(kept.namespace)}, which was "
                "deleted since; nothing was restored"
            )
        kept = copying.copied(source, copying.place(partial, kept.namespace))
        _refuse_damage(source, partial, kept.namespace, kept.schema)
        copying.acknowledge(copying.place(partial, kept.namespace))
        placing.put(partial, to, stamp)
    return Restored(str(to), str(source), (kept,), swept=tuple(swept))
