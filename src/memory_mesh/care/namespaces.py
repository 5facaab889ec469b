"""Delete a namespace: every file of it goes, and no backup and no archive brings it back.

::

    lock ──▶ note its identity in the erasure file ──▶ its documents in mirrored folders
         ──▶ copies, spool, head, index, agents' files ──▶ database, log, lock

The note comes first: a kill at any point leaves a namespace that is to be deleted once more, and
never one that a restore would bring back. Whoever has it open finds that it does not exist.
"""

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from memory_mesh.care import backups
from memory_mesh.care.server import delete_from_server, settings_of
from memory_mesh.care.sqlite import copies
from memory_mesh.formats import memory_file
from memory_mesh.learn.system_memory import NAMESPACE as SYSTEM
from memory_mesh.ledgers.sqlite import namespace_file, namespace_places
from memory_mesh.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.model.care import DeletedNamespace, NamespaceReview
from memory_mesh.model.errors import InvalidInput, MeshError, NotFound, StoreError, shown
from memory_mesh.models.lance.index import drop_all, folder_name
from memory_mesh.platform import git_files, moved_marks
from memory_mesh.platform.durable_files import opened_locked, write_atomically
from memory_mesh.platform.locks import locked
from memory_mesh.platform.store_urls import is_server, need_folder
from memory_mesh.rules.arguments import (
    check_plain_namespace,
    shown_namespace,
    user_namespace,
    user_of,
)

_ID = re.compile(rb"_[0-9]{13}_[0-9a-f]{6}")  # without its kind: in a row of SQLite others adjoin
_KEPT = ".mirror-replaced"  # where a mirror keeps files that it replaced
_NAMED = r"(?m:^\s*- {0}\n)|(?<=\[){0}, |(?:, )?{0}"  # in the list of related memories
_SHOWN = 10  # names that a message lists
_PER_AGENTS = (("agents/sessions", "*.jsonl"), ("mirrors", "*.sqlite"))


def delete_namespace(
    folder: str | Path, namespace: str | None = None, *, user: str | None = None
) -> DeletedNamespace:
    """Deletes a namespace of a store, or that of a user, for good.

    `folder` is that of the store, or the address of its database. Nothing of it is left there, nor
    in the documents that mirrors of it wrote; `left` names what is out of reach.
    Backups and archives that were made before still hold it; restore and import leave it out.
    """
    if (namespace is None) == (user is None):
        raise InvalidInput("give a namespace or a user, not both")
    name = user_namespace(user) if user is not None else check_plain_namespace(namespace)
    if is_server(str(folder)):
        return delete_from_server(settings_of(str(folder), name))
    store = Path(need_folder(folder))
    databases = store / "namespaces"
    moved_marks.refuse_store(store)
    if not copies.namespace_files(databases, name):
        raise NotFound(_unknown(store, name))
    refuse_read_only(databases)
    try:
        return _deleted(store, name)
    except OSError as error:
        raise StoreError(
            f"the namespace {shown_namespace(name)} is not wholly deleted: {error.strerror}: "
            f"{error.filename}. Mend that and run the same command again"
        ) from error


def _deleted(store: Path, name: str) -> DeletedNamespace:
    databases = store / "namespaces"
    path = namespace_places.database(databases, name)
    if (flaw := namespace_places.no_file(path)) is not None:
        raise StoreError(flaw)
    with locked(path.with_suffix(".lock")):
        known = copies.last_look(path)
        if (
            known.namespace is not None and known.namespace != name
        ):  # what it holds is not erased: it is there as well
            of = f"a copy of the namespace {shown_namespace(known.namespace)}"
            raise StoreError(f"{path} is {of}, or a link to it: move it out of the store")
        if known.identity is not None:
            backups.record(store, known.identity)
        states = [each for each in naming(store, known.ids) if each.suffix == ".sqlite"]
        left = tuple(erased_in_mirrors(states, known.ids))
        others = list(naming(store, known.ids))
        mine = copies.namespace_files(databases, name)
        kept_last = [each for each in mine if each.name.startswith(path.name)]
        lock = path.with_suffix(".lock")
        rest = [each for each in mine if each not in kept_last and each != lock]
        size = copies.remove([*rest, *others])
        size += drop_index(store, name)
        if name == SYSTEM:
            with suppress(FileNotFoundError):
                shutil.rmtree(store / "system")
        size += copies.remove(kept_last)
        late = copies.namespace_files(databases, name)  # the spool: others found the namespace busy
        size += copies.remove([*(each for each in late if each != lock), lock])
    return DeletedNamespace(
        shown_namespace(name),
        memories=known.memories,
        files=len(mine) + len(others),
        bytes=size,
        noted=known.identity is not None,
        left=left,
    )


def naming(store: Path, ids: frozenset[str]) -> Iterator[Path]:
    """Files of sessions and mirrors that name one of these memories: they may repeat its words."""
    for folder, pattern in _PER_AGENTS if ids else ():
        for path in (store / folder).glob(pattern):
            parts = [path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))]
            there = [part for part in parts if part.is_file()]
            if any(_names(part.read_bytes(), ids) for part in there):
                yield from there


