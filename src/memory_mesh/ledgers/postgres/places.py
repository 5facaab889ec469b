"""Which place of a fleet has a namespace: what the directory says, kept by each process.

A fleet is many places on a few servers. A place is a schema with the tables of any number of
namespaces (migrations/0008). The directory is a small database that says which server has which
place; each process reads it once, and again when a place says that it has moved.

::

    namespace ── keyed digest, or a row ──▶ place ── the directory ──▶ server and epoch
        ▲                                                                │ begin, enter
        └── read the directory again ◀── "moved": nothing was done ◀─────┘
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory_mesh.base.digests import keyed_digest
from memory_mesh.base.typed import dataclass, field
from memory_mesh.ledgers.postgres.pool import CONNECT_SECONDS, BoundedConnection, Pool
from memory_mesh.model.errors import StoreError, StoreIsAway

SCHEMA = "memory_mesh"
DIRECTORY = "memory_mesh_fleet"  # the schema of a directory
MOVED = "MM001"  # what a place says that is elsewhere
_DROPPED = (  # what is met where the old copy is being dropped
    errors.UndefinedFunction,
    errors.InvalidSchemaName,
    errors.UndefinedTable,
    errors.InternalError_,
)
_SHOWN = f"""
    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL ROLE memory_mesh_app;
    SELECT number, address FROM {DIRECTORY}.server;
    SELECT name, slot, server, epoch FROM {DIRECTORY}.place ORDER BY server, name;
    SELECT digest, place FROM {DIRECTORY}.located;
    COMMIT
"""  # noqa: S608  # own names
_NO_SERVER = (
    "this fleet has no server yet. As its owner, run: memory-mesh --store URL fleet add-server "
    "ADDRESS"
)
_OWN = ("user", "password", "passfile", "sslcert", "sslkey", "sslpassword")  # of who connects


class DirectoryFound(Exception):
    """The database is the directory of a fleet."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a place is: the connections to its server, its schema there, and its epoch."""

    pool: Pool
    schema: str
    epoch: int | None = None  # None: no directory told it
    server: str = ""

    @property
    def known(self) -> str:
        """The epoch as SQL writes it."""
        return "NULL" if self.epoch is None else str(self.epoch)


@dataclass(frozen=True, slots=True)
class _Map:
    """What the directory said last."""

    homes: Mapping[str, Home] = field(default_factory=dict)
    slots: Mapping[int, str] = field(default_factory=dict)
    located: Mapping[bytes, str] = field(default_factory=dict)


class Fleet:
    """The places of a fleet as this process knows them; safe in threads."""

    def __init__(
        self, url: str, key: bytes, configure: Callable[[psycopg.Connection[Any]], object]
    ) -> None:
        self._url, self._key, self._configure = url, key, configure
        self._directory = Pool(url, _as_it_is, prepare_threshold=None)
        self._pools: dict[str, Pool] = {}  # by the address of the server
        self._map = _Map()

    def home(self, namespace: str) -> Home:
        """The place of a namespace, as far as this process knows."""
        found = self._known()
        digest = place_digest(self._key, namespace)
        name = found.located.get(digest) if found.located else None
        return found.homes[name or found.slots[slot_of(digest, len(found.slots))]]

    def servers(self) -> list[list[Home]]:
        """All places, those of a server together."""
        homes = self._known().homes.values()
        return [list(each) for _, each in groupby(homes, key=lambda home: home.server)]

    def renew(self, home: Home, *, server: bool) -> None:
        """Reads the directory again; while it is away, what it said last is used.

        With `server` that of the place may have failed over, and its connections are made anew.
        """
        if server:
            home.pool.drop_idle()
        with suppress(StoreIsAway):
            self._read()

    def close(self) -> None:
        """Closes every connection."""
        for pool in (self._directory, *self._pools.values()):
            pool.close()

    def _known(self) -> _Map:
        if not self._map.slots:
            self._read()
        if not self._map.slots:
            raise StoreError(_NO_SERVER)
        return self._map

    def _read(self) -> None:
        tables: list[list[Any]] = []

        def ask(raw: BoundedConnection) -> None:
            cursor = raw.execute(_SHOWN)
            while cursor.nextset():
                if cursor.description is not None:
                    tables.append(cursor.fetchall())

        self._directory.give(self._directory.take(ask, CONNECT_SECONDS, CONNECT_SECONDS))
        servers, places, located = tables[-3:]
        addresses = dict(servers)
        homes = {
            name: Home(self._pool(addresses[server]), name, epoch, addresses[server])
            for name, _, server, epoch in places
        }
        slots = {slot: name for name, slot, _, _ in places if slot is not None}
        self._map = _Map(homes, slots, {bytes(digest): name for digest, name in located})

    def _pool(self, address: str) -> Pool:
        if address not in self._pools:
            url = address_of(self._url, address)
            self._pools[address] = Pool(url, self._configure, prepare_threshold=None)
        return self._pools[address]


def _as_it_is(_raw: psycopg.Connection[Any]) -> None:
    """Configures nothing."""


def place_digest(key: bytes, namespace: str) -> bytes:
    """What the directory knows a namespace by."""
    return keyed_digest(key, f"place of {namespace}".encode())


def slot_of(digest: bytes, slots: int) -> int:
    """The place of a namespace that no row locates."""
    return int.from_bytes(digest[:8]) % slots


def address_of(directory: str, server: str) -> str:
    """Where a server of a fleet is reached by whoever reaches its directory."""
    own = {
        name: value
        for name, value in conninfo_to_dict(directory).items()
        if name not in {"host", "hostaddr", "port", "dbname", "target_session_attrs"}
    }
    return make_conninfo("", **{**own, **conninfo_to_dict(server)})


def plain_address(url: str) -> str:
    """The address of a server as the directory keeps it: without who connects, and his secrets."""
    stated = {name: value for name, value in conninfo_to_dict(url).items() if name not in _OWN}
    if "," in str(stated.get("host", "")):
        stated.setdefault("target_session_attrs", "read-write")
    return make_conninfo("", **stated)


def places_by_server(db: psycopg.Connection[Any], url: str) -> list[tuple[str | None, list[str]]]:
    """The schemas of each server with its address; of a database that is no directory, its own."""
    if db.execute("SELECT to_regnamespace(%s)::oid", (DIRECTORY,)).fetchone() == (None,):
        return [(None, [SCHEMA])]
    found = db.execute(
        f"SELECT s.address, array_agg(p.name) FROM {DIRECTORY}.place p "  # noqa: S608
        f"JOIN {DIRECTORY}.server s ON s.number = p.server GROUP BY s.address"
    )
    return [(address_of(url, address), names) for address, names in found.fetchall()]


def is_elsewhere(error: Exception) -> bool:
    """Whether a transaction that began with this fault is tried again where the directory says."""
    return is_moved(error) or isinstance(error, (errors.ReadOnlySqlTransaction, StoreIsAway))


def is_moved(error: Exception) -> bool:
    """Whether a place said that it is elsewhere, or is there no more."""
    told = isinstance(error, psycopg.Error) and error.sqlstate == MOVED
    return told or isinstance(error, _DROPPED)
