"""Move a store, or one namespace of it, to another folder with its key.

::

    lock ── copy into <to>/move.partial-<random>/ ── verify ── sync ── rename into place
                                                                            │ the one step
         old files under another name, kept: <folder>.moved-<time>/ ◀───────┘
         and in the old place a marker, before they go: <folder>/moved

Nobody can write meanwhile. The old files are never removed: a kill at any point leaves them, or the
copy, or both, and the same call goes on from there. The index is left behind: upkeep makes it anew.

Or delete a namespace: every file of it goes, and no backup and no archive brings it back.

::

    lock ──▶ note its identity in the erasure file ──▶ its documents in mirrored folders
         ──▶ copies, spool, head, index, agents' files ──▶ database, log, lock

The note comes first: a kill at any point leaves a namespace that is to be deleted once more, and
never one that a restore would bring back. Whoever has it open finds that it does not exist.
"""

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import replace
from memory_mesh.care import backups, restores, store_files
from memory_mesh.care.archives import IMPORT_LOCK, publish
from memory_mesh.care.key_file import KEY_FOLDER, key_folder
from memory_mesh.care.server import delete_from_server, settings_of
from memory_mesh.care.sqlite import copies
from memory_mesh.formats import memory_file
from memory_mesh.learn.system_memory import NAMESPACE as SYSTEM
from memory_mesh.ledgers.sqlite import archive_rows, namespace_file, namespace_places, vector_file
from memory_mesh.ledgers.sqlite.connection import command
from memory_mesh.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.model.care import DeletedNamespace, Moved, NamespaceCopy, NamespaceReview
from memory_mesh.model.errors import (
    InvalidInput,
    MeshError,
    NotFound,
    StoreError,
    StoreIsDamaged,
    shown,
)
from memory_mesh.models.lance.index import drop_all, folder_name
from memory_mesh.platform import git_files, moved_marks
from memory_mesh.platform.durable_files import opened_locked, sync_folder, write_atomically
from memory_mesh.platform.locks import locked
from memory_mesh.platform.store_urls import is_server, need_folder
from memory_mesh.platform.system import make_folder
from memory_mesh.rules.arguments import (
    check_plain_namespace,
    shown_namespace,
    user_namespace,
    user_of,
)

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
        remarks += store_files.carry_keys(source, target)
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
    marker = moved_marks.read(moved_marks.of_store(source))
    if own and marker is not None and marker.to == str(target):
        return True  # it may have been written to since
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
    wrong = [*stands.findings, *store_files.findings(partial, namespace, stands.schema)]
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
    """Gives the old files another name, the namespaces first; returns the folder.

    The identity goes last: a call after a kill knows by it what it has moved.
    """
    place, name = (
        (source, "store")
        if os.path.ismount(source) or not os.access(source.parent, os.W_OK)
        else (source.parent, source.name)
    )
    aside = place / f"{name}.moved-{_stamp()}"
    make_folder(aside)
    restores.mark_folders(source, aside)
    for each in ("namespaces", "index", *reversed(_BESIDE)):
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


_ID = re.compile(rb"_[0-9]{13}_[0-9a-f]{6}")  # without its kind: in a row of SQLite others adjoin
_KEPT = ".mirror-replaced"  # where a mirror keeps files that it replaced
_NAMED = r"(?m:^\s*- {0}\n)|(?<=\[){0}, |(?:, )?{0}"  # in the list of related memories
_LISTED = 10  # names that a message lists
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
        others = [*naming(store, known.ids), *filter(Path.is_file, [cases(store, name)])]
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


def cases(store: Path, namespace: str) -> Path:
    """The suite for `eval` with questions that a memory of a namespace made wrong."""
    return store / "agents" / f"bisected-{copies.place(store, namespace).stem}.yaml"


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
    names = list(islice(plain, _LISTED + 1))
    listed = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
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
