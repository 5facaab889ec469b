"""Folders are 0700 and files 0600, whatever the umask; what is there keeps its mode."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_mesh.care.key_file import KeyFile
from memory_mesh.compat.neolata import json_storage, memory_graph
from memory_mesh.mirror import Mirror
from memory_mesh.mirror.state import AgentEdits
from memory_mesh.model.trace import Trace
from memory_mesh.models.lance.index import IndexFolder
from memory_mesh.models.sinks.jsonl import JsonLinesSink
from memory_mesh.platform import durable_files, system
from memory_mesh.sync import MemoryMesh
from tests.stores import unpacked

UMASKS = [0, 0o022, 0o077, 0o277, 0o777]


@pytest.fixture(params=UMASKS, ids=oct)
def _umask(request) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    """The mode of every folder and file in a folder, and its own."""
    return {
        str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
        for path in (folder, *folder.rglob("*"))
    }


def wrong(folder: Path) -> dict[str, str]:
    """What is not for its owner only."""
    return {
        name: oct(mode)
        for name, mode in modes(folder).items()
        if mode != (0o700 if (folder / name).is_dir() else 0o600)
    }


@pytest.mark.usefixtures("_umask")
def test_what_a_store_makes_is_for_its_owner_only(tmp_path, clock, monkeypatch):
    home, notes = tmp_path / "a" / "b", tmp_path / "notes"
    notes.mkdir()
    notes.chmod(0o755)
    monkeypatch.setenv("MEMORY_MESH_KEY_DIR", str(home / "keys"))
    store = home / "store"
    system.make_folder(home)
    sink = JsonLinesSink(home / "blocks.jsonl")
    with MemoryMesh(
        db_dir=store, clock=clock, sinks=[sink], project="p", settings={"system_memory": True}
    ) as mesh:
        mesh.add("Write to bob@example.com about the printer", scope=None)
        mesh.traces.record_many([Trace("Ship the release", plan="Tag, build, push.")])
        mesh.traces.write_memory_log()
        mesh.search("printer")
        Mirror(mesh, notes).run()
        AgentEdits(store / "mirror").mark(notes / "a.md", b"text")
        assert any(path.name.endswith("-wal") for path in store.rglob("*"))
        assert wrong(home) == {}
    with memory_graph.create_memory(storage=json_storage(dir=home / "graph")) as graph:
        graph.store("ann", "The printer is on the third floor")
    assert wrong(tmp_path / "a") == {}
    assert stat.S_IMODE(notes.stat().st_mode) == 0o755


@pytest.mark.usefixtures("_umask")
def test_the_copy_before_a_migration_is_for_its_owner_only(tmp_path):
    path = unpacked("schema-1-analyzer-1", tmp_path / "old")
    path.chmod(0o600)
    with MemoryMesh(db_dir=tmp_path / "old") as mesh:
        assert mesh.get_all()
    (copy,) = path.parent.glob("*.bak")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert copy.stat().st_size


def test_what_the_index_library_makes_is_closed_to_others(tmp_path):
    place = IndexFolder(tmp_path / "index", "default", "space")
    with place.owned(wait=False):
        (place.folder / "data").mkdir(parents=True)
        (place.folder / "data" / "1.lance").write_bytes(b"x")
        for path in (place.folder, *place.folder.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        place.sync()
    assert wrong(tmp_path / "index") == {}


def test_what_is_there_keeps_its_mode(tmp_path, clock):
    store = tmp_path / "store"
    store.mkdir()
    store.chmod(0o750)
    with MemoryMesh(db_dir=store, clock=clock) as mesh:
        mesh.add("The printer is on the third floor")
    (file,) = (store / "namespaces").glob("*.db")
    file.chmod(0o640)
    with MemoryMesh(db_dir=store, clock=clock) as mesh:
        mesh.add("The kitchen is on the second floor")
    found = modes(store)
    assert (found["."], found["namespaces"], found["namespaces/default.db"]) == (
        0o750,
        0o700,
        0o640,
    )


def test_a_file_of_the_user_keeps_the_umask(tmp_path):
    before = os.umask(0o022)
    try:
        durable_files.write_atomically(tmp_path / "note.md", b"text")
        durable_files.write_atomically(tmp_path / "log.md", b"text", private=True)
    finally:
        os.umask(before)
    assert (modes(tmp_path)["note.md"], modes(tmp_path)["log.md"]) == (0o644, 0o600)


def test_a_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="exists"):
        system.make_folder(tmp_path / "file")
    with pytest.raises(OSError, match="Not a directory"):
        system.make_folder(tmp_path / "file" / "inside")


_KILLED = """
import os, sys
from memory_mesh.care import key_file as keys
from pathlib import Path

def dies(*_):
    os._exit(9)

if sys.argv[2] == "before":
    os.link = dies
else:
    really = os.link
    os.link = lambda one, other: (really(one, other), dies())
keys.KeyFile.of(Path(sys.argv[1])).newest
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_drafts_of_keys_that_killed_processes_left_are_removed(tmp_path, monkeypatch, moment):
    store, folder = tmp_path / "store", tmp_path / "keys"
    monkeypatch.setenv("MEMORY_MESH_KEY_DIR", str(folder))
    for _ in range(2):  # before the identity or the key has its name, or just after
        words = [sys.executable, "-c", _KILLED, str(store), moment]
        subprocess.run(words, check=False, timeout=300)
    left = [*folder.glob(".*"), *store.glob(".*")]
    assert left
    before = {path.name: path.read_bytes() for path in (*folder.glob("*.key"), store / "identity")
              if path.exists()}  # fmt: skip
    key = KeyFile.of(store).newest
    after = {path.name: path.read_bytes() for path in (*folder.glob("*.key"), store / "identity")}
    assert before.items() <= after.items()  # a draft may be the key itself: nothing is written
    assert [*folder.glob(".*"), *store.glob(".*")] == []
    assert KeyFile.of(store).newest == key
    assert wrong(folder) == wrong(store) == {}


def test_a_draft_of_a_process_that_lives_is_left(tmp_path, monkeypatch):
    from memory_mesh.platform.locks import locked

    store, folder = tmp_path / "store", tmp_path / "keys"
    monkeypatch.setenv("MEMORY_MESH_KEY_DIR", str(folder))
    file = KeyFile.of(store)
    system.make_folder(folder)
    draft = file.path.with_name(f".{file.path.name}.0123456789ab")
    other = folder / f".{file.path.name}.backup"
    other.write_text("a copy of somebody's own")
    with locked(draft):
        assert file.newest.secret
        assert draft.exists()
    assert other.exists()
