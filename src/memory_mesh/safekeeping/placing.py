"""A restored store comes to its place in one step, and what was there is put aside.

::

    <to>.partial-<random>/       whole and checked
      │ rename, and from here on no name of it is ever swept away
      ▼
    <to>.before-restore-<time>/  ◀── namespaces/ exchanged ──▶  <to>/namespaces/

Only `namespaces` and `system` are exchanged: a store's folder may also hold models, mirrors and an
agent's token, and may be a mount point. Meanwhile every namespace is locked, and so is the folder:
none is made. The lock files are the same before and after, so that a process which has one open
still locks the others out.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from memory_mesh.engines.ledgers.sqlite import namespace_places
from memory_mesh.engines.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.engines.ledgers.sqlite.keeping import copying, head_file
from memory_mesh.engines.ledgers.sqlite.namespace_places import SUFFIX
from memory_mesh.errors import StoreError
from memory_mesh.process import moved
from memory_mesh.process.durable_files import exchanged, sync_folder, write_atomically
from memory_mesh.process.locks import folder_held, locked
from memory_mesh.process.private import make_folder
from memory_mesh.safekeeping import erasures, files, staging
from memory_mesh.safekeeping.manifest import Manifest

_FOLDERS = ("namespaces", "system")  # in this order: an archive may know what the ledger does
_FILES_EACH = 5  # open files of a locked namespace: its lock, database, log, shared memory, spare


def beside(to: Path) -> tuple[Path, str]:
    """Where a folder for `to` is made, and how it is called: on its disk, beside it if possible."""
    if os.path.ismount(to) or (to.exists() and not os.access(to.parent, os.W_OK)):
        return to, "restore"
    return to.parent, to.name


def check(to: Path, manifest: Manifest, *, replace: bool) -> None:
    """Refuses to overwrite a store that is there, or to mix two stores."""
    if not copying.is_store(to):
        return
    if not replace:
        raise StoreError(
            f"there is a store in {to}: add --replace to put it aside, or restore into another "
            "folder with --to"
        )
    there = files.identity_of(to)
    unsaid = there is None or manifest.store is None
    if not (_shares_a_namespace(to, manifest) if unsaid else there == manifest.store):
        raise StoreError(
            f"{to} holds another store than the backup: restore into a new folder with --to, or "
            "move the other store away first"
        )
    refuse_read_only(to / "namespaces")


def _shares_a_namespace(to: Path, manifest: Manifest) -> bool:
    """Whether a store without an identity may be the one that was backed up."""
    marks = [head_file.read(path) for path in copying.files(to).values()]
    there = {mark.identity for mark in marks if mark is not None}
    return not there or bool(there & {kept.identity for kept in manifest.namespaces})


def put(partial: Path, to: Path, stamp: str) -> Path | None:
    """Brings a whole store to its place; returns where the one that was there lies now."""
    if not to.exists():
        staging.named(partial, to)
        return None
    staging.sync_tree(partial)
    erasures.carry(partial, to)
    aside = _aside(to, stamp)
    partial.rename(aside)
    with locked_store(to), copying.kept_open(copying.files(to).values()):
        _own(aside, to)
        mark_folders(aside, to)
        mark_folders(to, aside)
        _exchange(aside, to)
        unmark_move(to)
    for name in files.OWN:
        if (to / name).is_file():
            write_atomically(aside / name, (to / name).read_bytes(), private=True)
    staging.unmark(aside)
    if copying.is_store(aside) or files.system_files(aside):
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
    empty = not copying.is_store(to)
    for name in files.OWN:
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
            make_folder(new)
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
        namespace = namespace_places.namespace(entry.name.removesuffix(".lock") + SUFFIX)
        there = None if namespace is None else namespace_places.found(new, namespace)
        lock = (new / Path(entry).relative_to(old)) if there is None else there
        lock = lock.with_suffix(".lock")
        with suppress(OSError):  # a file system without links: SQLite's own locks are left
            lock.unlink(missing_ok=True)
            os.link(entry, lock)


def _keep_markers(old: Path, new: Path) -> None:
    """A namespace that was moved away and is not restored is still where its marker says."""
    for namespace, place in namespace_places.holding(old, moved.SUFFIX):
        if (
            not namespace_places.database(old, namespace).exists()
            and not namespace_places.database(new, namespace).exists()
        ):
            kept = new / place.relative_to(old)
            namespace_places.make_room(kept)
            data = moved.of_namespace(place).read_bytes()
            write_atomically(moved.of_namespace(kept), data, private=True)


def mark_folders(source: Path, to: Path) -> None:
    """Marks a folder before namespaces in folders come there from another, unless it is marked.

    The marker of a move stays: until it goes, nobody opens the store.
    """
    if namespace_places.has_folders(source / "namespaces") and (
        moved.read(moved.of_store(to)) is None
    ):
        moved.mark_folders(to)


def unmark_move(store: Path) -> None:
    """Takes the marker of a move away from a store that is back, or changes it into its mark."""
    if namespace_places.has_folders(store / "namespaces"):
        moved.mark_folders(store)
    else:
        moved.remove(moved.of_store(store))


@contextmanager
def place_held(folder: Path, namespace: str) -> Iterator[Path]:
    """Holds the lock of the database of a namespace, which nobody makes anywhere meanwhile."""
    while True:
        path = namespace_places.new_place(folder, namespace)
        namespace_places.make_room(path)
        with ExitStack() as held:
            held.enter_context(locked(path.with_suffix(".lock")))
            if not path.exists():
                held.enter_context(folder_held(folder))
            if namespace_places.found(folder, namespace) in {None, path}:
                yield path
                return


@contextmanager
def locked_store(store: Path) -> Iterator[None]:
    """Keeps every process from writing to any namespace of a store, and from making another."""
    with ExitStack() as stack:
        if (store / "namespaces").is_dir():
            stack.enter_context(folder_held(store / "namespaces"))
        found = copying.databases(store)  # one that is just made, too: its maker has its lock
        stack.enter_context(_open_files(len(found) * _FILES_EACH))
        for path in found.values():
            stack.enter_context(locked(path.with_suffix(".lock")))
        yield


@contextmanager
def _open_files(wanted: int) -> Iterator[None]:
    """Lets this process open so many files more, as far as the system allows it."""
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    more = soft + wanted if hard == resource.RLIM_INFINITY else min(soft + wanted, hard)
    if soft == resource.RLIM_INFINITY:
        more = soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
