"""A store in PostgreSQL: set it up, take a namespace out or in, delete one.

::

    export   one read transaction ──▶ archive, as of a store in a folder
    import   archive ──▶ a file of its own, verified ──▶ rows into one transaction ──▶ verified
"""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path

from memory_mesh.base.typed import TYPE_CHECKING, dataclass, replace
from memory_mesh.care import cold
from memory_mesh.care.archives import (
    Progress,
    import_folder,
    listed,
    reading,
    remarks,
    write_archive,
)
from memory_mesh.care.backups import record_memories
from memory_mesh.care.cold import ColdNamespace
from memory_mesh.care.key_file import FILE, KeyFile, StatedKeys, checks, need_key
from memory_mesh.care.sqlite import copies as file_copying
from memory_mesh.config import Config, load
from memory_mesh.ledgers.sqlite import archive_rows
from memory_mesh.ledgers.sqlite.open_file import connect
from memory_mesh.model import (
    Checkpoint,
    InvalidInput,
    NotFound,
    StoreError,
    StoreIsAway,
    StoreIsDamaged,
)
from memory_mesh.model.care import DeletedNamespace, Exported, Imported
from memory_mesh.models.object_storage import StorageAddress
from memory_mesh.platform.extras import need
from memory_mesh.rules.arguments import PREFIX, shown_namespace, user_namespace

if TYPE_CHECKING:
    from memory_mesh.ledgers.postgres.owner import FleetOwner as FleetOwner  # noqa: PLC0414  # for the command line
    from memory_mesh.ledgers.postgres.transactions import Transactions
    from memory_mesh.ledgers.queue.queue import JobQueue

_TURN_SECONDS = 30.0  # of one look at idle namespaces
_OBJECTS = "its archives on object storage, until upkeep or a worker reaches it and removes them"
_CARRY = (
    "To keep the key, set a new database up with the key file of that store, see "
    "docs/how-to/postgresql.md"
)


@dataclass(frozen=True, slots=True)
class Tidied:
    """What a look at all idle namespaces did."""

    frozen: tuple[ColdNamespace, ...] = ()
    removed: int = 0  # objects that no namespace needs any more
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `set_up` did: the migrations it ran, and where the key is."""

    ran: tuple[int, ...]
    newest: int
    key_file: str | None  # None: the key is in no file
    key_variable: str | None  # that states the key; None: the key file belongs to this machine


def settings_of(address: str, namespace: str = "default") -> Config:
    """The settings of a store in a database, for functions that are given its address."""
    return replace(load({"store": address}), namespace=namespace)


def set_up(
    config: Config,
    *,
    login: str | None = None,
    archives: str | None = None,
    environment: Mapping[str, str] | None = None,
    places: int | None = None,
) -> Prepared:
    """Makes the tables of the database, or brings them up to date; only its owner may.

    The key is the one that the environment states, or else a new one of this machine.

    Options:
        archives: the address of the object storage where archives of idle namespaces lie.
        places: makes the database the directory of a fleet with so many places.
    """
    url = _address(config)
    if archives is not None:
        StorageAddress.of(archives)
    from memory_mesh.ledgers.postgres import copies, owner, setup
    from memory_mesh.ledgers.postgres.transactions import translated
    from memory_mesh.ledgers.queue import queue as queue_queue

    keys = KeyFile.of(config.db_dir, environment)
    with translated():
        secret = keys.keys()[0].secret
        done = owner.set_up_fleet(url, secret, login=login, places=places) or setup.set_up(
            url, secret, login=login
        )
        queue_queue.set_up(url, setup.ROLE)
        if archives is not None:
            copies.name_storage(url, archives)
    variable = keys.variable if isinstance(keys, StatedKeys) else None
    file = str(keys.path) if variable in {None, FILE} else None
    return Prepared(done.ran, done.newest, file, variable)


@contextmanager
def fleet_of(config: Config) -> "Iterator[FleetOwner]":
    """The directory of the fleet at the address, as its owner reaches it."""
    url = _address(config)
    from memory_mesh.ledgers.postgres.owner import FleetOwner
    from memory_mesh.ledgers.postgres.transactions import translated

    need_key(config.db_dir, os.environ)
    with (
        translated(),
        closing(FleetOwner(url, KeyFile.of(config.db_dir, os.environ).keys()[0].secret)) as fleet,
    ):
        yield fleet


def export_from_server(
    config: Config,
    to: str | PathLike[str],
    *,
    with_vectors: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Writes a namespace of a database to a new file, while others go on writing."""
    from memory_mesh.ledgers.postgres.copies import PostgresDump

    target = Path(to)
    if target.exists():
        raise InvalidInput(f"{target} is there already; name another file, or remove it first")
    with _opened(config) as database, database.reading(config.namespace) as db:
        if db is None:
            raise _unknown(config.namespace)
        dump = PostgresDump(db)
        if found := dump.flaws():
            raise StoreIsDamaged(
                f"the namespace {shown_namespace(config.namespace)} is damaged, and an archive of "
                f"it could not be imported: {listed(found)}. Restore a backup of the database"
            )
        return write_archive(dump, _key_ids(config), target, with_vectors, progress)


