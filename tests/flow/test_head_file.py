"""The head file: lost, emptied, replaced and older databases are refused, and nothing else is."""

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.ledgers.sqlite import namespace_file
from memory_mesh.ledgers.sqlite.namespace_file import NamespaceFile
from memory_mesh.model.errors import StoreIsDamaged, StoreWasReplaced, WritesAreMissing
from memory_mesh.sync import MemoryMesh

FLIPS = 30


def opened(folder: Path, namespace: str = "default") -> MemoryMesh:
    return MemoryMesh(db_dir=folder, namespace=namespace, embedder="none")


def database(folder: Path, namespace: str = "default") -> Path:
    return folder / "namespaces" / f"{namespace}.db"


def log(folder: Path) -> Path:
    return folder / "namespaces" / "default.db-wal"


def stored(folder: Path, texts: int = 3, namespace: str = "default") -> Path:
    """A closed store: all of it is in the database, and there is no log."""
    with opened(folder, namespace) as mesh:
        for number in range(texts):
            mesh.add(f"{namespace} fact {number} about apples")
    return folder


def crashed(folder: Path, texts: int = 8) -> Path:
    """A store as a kill leaves it: the writes are in the log."""
    with opened(folder / "live") as mesh:
        for number in range(texts):
            mesh.add(f"fact {number} about apples")
        shutil.copytree(folder / "live", folder / "dead")
    (folder / "dead" / "namespaces" / "default.db-shm").unlink()
    return folder / "dead"


def refused(folder: Path, error: type[StoreIsDamaged] = WritesAreMissing) -> str:
    """What every read and write says; `verify` opens it, and says the same."""
    with opened(folder) as mesh:
        with pytest.raises(error) as caught:
            mesh.get_all()
        with pytest.raises(error):
            mesh.add("more")
        findings = mesh.care.verify().findings
    assert findings[0].check == "head file"
    return str(caught.value)


def count(folder: Path) -> int:
    with opened(folder) as mesh:
        return len(mesh.get_all())


def test_the_line_can_be_read_back_and_a_torn_one_says_nothing():
    mark = namespace_file.DatabaseHead("ab" * 16, 2**62, 7, 2**62, b"\x01" * 32)
    line = namespace_file.head_line(mark)
    assert len(line) == namespace_file.BYTES
    assert namespace_file.parsed_head(line) == mark
    for place in range(len(line.rstrip())):
        torn = bytearray(line)
        torn[place] ^= 1
        assert namespace_file.parsed_head(bytes(torn)) is None
        assert namespace_file.parsed_head(line[:place]) is None


def test_it_says_the_last_acknowledged_write(tmp_path):
    with opened(tmp_path) as mesh:
        id_ = str(mesh.add("one fact").id)
        first = namespace_file.read_head(database(tmp_path))
        mesh.get(id_)
        mesh._opened().ledger.flush("default")
        second = namespace_file.read_head(database(tmp_path))
        mesh.add("another fact")
        third = namespace_file.read_head(database(tmp_path))
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.seq, first.writes) == (1, 0)
    assert (second.seq, second.writes) == (1, 1)  # a use is no commit, and yet not to be lost
    assert (third.seq, third.position) == (2, 2)
    assert namespace_file.head_path(database(tmp_path)).stat().st_mode & 0o777 == 0o600


def test_every_flip_in_a_log_that_loses_a_write_is_refused(tmp_path):
    dead = crashed(tmp_path)
    data = log(dead).read_bytes()
    assert count(_copy(dead, tmp_path / "whole")) == 8
    for number in range(FLIPS):
        place = number * len(data) // FLIPS
        folder = _copy(dead, tmp_path / f"flip-{number}")
        flipped = bytearray(data)
        flipped[place] ^= 0x10
        log(folder).write_bytes(flipped)
        assert "lacks acknowledged writes" in refused(folder), place


def test_a_flip_that_loses_the_use_counts_alone_is_refused(tmp_path):
    with opened(tmp_path / "live") as mesh:
        ids = [str(mesh.add(f"fact {number}").id) for number in range(4)]
        before = log(tmp_path / "live").stat().st_size
        mesh.get_many(ids)
        mesh._opened().ledger.flush("default")
        shutil.copytree(tmp_path / "live", tmp_path / "dead")
    data = bytearray(log(tmp_path / "dead").read_bytes())
    data[before + 200] ^= 1
    log(tmp_path / "dead").write_bytes(data)
    assert "uses" in refused(tmp_path / "dead")


