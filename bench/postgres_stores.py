"""The same mesh on either ledger: a folder of SQLite, or a database of PostgreSQL."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import memories
from memory_mesh.care.key_file import VALUE
from memory_mesh.model.ports import Clock, Embedder
from memory_mesh.platform.ids import SystemClock
from memory_mesh.sync import MemoryMesh

SECRET = bytes(range(32))  # as tests/postgres.py sets databases up


@contextmanager
def on_sqlite(
    folder: Path,
    embedder: Embedder | None = None,
    *,
    namespace: str = "default",
    clock: Clock | None = None,
) -> Iterator[MemoryMesh]:
    """A mesh on a folder, with default settings but for the embedder."""
    with MemoryMesh(
        db_dir=folder,
        namespace=namespace,
        custom_embedder=embedder or memories.Made(),
        clock=clock or SystemClock(),
    ) as mesh:
        yield mesh


@contextmanager
def on_postgres(
    url: str,
    folder: Path,
    embedder: Embedder | None = None,
    *,
    namespace: str = "default",
    clock: Clock | None = None,
) -> Iterator[MemoryMesh]:
    """The same mesh with its memories in a database; the folder holds nothing."""
    mesh = MemoryMesh(
        url,
        db_dir=folder,
        namespace=namespace,
        custom_embedder=embedder or memories.Made(),
        clock=clock or SystemClock(),
    )
    with ExitStack() as stack:
        with _key_in_variable():  # no longer than it opens: a folder of SQLite has another key
            stack.enter_context(mesh)
        yield mesh


@contextmanager
def _key_in_variable() -> Iterator[None]:
    """The key of the databases, where a process looks for it."""
    before = os.environ.get(VALUE)
    os.environ[VALUE] = SECRET.hex()
    try:
        yield
    finally:
        if before is None:
            del os.environ[VALUE]
        else:
            os.environ[VALUE] = before
