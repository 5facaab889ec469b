"""Namespaces made at once, more of them than may be open, and files that are not ours."""

import os
import sqlite3
from contextlib import closing

import pytest

from memory_mesh.ledgers.sqlite.namespace_places import NETWORK, mount_of, refuse_network_folder
from memory_mesh.model.errors import StoreIsDamaged, StoreIsNewer, UnsafeFolder
from memory_mesh.sync import MemoryMesh
from tests.faults.suites import sampled

MOUNTS = """\
22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/root rw
40 22 0:35 / /mnt/team rw,relatime shared:20 - {kind} server:/export rw,vers=4.2
41 40 0:36 / /mnt/team/local\\040disk rw,relatime shared:21 - xfs /dev/sdb1 rw
"""


@pytest.mark.slow
def test_a_namespace_made_by_several_processes_at_once_is_one(tmp_path):
    sampled("namespaces", tmp_path).holds()


@pytest.mark.slow
def test_two_hundred_namespaces_keep_few_files_open_and_stay_apart(tmp_path):
    sampled("namespaces/many", tmp_path).holds()


def test_a_raised_min_writer_stops_writes_of_a_running_process(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        id_ = mesh.add("written before").id
        _alter(tmp_path, "UPDATE store SET min_writer = 99")
        with pytest.raises(StoreIsNewer):
            mesh.add("too late")
        with pytest.raises(StoreIsNewer):
            mesh.rate(str(id_), helpful=True)
        assert [hit.id for hit in mesh.search("written")] == [id_]
        assert mesh.care.verify().ok


def test_a_raised_min_reader_stops_reads_of_a_running_process(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("written before")
        _alter(tmp_path, "UPDATE store SET min_reader = 99")
        with pytest.raises(StoreIsNewer):
            mesh.search("written", use_cache=False)
        with pytest.raises(StoreIsNewer):
            mesh.get_all()


@pytest.mark.parametrize("kind", sorted(NETWORK))
def test_a_folder_on_a_network_file_system_is_refused(tmp_path, kind):
    mounts = MOUNTS.format(kind=kind)
    folder = type(tmp_path)("/mnt/team/store")
    with pytest.raises(UnsafeFolder, match=kind.replace(".", r"\.")):
        refuse_network_folder(folder, mounts)


def test_a_local_disk_below_a_network_mount_is_fine(tmp_path):
    mounts = MOUNTS.format(kind="nfs4")
    folder = type(tmp_path)("/mnt/team/local disk/store")
    refuse_network_folder(folder, mounts)
    assert mount_of(folder, mounts)[0] == "xfs"
    refuse_network_folder(type(tmp_path)("/home/someone"), mounts)


def _garbage(path):
    path.write_bytes(os.urandom(20_000))


def _text(path):
    path.write_text("not a database " * 1000)


def _cut(path):
    with MemoryMesh(db_dir=path.parent.parent) as mesh:
        mesh.add_many(f"memory {number}" for number in range(50))
    path.write_bytes(path.read_bytes()[:40_000])


def _foreign(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
        db.execute("PRAGMA user_version = 7")


@pytest.mark.parametrize("make", [_garbage, _text, _cut, _foreign])
def test_a_file_that_is_no_ledger_is_named_damaged(tmp_path, make):
    folder = tmp_path / "namespaces"
    folder.mkdir()
    make(folder / "default.db")
    with MemoryMesh(db_dir=tmp_path) as mesh:
        with pytest.raises(StoreIsDamaged):
            mesh.search("anything")
        with pytest.raises(StoreIsDamaged):
            mesh.add("anything")


def test_a_foreign_database_is_left_as_it_is(tmp_path):
    (tmp_path / "namespaces").mkdir()
    path = tmp_path / "namespaces" / "default.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with MemoryMesh(db_dir=tmp_path) as mesh, pytest.raises(StoreIsDamaged):
        mesh.add("anything")
    assert path.read_bytes() == before


def test_files_of_other_people_are_no_namespaces(tmp_path):
    with MemoryMesh(db_dir=tmp_path) as mesh:
        mesh.add("ours")
        for name in ("50%off.db", "%ff.db", "Capital.db", "notes.txt", "%6fld.db"):
            (tmp_path / "namespaces" / name).touch()
        assert mesh.care.namespaces() == ["default"]


def _alter(folder, statement):
    with closing(sqlite3.connect(folder / "namespaces" / "default.db")) as db, db:
        db.execute(statement)
