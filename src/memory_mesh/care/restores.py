"""Restore: a backup, or the copy of one namespace, becomes a store again.

Every file is held against its hash, every namespace is verified and held against the manifest, and
what was erased since is left out. Only then does anything appear in its place.
"""

import functools
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC
from pathlib import Path

from memory_mesh.base.typed import replace as changed
from memory_mesh.care import backups, manifest as manifests, store_files
from memory_mesh.care.sqlite import copies
from memory_mesh.ledgers.sqlite import namespace_file, namespace_places
from memory_mesh.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.model.care import NamespaceCopy, Restored
from memory_mesh.model.errors import BackupIsDamaged, InvalidInput, StoreError, StoreIsDamaged
from memory_mesh.model.ports import Clock
from memory_mesh.platform import moved_marks, system
from memory_mesh.platform.durable_files import exchanged, sync_folder, write_atomically
from memory_mesh.platform.ids import SystemClock
from memory_mesh.platform.locks import folder_held, locked
from memory_mesh.platform.store_urls import need_folder
from memory_mesh.rules.arguments import shown_namespace

_FOLDERS = ("namespaces", "system")  # in this order: an archive may know what the ledger does
_FILES_EACH = 5  # open files of a locked namespace: its lock, database, log, shared memory, spare

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
        namespace_places.refuse_network_folder(target)
    if given.resolve() in (target.resolve(), *target.resolve().parents):
        raise InvalidInput(f"{target} lies in the backup itself; give a folder elsewhere")
    store_files.refuse_file(target)
    say = tell or (lambda _: None)
    erasers = [target, *([] if known is None else [Path(known).absolute()])]
    marker = moved_marks.read(
        moved_marks.of_store(target)
    )  # the store went on elsewhere, and erased there
    erasers += [] if marker is None or not marker.to else [Path(marker.to)]
    stamp = (clock or SystemClock()).now().astimezone(UTC).strftime(_STAMP)
    with store_files.disk_faults(target):
        if given.is_file():
            return _restored_file(given, target, erasers, stamp)
        return _restored(given, target, erasers, stamp, replace=replace, tell=say)


def _restored(
    source: Path, to: Path, erasers: Iterable[Path], stamp: str, *, replace: bool, tell: Tell
) -> Restored:
    manifest = manifests.read(source)
    check(to, manifest, replace=replace)
    place, name = beside(to)
    swept = store_files.sweep(place, name.__eq__)
    with store_files.staged(place, name) as partial:
        _carry_own(source, manifest, partial)
        _carry_erasures(erasers, manifest.store, partial)
        kept, erased = _sorted_out(partial, manifest)
        held, memories = {entry.name: entry for entry in manifest.files}, 0
        for number, one in enumerate(kept, 1):
            tell(f"{number} of {len(kept)}: {shown_namespace(one.namespace)}")
            memories += _carry_namespace(source, held, one, partial)
        tell("")
        there = set(copies.files(to)) if replace else set[str]()
        before = put(partial, to, stamp, lambda: check(to, manifest, replace=replace))
    named = {one.namespace for one in manifest.namespaces}
    return Restored(
        str(to),
        str(source),
        tuple(kept),
        erased=tuple(erased),
        memories_erased=memories,
        missing=tuple(namespace for namespace, _ in manifest.missing),
        before=None if before is None else str(before),
        left_behind=tuple(sorted(there - named)),
        swept=tuple(swept),
    )


def _carry_own(source: Path, manifest: manifests.BackupManifest, partial: Path) -> None:
    """Copies every file that is no namespace."""
    system.make_folder(partial / "namespaces")
    for entry in manifest.files:
        if not entry.name.startswith("namespaces/"):
            _carry(source, entry, partial / entry.name)


def _carry(source: Path, entry: manifests.BackupFile, target: Path) -> None:
    system.make_folder(target.parent)
    system.make_file(target)
    manifests.carry(source, entry, target)


def _carry_erasures(erasers: Iterable[Path], store: str | None, partial: Path) -> None:
    """Adds what was erased from the stores that are this one."""
    for other in erasers:
        if store is not None and store_files.identity_of(other) == store:
            backups.carry(other, partial)


def _sorted_out(
    partial: Path, manifest: manifests.BackupManifest
) -> tuple[list[NamespaceCopy], list[str]]:
    """The namespaces to restore, and the names of those that were erased."""
    kept: list[NamespaceCopy] = []
    erased: list[str] = []
    for one in manifest.namespaces:
        if backups.is_erased(partial, one.identity):
            erased.append(one.namespace)
        else:
            kept.append(one)
    return kept, erased


