"""A server that follows another one answers reads, and says where to write."""

import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_mesh.model.errors import StoreIsReadOnly
from memory_mesh.sync import MemoryMesh
from tests.postgres import APP, SECRET, Server

FRIDAYS, TEA = "Deploys run on Fridays", "The tea is in the second drawer"
_PATIENCE = 60.0


@pytest.fixture
def meshes(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[MemoryMesh, MemoryMesh, str]]:
    """A mesh on a server, another on its standby, and the address of the standby."""
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    name = postgres.database()
    with postgres.standby() as folder:
        there = f"postgresql://{APP}@/{name}?host={folder}"
        with (
            MemoryMesh(postgres.url(name, APP), db_dir=tmp_path / "one", embedder="none") as one,
            MemoryMesh(there, db_dir=tmp_path / "two", embedder="none") as two,
        ):
            yield one, two, there
    postgres.drop(name)


def wait_for(seq: int, there: str) -> None:
    """Waits until the standby has what its server has."""
    end = time.monotonic() + _PATIENCE
    with psycopg.connect(there.replace(APP, "postgres"), autocommit=True) as db:
        while db.execute("SELECT max(seq) FROM memory_mesh.store").fetchone() != (seq,):
            assert time.monotonic() < end, "the standby does not follow"
            time.sleep(0.01)


def test_a_standby_answers_and_takes_no_writes(meshes: tuple[MemoryMesh, MemoryMesh, str]) -> None:
    one, two, there = meshes
    ids = [one.add(text).id for text in (FRIDAYS, TEA)]
    wait_for(one.stats().seq, there)
    assert [hit.content for hit in two.search("when do deploys run?")] == [FRIDAYS]
    assert {memory.id for memory in two.get_all()} == set(ids)
    opened = two.get(str(ids[1]))  # the use cannot be counted
    assert opened is not None
    assert opened.content == TEA
    assert two.explain(opened.id).memory is not None
    with pytest.raises(StoreIsReadOnly, match="store them on the server that it follows"):
        two.add("Nothing is stored here")
    assert [hit.content for hit in two.search("second drawer")] == [TEA]
