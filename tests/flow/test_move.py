"""Moves of stores and namespaces: nothing is lost at any point, and the key goes along."""

import shutil
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.care import backups
from memory_mesh.care.key_file import KeyFile
from memory_mesh.care.store_files import key_ids
from memory_mesh.model.errors import (
    InvalidInput,
    NotFound,
    StoreError,
    StoreIsDamaged,
    StoreWasMoved,
    StoreWasReplaced,
    WritesAreMissing,
)
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.flow.test_archive import chain, database, killed_at

ADDRESS = "jane.doe@example.com"


def opened(folder: Path, namespace: str = "default") -> MemoryMesh:
    return MemoryMesh(db_dir=folder, namespace=namespace, clock=FrozenClock())


def filled(folder: Path) -> Path:
    for namespace in ("default", "other"):
        with opened(folder, namespace) as mesh:
            mesh.add(f"write to {ADDRESS} about the {namespace} door")
            mesh.add(f"the {namespace} door is red")
    return folder


def found(folder: Path, namespace: str = "default") -> list[str]:
    with opened(folder, namespace) as mesh:
        assert mesh.care.verify().findings == ()
        return sorted(memory.text for memory in mesh.get_all())


def test_a_moved_store_is_the_same_with_the_same_key_and_the_old_files_are_kept(
    tmp_path: Path,
) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "new" / "place"
    key, texts, blocks = KeyFile.of(source).newest, found(source), chain(source)
    (source / "models").mkdir()
    done = care.move_store(source, to)
    assert done.namespaces == ("default", "other")
    assert (found(to), chain(to)) == (texts, blocks)
    assert KeyFile.of(to).newest == key
    with opened(to) as mesh:
        assert next(hit.memory.text for hit in mesh.search(ADDRESS)) in texts
    assert {path.name for path in source.iterdir()} == {"models", "moved"}
    assert chain(Path(done.kept)) == blocks
    with pytest.raises(NotFound, match="no store"):
        care.move_store(tmp_path / "nothing", tmp_path / "again")


def test_a_moved_namespace_brings_its_keys_as_older_ones(tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), filled(tmp_path / "to")
    (moved,), (own,) = key_ids(source), key_ids(to)
    with pytest.raises(InvalidInput, match="--into NAME"):
        care.move_namespace(source, "other", to)
    care.export_archive(source, "other", tmp_path / "a.tar.gz")
    care.import_archive(source, tmp_path / "a.tar.gz", into="third")
    blocks = chain(source, "third")
    done = care.move_namespace(source, "third", to)
    assert chain(to, "third") == blocks
    assert key_ids(to) == [moved, own]
    assert "older ones" in done.remarks[0]
    with opened(source) as mesh:
        assert mesh.care.namespaces() == ["default", "other"]
    assert Path(done.kept).name.startswith("third.moved-")


def test_a_new_store_goes_on_with_the_key_of_a_moved_namespace(tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    texts = found(source, "other")
    care.move_namespace(source, "other", to)
    assert KeyFile.of(to).newest == KeyFile.of(source).newest
    with opened(to, "other") as mesh:
        mesh.add(f"call {ADDRESS} too")
        (placeholder,) = {
            word
            for memory in mesh.get_all()
            for word in memory.text.split()
            if word.startswith("[")
        }
    assert any(placeholder in text for text in texts)


def test_a_move_mixes_no_stores_and_brings_back_nothing_that_was_erased(tmp_path: Path) -> None:
    source, other = filled(tmp_path / "source"), filled(tmp_path / "other")
    blocks = chain(source)
    with pytest.raises(StoreError, match="another store"):
        care.move_store(source, other)
    for inside in (source / "inner", source, tmp_path):
        with pytest.raises(InvalidInput, match="apart"):
            care.move_store(source, inside)
    identity = safekeeping_identity(source)
    backups.record(tmp_path / "fresh", identity)
    with pytest.raises(StoreError, match="erased"):
        care.move_namespace(source, "default", tmp_path / "fresh")
    assert chain(source) == blocks


def safekeeping_identity(folder: Path) -> str:
    from memory_mesh.ledgers.sqlite.archive_rows import identity_of

    return identity_of(database(folder)) or ""


@pytest.mark.parametrize("only", [False, True])
def test_a_kill_at_any_point_of_a_move_loses_nothing(tmp_path: Path, *, only: bool) -> None:
    ended = False
    for at in range(1, 999, 7):
        source, to = filled(tmp_path / f"{at}"), tmp_path / f"{at}-to"
        blocks = chain(source)

        def move(folder: Path, to: Path = to) -> None:
            if only:
                care.move_namespace(folder, "default", to)
            else:
                care.move_store(folder, to)

        ended = killed_at(at, move, source)
        if database(source).exists():
            assert chain(source) == blocks
            move(source)  # goes on from there
        assert chain(to) == blocks
        assert len(found(to)) == len(blocks)
        assert not list(to.glob("*.partial*/**/*.db"))
        if ended:
            break
    assert ended


def test_a_killed_move_goes_on_though_the_new_place_was_written_to(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "old"), tmp_path / "new"
    copy = tmp_path / "copy"
    shutil.copytree(source, copy)
    care.move_store(source, target)
    shutil.copytree(copy, source, dirs_exist_ok=True)  # as if it had not been set aside yet
    with opened(target) as mesh:
        mesh.add("the gate is blue")
    care.move_store(source, target)
    assert not (source / "namespaces").exists()
    assert "the gate is blue" in found(target)


def test_a_namespace_that_lacks_acknowledged_writes_is_not_moved(tmp_path: Path) -> None:
    source = filled(tmp_path / "source")
    older = database(source).read_bytes()
    with opened(source) as mesh:
        mesh.add("written after the copy")
    database(source).write_bytes(older)
    with pytest.raises(StoreIsDamaged, match="lacks acknowledged writes"):
        care.move_namespace(source, "default", tmp_path / "to")
    with opened(source) as mesh, pytest.raises(WritesAreMissing):
        mesh.get_all()


def test_a_process_that_has_a_moved_store_open_begins_no_other_in_its_place(tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    with opened(source) as mesh, opened(source, "other") as other:
        before = len(mesh.get_all())
        assert other.get_all()
        care.move_store(source, to)
        with pytest.raises(StoreWasMoved, match=f"was moved to {to}"):
            mesh.get_all()
        with pytest.raises(StoreWasMoved, match=f"was moved to {to}"):
            other.add("written to nowhere")
    assert [path.name for path in source.iterdir()] == ["moved"]
    assert len(found(to)) == before


def test_a_process_that_has_a_removed_store_open_begins_no_other_in_its_place(
    tmp_path: Path,
) -> None:
    source = filled(tmp_path / "source")
    with opened(source) as mesh:
        assert mesh.get_all()
        source.rename(tmp_path / "elsewhere")
        with pytest.raises(StoreWasReplaced, match="moved or removed"):
            mesh.add("written to nowhere")
    assert not source.exists()
