"""A namespace goes from SQLite to PostgreSQL and back without a difference."""

import tarfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from memory_mesh.care import export_archive, import_archive
from memory_mesh.care.server import delete_from_server, export_from_server, import_to_server
from memory_mesh.model import Scope
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError
from memory_mesh.model.trace import Trace
from memory_mesh.models.embedders.onnx import OnnxEmbedder
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.postgres import SECRET


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())


def _fill(mesh, clock):
    """Claims that contradict, links, skills, traces, votes, sessions, recalls and deletions."""
    first = mesh.add("The deploy day is Friday.")
    clock.advance(timedelta(hours=1))
    mesh.add("The deploy day is Monday.")
    mesh.add("Ada's mail is ada@example.org", tags=["people"], metadata={"team": "core"})
    gone = mesh.add("A secret nobody may keep")
    mesh.delete(gone.id)
    mesh.update(first.id, content="The deploy day was Friday.")
    here = Scope(session="s1")
    turns = [mesh.add(f"turn {number}", scope=here, order=number) for number in range(5)]
    mesh.graph.link(turns[0].id, turns[3].id, scope=here)
    mesh.rate(turns[1].id, helpful=True, scope=here)
    mesh.ingest_skill("---\nname: ship\nintent: release\n---\nShip on Monday.")
    mesh.traces.record(Trace("Release the shop"))
    mesh.search("deploy day")
    mesh.context("deploy day")


def _tables(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {
            member.name: (tar.extractfile(member) or tar).read()  # type: ignore[union-attr]
            for member in tar
            if member.name.startswith("tables/")
        }


def test_a_round_trip_changes_no_row(
    database: str, tmp_path: Path, clock: FrozenClock, real_embedder: OnnxEmbedder
) -> None:
    with MemoryMesh(tmp_path / "one", clock=clock, custom_embedder=real_embedder) as mesh:
        _fill(mesh, clock)
        mesh.care.upkeep()
    out, between, back = (tmp_path / f"{name}.tar.gz" for name in ("out", "between", "back"))
    export_archive(tmp_path / "one", "default", out, with_vectors=True)
    with MemoryMesh(database, clock=clock, custom_embedder=real_embedder) as server:
        import_to_server(server.config, out)
        assert server.care.verify().ok
        found = [hit.memory.text for hit in server.search("deploy day")]
        export_from_server(server.config, between, with_vectors=True)
    assert _tables(between) == _tables(out)
    import_archive(tmp_path / "two", between)
    export_archive(tmp_path / "two", "default", back, with_vectors=True)
    assert _tables(back) == _tables(out)
    with MemoryMesh(tmp_path / "two", clock=clock, custom_embedder=real_embedder) as mesh:
        assert mesh.care.verify().ok
        assert [hit.memory.text for hit in mesh.search("deploy day")] == found


def test_what_was_imported_is_written_to_like_any_other(
    database: str, tmp_path: Path, clock: FrozenClock
) -> None:
    with MemoryMesh(tmp_path / "one", clock=clock) as mesh:
        _fill(mesh, clock)
    export_archive(tmp_path / "one", "default", tmp_path / "out.tar.gz")
    with MemoryMesh(database, clock=clock) as server:
        import_to_server(server.config, tmp_path / "out.tar.gz")
        _fill(server, clock)
        assert server.care.verify().ok
        with pytest.raises(InvalidInput, match="holds memories already"):
            import_to_server(server.config, tmp_path / "out.tar.gz")


def test_what_was_deleted_for_good_is_not_imported_again(
    database: str, tmp_path: Path, clock: FrozenClock
) -> None:
    archive = tmp_path / "out.tar.gz"
    with MemoryMesh(database, clock=clock) as server:
        _fill(server, clock)
        export_from_server(server.config, archive)
        gone = delete_from_server(server.config)
        assert gone.memories
        assert server.care.namespaces() == []
        assert server.get_all() == []
        with pytest.raises(StoreError, match="stays erased"):
            import_to_server(server.config, archive)
        with pytest.raises(NotFound):
            delete_from_server(server.config)
        with pytest.raises(NotFound):
            export_from_server(replace(server.config, namespace="none"), tmp_path / "none.tar.gz")
        server.add("it begins anew")
        assert server.care.verify().ok
    assert [path.name for path in tmp_path.iterdir()] == ["out.tar.gz"]


def test_memories_that_were_erased_since_are_left_out_of_an_older_archive(
    database: str, tmp_path: Path, clock: FrozenClock
) -> None:
    archive = tmp_path / "out.tar.gz"
    with MemoryMesh(database, clock=clock) as server:
        gone = server.add("The canary zqcanary9 sings in the shed").id
        kept = server.add("Tea is served at four").id
        export_from_server(server.config, archive)
        server.erase(gone)
        done = import_to_server(server.config, archive, into="copy")
        assert done.memories == 1
        assert any("1 of its memories were erased here since" in said for said in done.remarks)
        copy = server.view(namespace="copy")
        assert [memory.id for memory in copy.get_all()] == [kept]
        assert any("keyed for the name default" in said for said in done.remarks)
        assert copy.care.verify().ok


def test_a_copy_has_an_identity_of_its_own(
    database: str, tmp_path: Path, clock: FrozenClock
) -> None:
    archive = tmp_path / "out.tar.gz"
    with MemoryMesh(database, clock=clock) as server:
        _fill(server, clock)
        written = export_from_server(server.config, archive)
        done = import_to_server(server.config, archive, into="copy")
        assert done.memories == written.memories
        assert not any("does not have" in remark for remark in done.remarks)
        delete_from_server(replace(server.config, namespace="copy"))
        delete_from_server(server.config)
        with pytest.raises(StoreError, match="stays erased"):
            import_to_server(server.config, archive)
        assert server.care.namespaces() == []


def test_deleting_a_copy_leaves_the_first_one_free_to_come_back(
    database: str, tmp_path: Path, clock: FrozenClock
) -> None:
    archive, again = tmp_path / "out.tar.gz", tmp_path / "again.tar.gz"
    with MemoryMesh(database, clock=clock) as server:
        _fill(server, clock)
        export_from_server(server.config, archive)
        import_to_server(server.config, archive, into="copy")
        delete_from_server(replace(server.config, namespace="copy"))
        assert import_to_server(server.config, archive, into="copy").memories
        assert server.care.verify().ok
        export_from_server(replace(server.config, namespace="copy"), again)