def _carry_namespace(
    source: Path, held: Mapping[str, manifests.BackupFile], kept: NamespaceCopy, partial: Path
) -> int:
    """Copies a namespace and checks that it is sound and the one that the manifest tells of.

    Returns how many of its memories were erased since.
    """
    file = namespace_places.file_name(kept.namespace)
    folders = namespace_places.both_folders(Path("namespaces"), kept.namespace)
    names = [(folder / file).as_posix() for folder in folders]
    name = next((name for name in names if name in held), None)
    if name is None:
        raise BackupIsDamaged(f"the manifest of {source} names no file {names[0]}")
    target = partial / name
    namespace_places.make_room(target)
    _carry(source, held[name], target)
    there = copies.standing(target)
    if changed(there, namespace=kept.namespace, findings=kept.findings) != kept:
        raise BackupIsDamaged(f"{source / name} does not stand where the manifest says")
    _refuse_damage(source, partial, kept.namespace, kept.schema)
    memories = copies.replay(target, kept.namespace, _erased_from(partial))
    copies.acknowledge(target)
    return memories


def _erased_from(folder: Path) -> copies.Erased:
    return functools.partial(backups.erased_of, folder)


def _refuse_damage(source: Path, partial: Path, namespace: str, schema: int) -> None:
    wrong = store_files.findings(partial, namespace, schema)
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
    _refuse_store(to)
    origin = namespace_places.store_of(source) or source.parent
    backups.hashes(origin)  # a damaged one is named by its own path
    place, name = beside(to)
    swept = store_files.sweep(place, name.__eq__)
    try:
        kept = copies.standing(source)
    except StoreIsDamaged as error:
        raise BackupIsDamaged(
            f"{source} is no database of a namespace, or it is damaged. Nothing was restored: give "
            "another file, or a whole backup"
        ) from error
    with store_files.staged(place, name) as partial:
        system.make_folder(partial / "namespaces")
        for own in (*store_files.OWN, backups.FILE):
            if (origin / own).is_file():
                store_files.copy_file(origin / own, partial / own)
        _carry_erasures(erasers, store_files.identity_of(partial), partial)
        if backups.is_erased(partial, kept.identity):
            raise StoreError(
                f"{source} holds the namespace {shown_namespace(kept.namespace)}, which was "
                "deleted since; nothing was restored"
            )
        kept = copies.copied(source, copies.place(partial, kept.namespace))
        _refuse_damage(source, partial, kept.namespace, kept.schema)
        memories = copies.replay(
            copies.place(partial, kept.namespace), kept.namespace, _erased_from(partial)
        )
        copies.acknowledge(copies.place(partial, kept.namespace))
        put(partial, to, stamp, lambda: _refuse_store(to))
    return Restored(str(to), str(source), (kept,), memories_erased=memories, swept=tuple(swept))


def _refuse_store(to: Path) -> None:
    if copies.is_store(to):
        raise StoreError(f"there is a store in {to}: restore a single file into a new folder")


# A restored store comes to its place in one step, and what was there is put aside.
#
# ::
#
#     <to>.partial-<random>/       whole and checked
#       │ rename, and from here on no name of it is ever swept away
#       ▼
#     <to>.before-restore-<time>/  ◀── namespaces/ exchanged ──▶  <to>/namespaces/
#
# Only `namespaces` and `system` are exchanged: a store's folder may also hold models, mirrors and
# an
# agent's token, and may be a mount point. Meanwhile every namespace is locked, and so is the
# folder:
# none is made. The lock files are the same before and after, so that a process which has one open
# still locks the others out.


def beside(to: Path) -> tuple[Path, str]:
    """Where a folder for `to` is made, and how it is called: on its disk, beside it if possible."""
    if os.path.ismount(to) or (to.exists() and not os.access(to.parent, os.W_OK)):
        return to, "restore"
    return to.parent, to.name


def check(to: Path, manifest: manifests.BackupManifest, *, replace: bool) -> None:
    """Refuses to overwrite a store that is there, or to mix two stores."""
    if not copies.is_store(to):
        return
    if not replace:
        raise StoreError(
            f"there is a store in {to}: add --replace to put it aside, or restore into another "
            "folder with --to"
        )
    there = store_files.identity_of(to)
    unsaid = there is None or manifest.store is None
    if not (_shares_a_namespace(to, manifest) if unsaid else there == manifest.store):
        raise StoreError(
            f"{to} holds another store than the backup: restore into a new folder with --to, or "
            "move the other store away first"
        )
    refuse_read_only(to / "namespaces")


def _shares_a_namespace(to: Path, manifest: manifests.BackupManifest) -> bool:
    """Whether a store without an identity may be the one that was backed up."""
    marks = [namespace_file.read_head(path) for path in copies.files(to).values()]
    there = {mark.identity for mark in marks if mark is not None}
    return not there or bool(there & {kept.identity for kept in manifest.namespaces})


def put(partial: Path, to: Path, stamp: str, check_again: Callable[[], None]) -> Path | None:
    """Brings a whole store to its place; returns where the one that was there lies now.

    Others may have begun a store there since it was checked: it is, once more, under the locks.
    """
    if not to.exists():
        store_files.named(partial, to)
        return None
    store_files.sync_tree(partial)
    system.make_folder(to / "namespaces")  # without it nothing could be locked
    with locked_store(to), copies.kept_open(copies.files(to).values()):
        check_again()
        backups.carry(partial, to)
        aside = _aside(to, stamp)
        partial.rename(aside)
        _own(aside, to)
        mark_folders(aside, to)
        mark_folders(to, aside)
        _exchange(aside, to)
        unmark_move(to)
    for name in store_files.OWN:
        if (to / name).is_file():
            write_atomically(aside / name, (to / name).read_bytes(), private=True)
    store_files.unmark(aside)
    if copies.is_store(aside) or store_files.system_files(aside):
        return aside
    shutil.rmtree(aside, ignore_errors=True)
    return None


