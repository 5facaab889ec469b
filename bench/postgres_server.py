"""A PostgreSQL server to measure on, with settings as in service, and databases in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench import prepared
from bench.measure import say
from bench.postgres_copy import Filling
from tests.postgres import APP, Server

_SETTINGS = {
    "shared_buffers": "'1GB'",
    "effective_cache_size": "'4GB'",
    "max_wal_size": "'8GB'",
    "maintenance_work_mem": "'512MB'",
    "random_page_cost": "1.1",
}
PARTITIONS = 4
SMALL = 1_000  # memories of each of the namespaces that are copies of one


class Databases:
    """The databases of one server, each made once and copied for those that write to it."""

    def __init__(self, server: Server, work: Path) -> None:
        self._server, self.work = server, work
        self._made: dict[str, str] = {}

    def login(self, name: str) -> str:
        """The URL of a database for a process that uses it."""
        return self._server.url(name, APP)

    def owner(self, name: str) -> str:
        """The URL of a database for its owner."""
        return self._server.url(name)

    def holding(self, memories: int, namespaces: int = 0) -> str:
        """A database with so many memories in `default`, and small namespaces beside it."""
        key = f"{memories} {namespaces}"
        if key not in self._made:
            name = self._server.database(PARTITIONS)
            say(f"  {memories:,} memories and {namespaces:,} namespaces of {SMALL:,}")
            filling = Filling(self.owner(name), self.login(name))
            filling.take_in(prepared.file_of(prepared.plain(self.work, memories)))
            if namespaces:
                small = prepared.file_of(prepared.plain(self.work, SMALL))
                filling.take_in(small, "team-00000")
                filling.spread("team-00000", 1, namespaces)
            filling.close()
            self._made[key] = name
        return self._made[key]

    def bytes(self, name: str) -> int:
        """What the tables of a store take in a database, with their indexes."""
        with psycopg.connect(self.owner(name)) as db:
            found = db.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
                "WHERE relnamespace = 'memory_mesh'::regnamespace AND relkind = 'r'"
            ).fetchone()
        return 0 if found is None else int(found[0])

    def copy(self, name: str) -> str:
        """A database with the same rows, to write to."""
        copied = f"{name}_copy_{len(self._made)}"
        self._made[copied] = copied
        with psycopg.connect(self._server.url(), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {copied} TEMPLATE {name} STRATEGY FILE_COPY")
        return copied


@contextmanager
def started(work: Path) -> Iterator[Databases]:
    """A server that writes to the disk as in service; stopped and removed afterwards."""
    server = Server(safe=True)
    try:
        with psycopg.connect(server.url(), autocommit=True) as db:
            for name, value in _SETTINGS.items():
                db.execute(f"ALTER SYSTEM SET {name} = {value}")
        server.kill()  # nothing is stored yet; it starts with the settings
        server.start()
        yield Databases(server, work)
    finally:
        server.stop()