@pytest.mark.parametrize("part", [0, 24, 33, 5_000])
def test_a_log_that_is_lost_or_cut_is_refused(tmp_path, part):
    dead = crashed(tmp_path)
    log(dead).write_bytes(log(dead).read_bytes()[:part])
    refused(dead)


def test_a_copy_without_its_log_is_refused(tmp_path):
    dead = crashed(tmp_path)
    log(dead).unlink()
    message = refused(dead)
    assert str(database(dead)) in message
    assert "memory-mesh repair --accept-loss" in message


def test_an_emptied_file_is_no_empty_store(tmp_path):
    database(stored(tmp_path)).write_bytes(b"")
    assert "it is empty" in refused(tmp_path)
    assert database(tmp_path).stat().st_size == 0  # and no write made it anew


def test_a_removed_file_is_no_empty_store(tmp_path):
    database(stored(tmp_path)).unlink()
    assert "it is gone" in refused(tmp_path)
    with opened(tmp_path) as mesh:
        assert mesh.care.namespaces() == ["default"]


def test_an_older_copy_is_refused(tmp_path):
    stored(tmp_path)
    older = database(tmp_path).read_bytes()
    stored(tmp_path, texts=5)
    database(tmp_path).write_bytes(older)
    assert "ends at seq" in refused(tmp_path)


@pytest.mark.parametrize("texts", [1, 3])
@pytest.mark.parametrize("write", [False, True])
def test_an_older_copy_without_a_head_file_is_a_finding_until_repair(tmp_path, texts, write):
    stored(tmp_path, texts)
    older = database(tmp_path).read_bytes()
    stored(tmp_path, texts=5)
    database(tmp_path).write_bytes(older)
    namespace_file.head_path(database(tmp_path)).unlink()
    with opened(tmp_path) as mesh:
        if write:  # which is no sign that nothing was lost
            mesh.add("Deploys run on Fridays")
        (finding,) = mesh.care.verify().findings
        assert finding.check == "missing head file"
        assert "default.head is missing" in finding.detail
        assert "memory-mesh repair" in finding.detail
    assert "the head file was written anew" in care.repair(tmp_path, "default").done
    with opened(tmp_path) as mesh:
        assert mesh.care.verify().ok


def test_a_hard_link_is_named_what_it_is(tmp_path):
    stored(tmp_path, texts=2)
    database(tmp_path).with_name("odd.db").hardlink_to(database(tmp_path))
    with opened(tmp_path) as mesh:
        (finding,) = mesh.view(namespace="odd").care.verify().findings
        assert finding.check == "hard link"
        assert "odd.db is a hard link" in finding.detail
        assert mesh.care.verify().ok


def test_the_head_file_of_a_new_namespace_is_there_before_its_first_commit(tmp_path, monkeypatch):
    acknowledge = NamespaceFile.acknowledge

    def kill(file: NamespaceFile, mark: namespace_file.DatabaseHead) -> None:
        if mark.seq:
            raise KeyboardInterrupt
        acknowledge(file, mark)

    with opened(tmp_path) as mesh:
        monkeypatch.setattr(NamespaceFile, "acknowledge", kill)
        with pytest.raises(KeyboardInterrupt):
            mesh.add("committed, and not acknowledged")
    monkeypatch.undo()
    with opened(tmp_path) as mesh:
        assert len(mesh.get_all()) == 1
        assert mesh.care.verify().ok


def test_a_copy_that_went_its_own_way_is_refused(tmp_path):
    stored(tmp_path / "ours")
    shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
    for folder, text in ((tmp_path / "ours", "ours"), (tmp_path / "theirs", "theirs")):
        with opened(folder) as mesh:
            mesh.add(text)
    with opened(tmp_path / "theirs") as mesh:
        mesh.add("more of theirs")
    shutil.copy(database(tmp_path / "theirs"), database(tmp_path / "ours"))
    assert "another history" in refused(tmp_path / "ours", StoreWasReplaced)


def test_files_that_changed_places_are_refused(tmp_path):
    stored(tmp_path)
    stored(tmp_path, namespace="work")
    one, other = database(tmp_path), database(tmp_path, "work")
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    refused(tmp_path, StoreWasReplaced)
    with (
        opened(tmp_path, "work") as mesh,
        pytest.raises(StoreWasReplaced, match="--namespace work"),
    ):
        mesh.search("apples")