def _aside(to: Path, stamp: str) -> Path:
    place, name = beside(to)
    aside = place / f"{name}.before-restore-{stamp}"
    while aside.exists():
        aside = aside.with_name(f"{aside.name}-{os.urandom(2).hex()}")
    return aside


def _own(aside: Path, to: Path) -> None:
    """Gives an empty store the identity of the restored one; the key record only ever grows."""
    empty = not copies.is_store(to)
    for name in store_files.OWN:
        source, target = aside / name, to / name
        if source.is_file() and (empty or not target.exists()):
            write_atomically(target, source.read_bytes(), private=True)


def _exchange(aside: Path, to: Path) -> None:
    """The one step after which the store is the restored one.

    The index goes first: it would be ahead of the restored ledger. Without it a search is slower.
    """
    if (to / "index").exists():
        (to / "index").rename(aside / "index")
    _keep_locks(to / "namespaces", aside / "namespaces")
    _keep_markers(to / "namespaces", aside / "namespaces")
    for name in _FOLDERS:
        new, old = aside / name, to / name
        if not new.exists():
            if not old.exists():
                continue
            system.make_folder(new)
        if not old.exists():
            new.rename(old)
        elif not exchanged(new, old):  # a system or a file system that cannot
            old.rename(aside / f"{name}.before")
            new.rename(old)
            (aside / f"{name}.before").rename(new)
        sync_folder(to)
        sync_folder(aside)
    sync_folder(aside.parent)


def _keep_locks(old: Path, new: Path) -> None:
    """The restored namespaces are locked by the files that open processes have open."""
    for entry in namespace_places.entries(old):
        if not entry.name.endswith(".lock"):
            continue
        namespace = namespace_places.namespace(
            entry.name.removesuffix(".lock") + namespace_places.SUFFIX
        )
        there = None if namespace is None else namespace_places.found(new, namespace)
        lock = (new / Path(entry).relative_to(old)) if there is None else there
        lock = lock.with_suffix(".lock")
        with suppress(OSError):  # a file system without links: SQLite's own locks are left
            lock.unlink(missing_ok=True)
            os.link(entry, lock)


def _keep_markers(old: Path, new: Path) -> None:
    """A namespace that was moved away and is not restored is still where its marker says."""
    for namespace, place in namespace_places.holding(old, moved_marks.SUFFIX):
        if (
            not namespace_places.database(old, namespace).exists()
            and not namespace_places.database(new, namespace).exists()
        ):
            kept = new / place.relative_to(old)
            namespace_places.make_room(kept)
            data = moved_marks.of_namespace(place).read_bytes()
            write_atomically(moved_marks.of_namespace(kept), data, private=True)


def mark_folders(source: Path, to: Path) -> None:
    """Marks a folder before namespaces in folders come there from another, unless it is marked.

    The marker of a move stays: until it goes, nobody opens the store.
    """
    if namespace_places.has_folders(source / "namespaces") and (
        moved_marks.read(moved_marks.of_store(to)) is None
    ):
        moved_marks.mark_folders(to)


def unmark_move(store: Path) -> None:
    """Takes the marker of a move away from a store that is back, or changes it into its mark."""
    if namespace_places.has_folders(store / "namespaces"):
        moved_marks.mark_folders(store)
    else:
        moved_marks.remove(moved_marks.of_store(store))


@contextmanager
def place_held(folder: Path, namespace: str) -> Iterator[Path]:
    """Holds the lock of the database of a namespace, which nobody makes anywhere meanwhile."""
    while True:
        moved_marks.refuse_store(folder.parent)
        path = namespace_places.new_place(folder, namespace)
        namespace_places.make_room(path)
        with ExitStack() as held:
            held.enter_context(locked(path.with_suffix(".lock")))
            if not path.exists():
                held.enter_context(folder_held(folder))
            moved_marks.refuse_store(folder.parent)
            if namespace_places.found(folder, namespace) in {None, path}:
                yield path
                return


@contextmanager
def locked_store(store: Path) -> Iterator[None]:
    """Keeps every process from writing to any namespace of a store, and from making another."""
    with ExitStack() as stack:
        if (store / "namespaces").is_dir():
            stack.enter_context(folder_held(store / "namespaces"))
        found = copies.databases(store)  # one that is just made, too: its maker has its lock
        stack.enter_context(_open_files(len(found) * _FILES_EACH))
        for path in found.values():
            stack.enter_context(locked(path.with_suffix(".lock")))
        yield


@contextmanager
def _open_files(wanted: int) -> Iterator[None]:
    """Lets this process open so many files more, as far as the system allows it."""
    before = system.raise_open_files(wanted)
    try:
        yield
    finally:
        if before is not None:
            system.set_open_files(before)
