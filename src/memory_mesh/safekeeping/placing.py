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

from memory_mesh.engines.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.engines.ledgers.sqlite.keeping import copying, head_file
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
    if not copying.files(to):
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
        _exchange(aside, to)
    moved.remove(moved.of_store(to))
    for name in files.OWN:
        if (to / name).is_file():
            write_atomically(aside / name, (to / name).read_bytes(), private=True)
    staging.unmark(aside)
    if copying.files(aside) or files.system_files(aside):
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
    empty = not copying.files(to)
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
    for lock in old.glob("*.lock"):
        with suppress(OSError):  # a file system without links: SQLite's own locks are left
            (new / lock.name).unlink(missing_ok=True)
            os.link(lock, new / lock.name)


def _keep_markers(old: Path, new: Path) -> None:
    """A namespace that was moved away and is not restored is still where its marker says."""
    for marker in old.glob(f"*{moved.SUFFIX}"):
        if (
            not marker.with_suffix(".db").exists()
            and not (new / marker.name).with_suffix(".db").exists()
        ):
            write_atomically(new / marker.name, marker.read_bytes(), private=True)


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
