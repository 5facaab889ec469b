"""Namespaces that nobody uses, as archives on object storage; a store in PostgreSQL only.

::

    freeze   noted in the database ──▶ the namespace locked ──▶ its archive written, put, read back
             ──▶ rows deleted and marked as cold, in the transaction of the lock
    wake     marked as warm and locked ──▶ the archive read, compared, its rows written
             ──▶ all of that in one transaction; the object is spare, and removed days later

A kill at any step leaves the namespace whole in the database, or on the storage and marked so.
What is left on the storage was noted before it was written, and goes when `tidy` comes by.
"""

import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from os import urandom
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass, replace
from memory_mesh.care.archives import listed, unpack, write_archive
from memory_mesh.ledgers.sqlite.open_file import connect
from memory_mesh.model import InvalidInput, StoreError, StoreIsBusy, StoreIsDamaged
from memory_mesh.models.object_storage import ObjectStorage, StorageAddress
from memory_mesh.platform import locks, telemetry
from memory_mesh.rules.arguments import shown_namespace

if TYPE_CHECKING:
    from memory_mesh.ledgers.postgres.pool import BoundedConnection
    from memory_mesh.ledgers.postgres.transactions import Transactions

AT_ONCE = 2  # cold namespaces that one process brings back at a time
_WAKING_SECONDS = 600.0  # that the server waits for a process that brings one back
_room = threading.BoundedSemaphore(AT_ONCE)
_MANY = (
    f"{AT_ONCE} cold namespaces are being brought back by this process, and more wait; waited "
    "{:.0f} s, nothing was begun. Retry in a moment"
)
_SPARE_SECONDS = 30.0  # that removing objects may take at once
_PAGE = 100
_NO_STORAGE = (
    "this store has no object storage. The owner of the database names it: memory-mesh --store URL "
    "setup-server --cold s3://BUCKET/PREFIX"
)


@dataclass(frozen=True, slots=True)
class ColdNamespace:
    """A namespace on object storage."""

    namespace: str
    object: str
    sha256: str
    bytes: int
    memories: int
    since: str = ""


def freeze(
    database: "Transactions", namespace: str, keys: Iterable[str], days: int
) -> ColdNamespace | None:
    """Sends a namespace that is there to object storage; None where it was used since.

    `keys` are the ids of those in use. One archive is put and read back while the namespace is
    locked; then its rows go.
    """
    from memory_mesh.ledgers.postgres import copies

    storage, idle = storage_of(database), timedelta(days=days)
    target = storage.name(database.place(namespace), f"{urandom(16).hex()}.tar.gz")
    with database.writing(namespace) as db:
        until = copies.used(db) + idle
        if days and until > datetime.now(UTC):
            copies.look_again(db, until)
            return None
        copies.note_object(db, target)
    with tempfile.TemporaryDirectory() as folder, database.writing(namespace) as db:
        if days and copies.used(db) + idle > datetime.now(UTC):
            return None
        db.raw.waiting()
        dump, path = copies.PostgresDump(db), Path(folder, "archive.tar.gz")
        if found := dump.flaws():
            raise StoreIsDamaged(
                f"the namespace {shown_namespace(namespace)} is damaged and stays where it is: "
                f"{listed(found)}. Restore a backup of the database"
            )
        made = write_archive(dump, keys, path, with_vectors=True, progress=None)
        storage.put(target, path)
        cold = ColdNamespace(namespace, target, made.sha256, made.bytes, made.memories)
        told = {each: getattr(cold, each) for each in ("object", "sha256", "bytes", "memories")}
        copies.freeze(db, told)
    return cold


def wake(database: "Transactions", namespace: str) -> float:
    """Brings a namespace back, unless another process did so meanwhile; how long it took."""
    start, wait = time.monotonic(), locks.until(database.lock_wait) - time.monotonic()
    if not _room.acquire(timeout=max(0.0, wait)):
        raise StoreIsBusy(_MANY.format(max(0.0, wait)))
    try:
        with tempfile.TemporaryDirectory() as folder:
            _woken(database, namespace, Path(folder))
    finally:
        _room.release()
    seconds = time.monotonic() - start
    telemetry.info("a cold namespace was brought back", ms=round(seconds * 1000))
    return seconds


def cold_in(database: "Transactions", names: Sequence[str]) -> list[ColdNamespace]:
    """Those of some namespaces that are cold; none of them is brought back."""
    found = database.of_all("cold_among", list(names))
    return [ColdNamespace(name, **cold) for name, cold in found]


def idle(database: "Transactions", ends: float) -> Iterator[str]:
    """The namespaces that may be idle, of those whose time has come, until a moment."""
    days = storage_of(database).at.days
    while time.monotonic() < ends and (taken := database.of_all("take_idle", days, 1)):
        yield from (name for (name,) in taken if name)


def storage_of(database: "Transactions") -> ObjectStorage:
    """The object storage of a database."""
    address = address_of(database)
    if address is None:
        raise InvalidInput(_NO_STORAGE)
    return _storage(address)


def address_of(database: "Transactions") -> str | None:
    """Where the owner of the database said that archives go."""
    return next((found for (found,) in database.of_all("cold_address") if found), None)


def remove_spare(database: "Transactions", ends: float | None = None) -> list[str]:
    """Removes the objects that no namespace needs any more, with all versions; their names."""
    ends, done = time.monotonic() + _SPARE_SECONDS if ends is None else ends, list[str]()
    while page := database.of_all("objects_to_remove", _PAGE):
        for (name,) in page:
            if time.monotonic() > ends:
                return done
            storage_of(database).remove(name)
            database.of_all("object_removed", name)
            done.append(name)
    return done


@lru_cache(maxsize=8)
def _storage(address: str) -> ObjectStorage:
    return ObjectStorage(StorageAddress.of(address))


def _woken(database: "Transactions", namespace: str, folder: Path) -> None:
    """Everything in one transaction: a kill undoes it, and whoever comes second finds it warm."""
    from memory_mesh.ledgers.postgres import copies

    storage, found = storage_of(database), list[ColdNamespace | None]()

    def take(raw: "BoundedConnection") -> None:
        told = copies.begin_waking(database, raw, namespace, storage.at.keep_days)
        found[:] = [None if told is None else ColdNamespace(namespace, **told)]

    with database.writing(namespace, answer_wait=_WAKING_SECONDS, take=take) as db:
        if (cold := found[0]) is None:
            return
        path = folder / "archive.tar.gz"
        if storage.get(cold.object, path) != cold.sha256:
            raise StoreIsDamaged(
                f"the archive of this namespace is not what was written ({cold.object}). Put it "
                "back from a copy or an earlier version of the bucket, then retry"
            )
        manifest, stands = unpack(path, folder / "rows.db")
        if (manifest.namespace, manifest.identities) != (namespace, stands.identities):
            raise StoreIsDamaged(f"{cold.object} is the archive of another namespace")
        with closing(connect(folder / "rows.db")) as file:
            copies.take_in(db, file)
        mark = copies.mark(db)
        if replace(mark, keys=stands.keys) != stands or mark.memories != cold.memories:
            raise StoreError("the copy is not whole. Nothing was brought back; retry")
