"""The same mesh on either ledger: a folder of SQLite, or a database of PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import memories
from memory_mesh.engines.ledgers.postgres.ledger import PostgresLedger
from memory_mesh.ports import Clock, Embedder
from memory_mesh.process.clock import SystemClock
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
    """The same mesh with its memories in a database; the folder holds nothing but keys."""
    with on_sqlite(folder, embedder, namespace=namespace, clock=clock) as mesh:
        opened = mesh._opened()  # noqa: SLF001  # no setting names a database yet
        opened.ledger.close()
        opened.ledger = PostgresLedger(
            url, opened.clock, secret=SECRET, recall_days=mesh.config.recall_days
        )
        yield mesh
