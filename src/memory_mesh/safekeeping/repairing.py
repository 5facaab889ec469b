"""Repair: rebuilds what a namespace derives from its rows, in place."""

import shutil
from os import PathLike
from pathlib import Path

from memory_mesh.engines.indexes.lance.index_folders import folder_name
from memory_mesh.engines.ledgers.sql.verify import verify
from memory_mesh.engines.ledgers.sqlite import namespace_places, opening, schema, vector_file
from memory_mesh.engines.ledgers.sqlite.connections import refuse_read_only
from memory_mesh.engines.ledgers.sqlite.faults import translated
from memory_mesh.engines.ledgers.sqlite.keeping import head_file, rebuilding
from memory_mesh.engines.ledgers.sqlite.opening import Connection
from memory_mesh.errors import NotFound
from memory_mesh.model.safekeeping import Repaired
from memory_mesh.policy.users import shown_namespace
from memory_mesh.process import moved
from memory_mesh.process.locks import locked
from memory_mesh.process.store_urls import need_folder

_LOCK_SECONDS = 30.0


def repair(folder: str | PathLike[str], namespace: str, *, accept_loss: bool = False) -> Repaired:
    """Rebuilds keyword tables, indexes, counters, the head file and the index of large stores.

    Writes that the head file knows and the database lacks stay an error unless the loss is
    accepted. A kill at any point leaves a store that the next run repairs.
    """
    store = Path(need_folder(folder))
    path = namespace_places.database(store / "namespaces", namespace)
    moved.refuse_store(store)
    if not path.exists() and head_file.read(path) is None:
        moved.refuse_namespace(path, namespace)
        raise NotFound(
            f"there is no namespace {shown_namespace(namespace)} in {folder}. List those there "
            "are: memory-mesh namespaces"
        )
    refuse_read_only(path.parent)
    with locked(path.with_suffix(".lock"), seconds=_LOCK_SECONDS), translated(path, namespace):
        if not path.exists() or not path.stat().st_size:
            return _emptied(path, namespace, accept_loss=accept_loss)
        if not accept_loss and (flaw := head_file.lack(path, namespace)) is not None:
            raise flaw
        with rebuilding.opened(path) as db:
            return _repaired(db, path, namespace, accept_loss=accept_loss)


def _emptied(path: Path, namespace: str, *, accept_loss: bool) -> Repaired:
    """Forgets what a namespace held whose database is gone or empty; it is not opened.

    SQLite removes the log beside an empty database, and salvage may still read it.
    """
    mark = head_file.read(path)
    what = "it is empty" if path.exists() else "it is gone"
    if mark is not None and not accept_loss:
        raise head_file.missing(path, namespace, mark, what)
    head_file.remove(path)
    vector_file.remove(path)
    with schema.empty(namespace) as nothing:
        found = verify(nothing)
    if mark is None:
        return Repaired(namespace, (), found, None)
    lost = f"all writes, up to seq {mark.seq}, are gone"
    return Repaired(namespace, ("the head file was removed",), found, lost)


def _repaired(db: Connection, path: Path, namespace: str, *, accept_loss: bool) -> Repaired:
    mark = head_file.read(path)
    flaw = None if mark is None else head_file.flaw(db, path, namespace, mark)
    if flaw is not None and not accept_loss:
        raise flaw
    opening.check_writer(db)
    if 0 < schema.version(db) < schema.NEWEST:  # what is rebuilt below is that of today's schema
        schema.ensure(db, path, namespace)
    done = rebuilding.repair(db)
    if rebuilding.forget_index(db):
        store = namespace_places.store_of(path)
        if store is not None:
            shutil.rmtree(store / "index" / folder_name(namespace), ignore_errors=True)
        done.append("the index is not used any more; memory-mesh upkeep builds it anew")
    if vector_file.remove(path):
        done.append("the vector files were removed; the next search makes them anew")
    found = verify(db)
    stands = head_file.stands(db)
    if stands != mark:
        head_file.write(path, stands)
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