def import_to_server(
    config: Config,
    archive: str | PathLike[str],
    *,
    into: str | None = None,
    progress: Progress | None = None,
    as_document: bool = False,
) -> Imported:
    """Brings a namespace from an archive into a database, whole or not at all."""
    from memory_mesh.ledgers.postgres import copies

    with _opened(config) as database, tempfile.TemporaryDirectory() as folder:
        with reading(Path(archive)) as reader:
            manifest = reader.manifest
        name = manifest.namespace if into is None else into
        if database.is_erased(manifest.identities):
            raise StoreError(
                "this namespace was erased from the store, and stays erased. If it was erased by "
                "mistake, import the archive into another store: --store URL"
            )
        with database.reading(manifest.namespace) as there:
            if there is not None:  # the archive may be older than what was erased since
                for identity in {*copies.mark(there).identities} & {*manifest.identities}:
                    record_memories(Path(folder), identity, *copies.erased(there))
        done = import_folder(folder, archive, into=into, progress=progress, as_document=as_document)
        path = file_copying.place(Path(folder), name)
        with closing(connect(path)) as file, database.writing(name) as db:
            if database.has_identity(manifest.identities[0]):
                archive_rows.copied(file, os.urandom(16).hex())
            if not copies.is_empty(db):
                raise InvalidInput(
                    f"the namespace {shown_namespace(name)} holds memories already, and nothing is "
                    "merged into it; import under another name: --into NAME"
                )
            copies.take_in(db, file)
            mark = copies.mark(db)
            found = copies.flaws(db, Checkpoint(name, mark.position, mark.hash))
            if found:
                raise StoreError(f"the copy is not whole: {listed(found)}. Nothing was imported")
    left_out = (said for said in done.remarks if "erased here" in said)
    return replace(done, remarks=(*remarks(_key_ids(config), manifest, mark, _CARRY), *left_out))


def delete_from_server(config: Config) -> DeletedNamespace:
    """Deletes a namespace of a database for good; no archive of before brings it back."""
    from memory_mesh.ledgers.postgres import copies as copying

    name = config.namespace
    with _opened(config) as database:
        memories, removed, left = copying.erase_cold(database, name), list[str](), tuple[str, ...]()
        if memories is None:
            if not database.exists(name):
                raise _unknown(name)
            with database.writing(name) as db:
                memories = copying.erase(db)
        if cold.address_of(database) is not None:
            try:
                removed = cold.remove_spare(database)
            except StoreError as error:
                left = (f"{_OBJECTS}: {error}",)
        files = sum(f"{database.place(name)}/" in each for each in removed)
    with closing(queue_of(config)) as queue:
        queue.forget(name)  # the name of a namespace can be that of a person
    return DeletedNamespace(
        namespace=shown_namespace(name),
        memories=memories,
        files=files,
        bytes=0,
        noted=True,
        left=left,
    )


