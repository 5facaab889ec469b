"""Namespaces that nobody uses, as archives on object storage; a store in PostgreSQL only.

::

    freeze   noted in the database ──▶ the namespace locked ──▶ its archive written, put, read back
             ──▶ rows deleted and marked as cold, in the transaction of the lock
    wake     marked as warm and locked ──▶ the archive read, compared, its rows written
             ──▶ all of that in one transaction; the object is spare, and removed days later

A kill at any step leaves the namespace whole in the database, or whole on the storage and marked so.
What is left on the storage was noted before it was written, and goes when `tidy` comes by.
"""

import json
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from os import urandom
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass, replace
from memory_mesh.care.archives import import_folder, listed, reading, write_archive
from memory_mesh.care.server import (
    address_of,
    key_ids,
    opened,
    place_of,
    queue_of,
    remove_spare,
    storage_of,
    unknown,
)
from memory_mesh.care.sqlite import copies as file_copying
from memory_mesh.config import Config
from memory_mesh.ledgers.sqlite.open_file import connect
from memory_mesh.model import StoreError, StoreIsAway, StoreIsBusy, StoreIsDamaged
from memory_mesh.models.object_storage import ObjectStorage
from memory_mesh.platform import locks, telemetry
from memory_mesh.rules import audit
from memory_mesh.rules.arguments import shown_namespace

if TYPE_CHECKING:
    from memory_mesh.ledgers.postgres.pool import BoundedConnection
    from memory_mesh.ledgers.postgres.transactions import Transactions

AT_ONCE = 2  # namespaces that one process brings back at a time
_WAKING_SECONDS = 600.0  # that the server waits for a process that brings one back
_TURN_SECONDS = 30.0  # of one call of `tidy`
_room = threading.BoundedSemaphore(AT_ONCE)
_MANY = (
    f"{AT_ONCE} cold namespaces are being brought back by this process, and more wait; waited "
    "{:.0f} s, nothing was begun. Retry in a moment"
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


@dataclass(frozen=True, slots=True)
class Tidied:
    """What a look at all idle namespaces did."""

    frozen: tuple[ColdNamespace, ...] = ()
    removed: int = 0  # objects that no namespace needs any more
    failures: tuple[str, ...] = ()


def freeze(config: Config, *, days: int = 0) -> ColdNamespace | None:
    """Sends a namespace to object storage; None where it was used within so many days."""
    with opened(config) as database:
        return _frozen(config, database, storage_of(database), days)


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


def tidy(config: Config, *, seconds: float = _TURN_SECONDS) -> Tidied:
    """Sends the next idle namespaces to object storage, and removes objects that nobody needs.

    It looks at those whose time has come, one after the other, for about so many seconds; what is
    left comes next time. One that fails keeps no other waiting.
    """
    ends, frozen, failures = time.monotonic() + seconds, list[ColdNamespace](), list[str]()
    removed = 0
    with opened(config) as database:
        if address_of(database) is None:
            return Tidied()
        storage = storage_of(database)
        try:
            while time.monotonic() < ends and (name := _next_idle(database, storage)) is not None:
                try:
                    own = replace(config, namespace=name)
                    done = _frozen(own, database, storage, storage.at.days) if name else None
                    frozen += [] if done is None else [done]
                except StoreIsAway:
                    raise
                except StoreError as error:
                    failures.append(f"{shown_namespace(name)}: {error}")
            removed = len(remove_spare(database, ends))
        except StoreIsAway as error:  # no other one would go there either
            failures.append(str(error))
    return Tidied(tuple(frozen), removed, tuple(failures))


def cold_among(config: Config, names: Sequence[str]) -> list[ColdNamespace]:
    """Those of some namespaces that are cold; none of them is brought back."""
    if config.store is None or not names:
        return []
    with opened(config) as database:
        found = database.of_all("SELECT * FROM cold_among(%s, %s)", list(names))
    return [ColdNamespace(name, **cold) for name, cold in found]


def _next_idle(database: "Transactions", storage: ObjectStorage) -> str | None:
    """The next namespace that may be idle, empty where it is not; None where no time has come."""
    taken = database.of_all("SELECT take_idle(%s, %s, 1)", storage.at.days)
    return taken[0][0] if taken else None


def _frozen(
    config: Config, database: "Transactions", storage: ObjectStorage, days: int
) -> ColdNamespace | None:
    """One archive, put and read back while the namespace is locked; then its rows go."""
    from memory_mesh.ledgers.postgres import copies

    name = config.namespace
    if not database.exists(name):
        raise unknown(name)
    target = storage.name(place_of(database, name), f"{urandom(16).hex()}.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with database.writing(name) as db:
            last = copies.used(db) + timedelta(days=days)
            if days and last > datetime.now(UTC):
                db.own("SELECT is_used_until(%s)", (last,)).fetchall()
                return None
            db.own("SELECT note_object(%s)", (target,)).fetchall()
        with database.writing(name) as db:
            if days and copies.used(db) + timedelta(days=days) > datetime.now(UTC):
                return None
            db.raw.waiting()
            dump, path = copies.PostgresDump(db), Path(folder, "archive.tar.gz")
            if found := dump.flaws():
                raise StoreIsDamaged(
                    f"the namespace {shown_namespace(name)} is damaged and stays where it is: "
                    f"{listed(found)}. Restore a backup of the database"
                )
            made = write_archive(dump, key_ids(config), path, with_vectors=True, progress=None)
            storage.put(target, path)
            cold = ColdNamespace(name, target, made.sha256, made.bytes, made.memories)
            told = {each: getattr(cold, each) for each in ("object", "sha256", "bytes", "memories")}
            copies.freeze(db, told)
    with closing(queue_of(config)) as queue:
        queue.forget(name)  # a job would bring it back
    return cold


def _woken(database: "Transactions", namespace: str, folder: Path) -> None:
    """Everything in one transaction: a kill undoes it, and whoever comes second finds it warm."""
    from memory_mesh.ledgers.postgres import copies

    storage, found = storage_of(database), list[ColdNamespace | None]()

    def take(raw: "BoundedConnection") -> None:
        capability, genesis = database.capability(namespace), audit.genesis(namespace)
        values = (namespace, capability, genesis, storage.at.keep_days)
        (told,) = raw.execute("SELECT begin_waking(%s, %s, %s, %s)", values).fetchone() or (None,)
        known = json.loads(told) if isinstance(told, str) else told
        found[:] = [None if known is None else ColdNamespace(namespace, **known)]

    with database.writing(namespace, answer_wait=_WAKING_SECONDS, take=take) as db:
        if (cold := found[0]) is None:
            return
        path = folder / "archive.tar.gz"
        if storage.get(cold.object, path) != cold.sha256:
            raise StoreIsDamaged(
                f"the archive of this namespace is not what was written ({cold.object}). Put it "
                "back from a copy or an earlier version of the bucket, then retry"
            )
        with reading(path) as reader:
            manifest = reader.manifest
        if manifest.namespace != namespace:
            raise StoreIsDamaged(f"{cold.object} is the archive of another namespace")
        import_folder(folder, path)
        with closing(connect(file_copying.place(folder, namespace))) as file:
            copies.take_in(db, file)
        mark = copies.mark(db)
        if (mark.position, mark.hash.hex(), mark.memories) != (
            manifest.position,
            manifest.hash,
            cold.memories,
        ):
            raise StoreError("the copy is not whole. Nothing was brought back; retry")