def test_a_version_number_of_nought_is_no_empty_store(tmp_path):
    with closing(sqlite3.connect(database(stored(tmp_path)))) as db:
        db.execute("PRAGMA user_version = 0")
    namespace_file.remove_head(database(tmp_path))
    with opened(tmp_path) as mesh, pytest.raises(StoreIsDamaged, match="memory-mesh salvage"):
        mesh.get_all()


@pytest.mark.parametrize("said", [b"", b"v1 torn", b"x" * namespace_file.BYTES])
def test_a_torn_head_file_says_nothing_and_is_made_anew(tmp_path, said):
    stored(tmp_path)
    namespace_file.head_path(database(tmp_path)).write_bytes(said)
    assert count(tmp_path) == 3
    with opened(tmp_path) as mesh:
        mesh.add("one more")
    mark = namespace_file.read_head(database(tmp_path))
    assert mark is not None
    assert mark.seq == 4


def test_a_head_file_that_is_behind_is_no_flaw(tmp_path):
    stored(tmp_path)
    behind = namespace_file.head_path(database(tmp_path)).read_bytes()
    with opened(tmp_path) as mesh:
        mesh.add("killed before the head file was written")
    namespace_file.head_path(database(tmp_path)).write_bytes(behind)
    assert count(tmp_path) == 4
    with opened(tmp_path) as mesh:
        assert mesh.care.verify().ok


def test_a_head_file_that_cannot_be_written_fails_no_write(tmp_path):
    head = namespace_file.head_path(database(stored(tmp_path)))
    head.unlink()
    head.mkdir()
    with opened(tmp_path) as mesh:
        mesh.add("stored all the same")
    assert count(tmp_path) == 4


def test_a_head_file_that_is_a_link_is_not_followed(tmp_path):
    head = namespace_file.head_path(database(stored(tmp_path)))
    head.unlink()
    (tmp_path / "target").write_text("somebody's file")
    head.symlink_to(tmp_path / "target")
    with opened(tmp_path) as mesh:
        mesh.add("one more")
    assert (tmp_path / "target").read_text() == "somebody's file"


def test_a_namespace_that_was_removed_whole_is_new(tmp_path):
    with opened(tmp_path) as mesh:
        mesh.add("the first life")
        for path in (tmp_path / "namespaces").iterdir():
            path.unlink()
        assert mesh.get_all() == []
        stored(tmp_path)  # as another process would
        assert len(mesh.get_all()) == 3
        mesh.add("one more")
    assert count(tmp_path) == 4


@pytest.mark.parametrize("whole", [True, False])
def test_a_namespace_made_anew_between_two_looks_is_new(tmp_path, whole):
    stored(tmp_path / "new", texts=1)
    if not whole:
        namespace_file.remove_head(database(tmp_path / "new"))
    with opened(tmp_path / "old") as mesh:
        for number in range(5):
            mesh.add(f"the first life {number}")
        shutil.rmtree(tmp_path / "old" / "namespaces")
        shutil.copytree(tmp_path / "new" / "namespaces", tmp_path / "old" / "namespaces")
        assert len(mesh.get_all()) == 1
        mesh.add("one more")
        assert len(mesh.get_all()) == 2


def test_a_database_removed_under_an_open_process_is_noticed(tmp_path):
    with opened(tmp_path) as mesh:
        mesh.add("a fact")
        for path in (tmp_path / "namespaces").glob("default.db*"):
            path.unlink()
        with pytest.raises(WritesAreMissing, match="it is gone"):
            mesh.get_all()
        with pytest.raises(WritesAreMissing):
            mesh.add("more")


@pytest.mark.parametrize("with_head", [True, False])
def test_a_database_emptied_under_an_open_process_is_noticed(tmp_path, with_head):
    with opened(tmp_path) as mesh:
        mesh.add("a fact")
        if not with_head:
            namespace_file.remove_head(database(tmp_path))
        os.truncate(database(tmp_path), 0)
        with pytest.raises(WritesAreMissing, match="it is empty"):
            mesh.get_all()


@pytest.mark.parametrize("in_place", [True, False])
def test_an_older_copy_under_an_open_process_is_noticed(tmp_path, in_place):
    stored(tmp_path)
    shutil.copy(database(tmp_path), tmp_path / "older")
    stored(tmp_path, texts=6)
    with opened(tmp_path) as mesh:
        assert len(mesh.get_all()) == 6
        if in_place:
            shutil.copy(tmp_path / "older", database(tmp_path))
        else:
            (tmp_path / "older").replace(database(tmp_path))
        with pytest.raises(WritesAreMissing):
            mesh.get_all()
        with pytest.raises(WritesAreMissing):
            mesh.add("more")