def make_cold(config: Config) -> ColdNamespace | None:
    """Sends a namespace of a database to object storage; None where it is there already."""
    with _opened(config) as database:
        if cold.cold_in(database, [config.namespace]):
            return None
        if not database.exists(config.namespace):
            raise _unknown(config.namespace)
        return _frozen(config, database, 0)


def tidy(config: Config, *, seconds: float = _TURN_SECONDS) -> Tidied:
    """Sends the next idle namespaces to object storage, and removes objects that nobody needs.

    It looks at those whose time has come, one after the other, for about so many seconds; what is
    left comes next time. One that fails keeps no other waiting.
    """
    start, frozen, failures = time.monotonic(), list[ColdNamespace](), list[str]()
    removed = 0
    with _opened(config) as database:
        if cold.address_of(database) is None:
            return Tidied()
        days = cold.storage_of(database).at.days
        try:
            removed = len(cold.remove_spare(database, start + seconds / 2))
            for name in cold.idle(database, start + seconds):
                try:
                    done = _frozen(replace(config, namespace=name), database, days)
                    frozen += [] if done is None else [done]
                except StoreIsAway:
                    raise
                except StoreError as error:
                    failures.append(f"{shown_namespace(name)}: {error}")
        except StoreIsAway as error:  # no other one would go there either
            failures.append(str(error))
    return Tidied(tuple(frozen), removed, tuple(failures))


def cold_among(config: Config, names: Sequence[str]) -> list[ColdNamespace]:
    """Those of some namespaces, named as they are listed, that are cold; they stay so."""
    own = [
        user_namespace(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else name
        for name in names
    ]
    with _opened(config) as database:
        found = cold.cold_in(database, own)
    return [replace(each, namespace=shown_namespace(each.namespace)) for each in found]


def _frozen(config: Config, database: "Transactions", days: int) -> ColdNamespace | None:
    done = cold.freeze(database, config.namespace, _key_ids(config), days)
    if done is not None:
        with closing(queue_of(config)) as queue:
            queue.forget(config.namespace)  # a job would bring it back
    return done


def queue_of(config: Config) -> "JobQueue":
    """The queue of the database, which the caller closes."""
    url = _address(config)
    from memory_mesh.ledgers.postgres.pool import DatabaseRoute
    from memory_mesh.ledgers.postgres.setup import all_namespaces
    from memory_mesh.ledgers.queue.queue import JobQueue

    need_key(config.db_dir, os.environ)
    secret = KeyFile.of(config.db_dir, os.environ).keys()[0].secret
    return JobQueue(DatabaseRoute.of(url).url, all_namespaces(secret))


@contextmanager
def _opened(config: Config) -> "Iterator[Transactions]":
    url = _address(config)
    from memory_mesh.ledgers.postgres.setup import opening_key
    from memory_mesh.ledgers.postgres.transactions import Transactions

    need_key(config.db_dir, os.environ)
    own = KeyFile.of(config.db_dir, os.environ)
    key, wait = opening_key(own.keys()[0].secret), config.lock_wait_seconds
    database = Transactions(url, key, wait, keys=lambda: checks(own.keys()), wake=cold.wake)
    try:
        yield database
    finally:
        database.close()


def _key_ids(config: Config) -> list[str]:
    return [key.id for key in KeyFile.of(config.db_dir, os.environ).keys()]  # noqa: SIM118


def _address(config: Config) -> str:
    if config.store is None:
        raise InvalidInput("name the database: --store postgresql://USER@HOST/DATABASE")
    for module in ("psycopg", "psycopg_pool", "procrastinate"):
        need(module, extra="postgres", purpose="a store in PostgreSQL")
    from memory_mesh.ledgers.postgres.pool import DatabaseRoute

    DatabaseRoute.of(config.store)  # says what is wrong with it
    return config.store


def _unknown(name: str) -> NotFound:
    return NotFound(
        f"there is no namespace {shown_namespace(name)!r} in the database. "
        "List those there are: memory-mesh namespaces"
    )
