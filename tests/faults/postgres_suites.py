"""Where the suites about PostgreSQL run in full, each on a server of its own."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.postgres_proxy import Place
from tests.faults.postgres_tenants import World, made_world
from tests.postgres import APP, SECRET, Server


@contextmanager
def addresses(_folder: Path) -> Iterator[tuple[str, str]]:
    """A database, as its users and as its owner reach it."""
    with _server() as server:
        name = server.database()
        yield server.url(name, APP), server.url(name)


@contextmanager
def proxied(_folder: Path) -> Iterator[tuple[Place]]:
    """The same behind a proxy."""
    with _server() as server:
        name = server.database()
        folder = server.folder / "proxy"
        yield (Place(server.folder, server.url(name, APP), server.url(name), folder),)


@contextmanager
def tenants(_folder: Path) -> Iterator[tuple[World]]:
    """A database with several namespaces, and who attacks them."""
    with _server() as server:
        yield (made_world(server),)


@contextmanager
def in_a_place(_folder: Path) -> Iterator[tuple[World]]:
    """The same in a place of a fleet."""
    with _server() as server:
        yield (made_world(server, place=True),)


@contextmanager
def store(_folder: Path) -> Iterator[tuple[str]]:
    """The address of a store on a server that keeps what it acknowledged."""
    os.environ["MEMORY_MESH_KEY"] = SECRET.hex()
    with _server(safe=True) as server:
        yield (server.url(server.database(), APP),)


@contextmanager
def _server(*, safe: bool = False) -> Iterator[Server]:
    server = Server(safe=safe)
    try:
        yield server
    finally:
        server.stop()