def test_a_log_removed_under_an_open_process_loses_nothing(tmp_path):
    with opened(tmp_path) as mesh:
        for number in range(5):
            mesh.add(f"fact {number} about apples")
        log(tmp_path).unlink()
        assert len(mesh.get_all()) == 5
        mesh.add("one more about apples")
    assert count(tmp_path) == 6


def test_a_log_emptied_under_an_open_process_is_noticed(tmp_path):
    with opened(tmp_path) as mesh:
        for number in range(5):
            mesh.add(f"fact {number} about apples")
        os.truncate(log(tmp_path), 0)
        with pytest.raises(WritesAreMissing):
            mesh.get_all()


def test_a_store_put_in_place_with_its_head_file_is_read_on(tmp_path):
    stored(tmp_path / "backup", texts=2)
    shutil.copytree(tmp_path / "backup", tmp_path / "store")
    with opened(tmp_path / "store") as mesh:
        mesh.add("after the backup")
        (tmp_path / "store").rename(tmp_path / "before-restore")
        shutil.copytree(tmp_path / "backup", tmp_path / "store")
        assert len(mesh.get_all()) == 2
        mesh.add("after the restore")
        assert len(mesh.get_all()) == 3


def test_a_damaged_file_is_named_with_the_commands_that_help(tmp_path):
    stored(tmp_path)
    data = bytearray(database(tmp_path).read_bytes())
    data[:16] = b"x" * 16
    database(tmp_path).write_bytes(data)
    with opened(tmp_path) as mesh, pytest.raises(StoreIsDamaged) as caught:
        mesh.get_all()
    assert str(database(tmp_path)) in str(caught.value)
    for command in ("verify", "repair", "restore --from", "salvage --to"):
        assert f"memory-mesh {command}" in str(caught.value)


def test_a_schema_that_is_no_text_is_damaged_and_verify_says_so(tmp_path):
    data = database(stored(tmp_path)).read_bytes()
    place = data.index(b"CREATE TABLE memory")
    for flipped in range(place, place + 40):
        changed = bytearray(data)
        changed[flipped] |= 0x80
        database(tmp_path).write_bytes(changed)
        with opened(tmp_path) as mesh:
            assert not mesh.care.verify().ok
            with suppress(StoreIsDamaged):  # some of these only hide rows
                mesh.get_all()


_WRITER = """
import sys
from memory_mesh.sync import MemoryMesh
with MemoryMesh(db_dir=sys.argv[1], embedder="none") as mesh:
    for number in range(150):
        mesh.add(f"fact {number} of {sys.argv[2]}")
"""


def test_readers_beside_writers_never_see_a_loss(tmp_path):
    """Each read opens a new connection, and is held against the head file of that moment."""
    stored(tmp_path)
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), str(number)])
        for number in range(2)
    ]
    failures: list[str] = []

    def read() -> None:
        while any(writer.poll() is None for writer in writers):
            try:
                count(tmp_path)
            except StoreIsDamaged as error:
                failures.append(str(error))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert [writer.wait() for writer in writers] == [0, 0]
    assert failures == []


def _copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


def test_a_namespace_that_another_process_makes_during_a_look_is_not_missing(tmp_path, monkeypatch):
    read = namespace_file.read_head

    def late(path: Path) -> namespace_file.DatabaseHead | None:
        monkeypatch.setattr(namespace_file, "read_head", read)
        stored(tmp_path, texts=1)
        return read(path)

    with opened(tmp_path) as mesh:
        monkeypatch.setattr(namespace_file, "read_head", late)
        assert len(mesh.get_all()) == 1


@pytest.mark.parametrize("use", ["read", "write", "verify", "repair", "backup"])
def test_a_damaged_log_is_left_for_salvage_by_whoever_finds_it(tmp_path: Path, use: str) -> None:
    folder = crashed(tmp_path)
    data = bytearray(log(folder).read_bytes())
    data[len(data) // 2] ^= 4
    log(folder).write_bytes(data)
    if use == "repair":
        with pytest.raises(WritesAreMissing, match="salvage"):
            care.repair(folder, "default")
    elif use == "backup":
        assert not care.backup(folder, tmp_path / "backups").ok
    else:
        with opened(folder) as mesh, suppress(WritesAreMissing):
            if use == "write":
                mesh.add("x")
            elif use == "read":
                mesh.get_all()
            else:
                assert not mesh.care.verify().ok
    assert log(folder).read_bytes() == data
    care.salvage(folder, tmp_path / "rescued")
    assert count(tmp_path / "rescued") == 8
