"""Backups: a folder with a consistent copy of every namespace, made while others write.

::

    <to>/20261116T203000Z/
        manifest.json                written last: what is here, a hash of each file
        namespaces/<name>.db         each as it was at one moment, checked
        namespaces/<xx>/<name>.db    those that lie so in the store
        system/memory_log.*          the archives of the system memory
        identity, key-record, erasures

Not in it: keys, the index, models, the files of a mirror's state, the copies that migrations left,
and the spool (records of reads that wait for a writer).
"""

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import namespace_places
from memory_mesh.engines.ledgers.sqlite.keeping import copying
from memory_mesh.errors import InvalidInput, MeshError, NotFound, StoreError, StoreIsDamaged
from memory_mesh.fastdataclass import replace
from memory_mesh.model.safekeeping import Backup, Kept
from memory_mesh.policy.users import shown_namespace
from memory_mesh.ports import Clock
from memory_mesh.process import moved
from memory_mesh.process.clock import SystemClock
from memory_mesh.process.private import make_folder
from memory_mesh.process.store_urls import need_folder
from memory_mesh.safekeeping import checking, erasures, files, manifest as manifests, staging

_NAME = re.compile(r"\d{8}T\d{6}Z(?:-\d+)?")
_STAMP = "%Y%m%dT%H%M%SZ"
Tell = Callable[[str], None]


def backup(
    folder: str | os.PathLike[str],
    to: str | os.PathLike[str],
    *,
    keep: int | None = None,
    tell: Tell | None = None,
    clock: Clock | None = None,
) -> Backup:
    """Makes a backup of the store in a folder; `keep` removes all but the newest sound ones.

    A namespace that cannot be copied is named in `missing`, and what `verify` finds in a copy in
    its `findings`; no older backup is removed then. `tell` is given a line of progress.
    """
    store, target = (Path(need_folder(place)).absolute() for place in (folder, to))
    _check(store, target, keep)
    made = (clock or SystemClock()).now().astimezone(UTC)
    with files.disk_faults(target):
        swept = staging.sweep(target, _NAME.fullmatch)
        with staging.staged(target, made.strftime(_STAMP)) as partial:
            manifest = _filled(partial, store, made, tell or (lambda _: None))
            final = _named(partial, target, made)
        removed = _retired(target, manifest, keep) if keep is not None and manifest.ok else []
    return Backup(
        str(final),
        manifest.store,
        manifest.made,
        sum(held.bytes for held in manifest.files),
        manifest.namespaces,
        manifest.missing,
        tuple(removed),
        tuple(swept),
    )


def _check(store: Path, target: Path, keep: int | None) -> None:
    if keep is not None and keep < 1:
        raise InvalidInput(f"keep is the number of backups that stay, 1 or more, not {keep}")
    moved.refuse_store(store)
    erasures.hashes(store)  # with a damaged one the backup could not be restored
    if not copying.is_store(store):
        for wrong in copying.gone(store).values():
            raise StoreIsDamaged(wrong)
        raise NotFound(f"there is no store in {store}, so nothing to back up. Check --db-dir")
    files.refuse_file(target)
    if store.resolve() in (target.resolve(), *target.resolve().parents):
        raise InvalidInput(
            f"the backup would lie in {store}, inside the store, and be lost with it; give a "
            "folder elsewhere, best on another disk"
        )


def _filled(partial: Path, store: Path, made: datetime, tell: Tell) -> manifests.Manifest:
    """Copies, checks and hashes everything; the manifest comes last."""
    files.given_identity(store)
    make_folder(partial / "namespaces")
    kept, missing = _namespaces(partial, store, tell)
    for source in files.system_files(store):  # after the ledger: what is archived leaves that
        files.copy_file(source, partial / "system" / source.name)
    for name in (*files.OWN, erasures.FILE):  # that last: it tells of what went meanwhile
        if (store / name).is_file():
            files.copy_file(store / name, partial / name)
    names = sorted(
        path.relative_to(partial).as_posix()
        for path in partial.rglob("*")
        if path.is_file() and path.name != staging.MARK and path != moved.of_store(partial)
    )
    manifest = manifests.Manifest(
        made=made.isoformat(timespec="seconds").replace("+00:00", "Z"),
        store=files.identity_of(partial),
        key=files.key_of(partial),
        files=tuple(manifests.held(partial, name) for name in names),
        namespaces=tuple(kept),
        missing=tuple(missing),
    )
    manifests.write(partial, manifest)
    return manifest


def _namespaces(partial: Path, store: Path, tell: Tell) -> tuple[list[Kept], list[tuple[str, str]]]:
    """Copies and checks each namespace; a damaged one does not keep the others out."""
    kept: list[Kept] = []
    missing = list(copying.gone(store).items())
    found = copying.files(store)
    for number, (namespace, source) in enumerate(found.items(), 1):
        line = f"{number} of {len(found)}: {shown_namespace(namespace)}"
        target = partial / source.relative_to(store)
        try:
            _refuse_twin(store, source)
            namespace_places.make_room(target)
            copy = copying.copied(source, target, _steps(line, tell))
        except StoreError as error:
            target.unlink(missing_ok=True)
            if not source.exists():  # deleted meanwhile
                continue
            if not isinstance(error, StoreIsDamaged):
                raise
            missing.append((namespace, str(error)))
            continue
        tell(f"{line}, checking")
        wrong = checking.findings(partial, namespace, copy.schema)
        kept.append(replace(copy, namespace=namespace, findings=(*copy.findings, *wrong)))
    tell("")
    return kept, missing


def _refuse_twin(store: Path, source: Path) -> None:
    if (other := namespace_places.twin(store / "namespaces", source)) is not None:
        namespace_places.refuse_twin(source, other)


def _steps(line: str, tell: Tell) -> copying.Progress:
    return lambda done, pages: tell(f"{line}, {100 * done // max(1, pages)} %")


def _named(partial: Path, target: Path, made: datetime) -> Path:
    """Gives the backup its name: the time, and a number where one of that time is there."""
    stamp, number = made.strftime(_STAMP), 1
    while True:
        final = target / (stamp if number == 1 else f"{stamp}-{number}")
        if not final.exists():
            try:
                staging.named(partial, final)
            except OSError:
                if not final.exists():
                    raise
            else:
                return final
        number += 1


def _retired(target: Path, newest: manifests.Manifest, keep: int) -> list[str]:
    """Removes the backups of this store that are older than the newest sound ones."""
    if newest.store is None:  # nobody can tell whose the others are
        return []
    own = []
    for path in target.iterdir():
        if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            try:
                manifest = manifests.read(path)
            except MeshError:  # not ours to judge
                continue
            if manifest.store == newest.store:
                own.append((_order(path.name), path, manifest.ok))
    own.sort(reverse=True)
    sound = [place for place, (_, _, ok) in enumerate(own) if ok][:keep]
    old = own[sound[-1] + 1 :] if len(sound) == keep else []
    for _, path, _ in old:
        staging.discard(path)
    return [path.name for _, path, _ in old]


def _order(name: str) -> tuple[str, int]:
    stamp, _, number = name.partition("-")
    return stamp, int(number or 1)