def _names(data: bytes, ids: frozenset[str]) -> bool:
    """Whether bytes have one of these ids; ids of imports may have any form."""
    seen, known = set(_ID.findall(data)), [id_.encode() for id_ in ids]
    return any(_ID.search(id_) is None and id_ in data for id_ in known) or any(
        id_[id_.find(b"_") :] in seen for id_ in known
    )


def erased_in_mirrors(states: Iterable[Path], ids: frozenset[str]) -> Iterator[str]:
    """Erases what the mirrors with these states wrote of memories; yields what is out of reach.

    Every document that a mirror wrote names its memory. What people wrote is left as it is.
    """
    for state in states:
        with locked(state.with_suffix(".lock")):
            found = copies.mirrored(state)
            if found is None:
                yield f"{state} cannot be read, which named the folder of a mirror"
                continue
            folder, by_people = found
            if not folder.is_dir():
                yield f"{folder} is not there; it may hold files of a mirror"
                continue
            named = copies.mirrored_paths(state, ids)
            for path in written_by_mirrors(folder):
                _erase_documents(path, ids, named)
            left = (path for path in by_people if path.exists())
            yield from (f"{path} was not written by the mirror" for path in left)
            if git_files.found(folder) is not None:
                yield f"{folder} is in a git repository, whose history may hold files of a mirror"


def written_by_mirrors(folder: Path) -> Iterator[Path]:
    """The files of a mirrored folder that a mirror may have written, and those it replaced."""
    for path in (*folder.rglob("*.md"), *(folder / _KEPT).glob("[!.]*")):
        if path.is_file() and not path.is_symlink():
            yield path


def mirrored_folders(store: Path) -> Iterator[Path]:
    """The folders that mirrors of a store write to, and that are there."""
    found = map(copies.mirrored, (store / "mirrors").glob("*.sqlite"))
    return (each[0] for each in found if each is not None and each[0].is_dir())


def _erase_documents(path: Path, ids: frozenset[str], named: Iterable[str]) -> None:
    """Removes the documents of memories from a file, and the file if it holds nothing else.

    What is left no longer names their files, which are named after their first words.
    """
    with opened_locked(path, 0):
        data = path.read_bytes()
        text = data.decode("utf-8", "surrogateescape")
        rest = re.sub("|".join(_NAMED.format(re.escape(name)) for name in named), "", text)
        if _names(data, ids):
            rest = "" if path.parent.name == _KEPT else memory_file.without(rest, ids)
        if rest == text:
            return
        if rest.strip():
            write_atomically(path, rest.encode("utf-8", "surrogateescape"))
        else:
            path.unlink()


def drop_index(store: Path, name: str) -> int:
    """Removes the bodies of a namespace in the index, all their versions; returns their size."""
    home = store / "index" / folder_name(name)
    if not home.is_dir():
        return 0
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    drop_all(store / "index", name)
    if home.exists():  # what no body of ours is
        shutil.rmtree(home)
    return size


def _unknown(store: Path, name: str) -> str:
    """Says that a namespace is not there; names other namespaces, but no other user."""
    user = user_of(name)
    if user is not None:
        return f"the user {shown(user)} has no memories in {store}"
    every = namespace_places.names(store / "namespaces")
    plain = (shown_namespace(each) for each in every if user_of(each) is None)
    names = list(islice(plain, _SHOWN + 1))
    listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    known = f"Its namespaces are: {listed}" if names else "It has none"
    return f"there is no namespace {shown_namespace(name)} in {store}. {known}"


# A quick look at the namespaces of a store: whether each opens and has what was acknowledged.
#
# It reads the end of each file's history and no more: `verify` reads everything. Nothing is
# migrated,
# and no log of a damaged file is touched.


def encrypted_by(folder: Path) -> str | None:
    """What encrypts the file system of a folder; None where that is not known."""
    return namespace_places.encrypted_by(folder)


def look(folder: Path, *, besides: str | None = None, most: int) -> NamespaceReview:
    """Looks at the first namespaces of a store but one, by name; says what is wrong with each."""
    names = (name for name in namespace_places.names(folder / "namespaces") if name != besides)
    seen = list(islice(names, most))
    told = {name: _flaw(folder, name) for name in seen}
    wrong = {name: said for name, said in told.items() if said is not None}
    return NamespaceReview(len(seen) + sum(1 for _ in names), len(seen), wrong)


def _flaw(folder: Path, namespace: str) -> str | None:
    """Why a namespace does not open; None if it does, was just made, or was just deleted."""
    path = copies.place(folder, namespace)
    if (said := copies.missing(path, namespace)) is not None:
        return said
    try:
        if (other := namespace_places.twin(folder / "namespaces", path)) is not None:
            namespace_places.refuse_twin(path, other)
        if not path.stat().st_size:
            return None
        if (flaw := namespace_file.lack(path, namespace)) is not None:
            return str(flaw)
        copies.standing(path)
    except FileNotFoundError:
        return None
    except MeshError as error:
        return str(error) if path.exists() else None
    return None
