"""The marker in the old place of a moved store or namespace: nobody begins another one there."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.care import backups
from memory_mesh.model.errors import StoreWasMoved
from memory_mesh.platform import moved_marks
from memory_mesh.sync import MemoryMesh
from tests.faults.sample import spread
from tests.flow.test_archive import chain, database, killed_at
from tests.flow.test_move import ADDRESS, filled, found, opened

Use = Callable[[Path], object]


def _mesh(do: Callable[[MemoryMesh], object]) -> Use:
    def use(folder: Path) -> object:
        with opened(folder) as mesh:
            return do(mesh)

    return use


OPENINGS: dict[str, Use] = {
    "read": _mesh(lambda mesh: mesh.get_all()),
    "write": _mesh(lambda mesh: mesh.add(f"call {ADDRESS}")),
    "search": _mesh(lambda mesh: mesh.search("door")),
    "list": _mesh(lambda mesh: mesh.care.namespaces()),
    "stats": _mesh(lambda mesh: mesh.stats()),
    "verify": _mesh(lambda mesh: mesh.care.verify()),
    "backup": lambda folder: care.backup(folder, folder.parent / "backups"),
    "export": lambda folder: care.export_archive(folder, "default", folder.parent / "a"),
    "import": lambda folder: care.import_archive(folder, folder.parent / "kept.tar.gz"),
    "repair": lambda folder: care.repair(folder, "default"),
    "salvage": lambda folder: care.salvage(folder, folder.parent / "salvaged"),
    "delete": lambda folder: care.delete_namespace(folder, "default"),
    "keys": care.key_state,
    "rotate": care.rotate_key,
    "replace": care.replace_key,
    "move": lambda folder: care.move_store(folder, folder.parent / "third"),
    "move only": lambda folder: care.move_namespace(folder, "default", folder.parent / "third"),
    "move there": lambda folder: care.move_namespace(folder.parent / "to", "default", folder),
}


@pytest.mark.parametrize("name", OPENINGS)
def test_no_store_begins_where_one_was_moved_away(name: str, tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    care.export_archive(source, "default", tmp_path / "kept.tar.gz")
    care.move_store(source, to)
    with pytest.raises(StoreWasMoved) as refused:
        OPENINGS[name](source)
    said = str(refused.value)
    assert f"--db-dir {to}" in said
    assert f"remove the file {source / 'moved'}" in said
    assert [path.name for path in source.iterdir()] == ["moved"]
    assert len(found(to)) == 2


def test_a_new_store_begins_when_the_marker_is_removed(tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    care.move_store(source, to)
    marker = source / "moved"
    assert marker.stat().st_mode & 0o777 == 0o600
    assert str(to) in marker.read_text()
    marker.unlink()
    with opened(source) as mesh:
        mesh.add("another store")
    assert found(source) == ["another store"]
    assert len(found(to)) == 2


@pytest.mark.parametrize("text", [b"", b"v9 what", b"v1 now {}", b"\xff" * 99])
def test_a_damaged_marker_is_a_marker_that_does_not_say_where(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "moved").write_bytes(text)
    with pytest.raises(StoreWasMoved, match="to another folder"), opened(tmp_path) as mesh:
        mesh.add("written to nowhere")


def test_a_store_whose_folders_are_marked_at_this_moment_was_not_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looks_too_early(marker: Path) -> bytes:
        moved_marks.mark_folders(marker.parent)  # another process, just after this one looked
        raise FileNotFoundError

    with monkeypatch.context() as patched:
        patched.setattr(moved_marks, "has_folders", lambda _: False)
        patched.setattr(moved_marks, "_data", looks_too_early)
        moved_marks.refuse_store(tmp_path)
    assert moved_marks.has_folders(tmp_path)


def test_a_folder_that_is_called_so_is_no_marker(tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    with opened(tmp_path) as mesh:
        mesh.add("a store as any other")
    assert found(tmp_path) == ["a store as any other"]


def test_a_store_moves_back_and_forth(tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    blocks = chain(source)
    for here, there in ((source, to), (to, source), (source, to)):
        care.move_store(here, there)
        assert chain(there) == blocks
        assert not (there / "moved").exists()
        with pytest.raises(StoreWasMoved, match=f"--db-dir {there}"), opened(here) as mesh:
            mesh.get_all()


def test_a_kill_on_the_way_back_leaves_one_place_that_opens(tmp_path: Path) -> None:
    ended = False
    for at in spread(999, 29):
        source, to = filled(tmp_path / f"{at}"), tmp_path / f"{at}-to"
        blocks = chain(source)
        care.move_store(source, to)
        ended = killed_at(at, lambda folder, back=source: care.move_store(folder, back), to)
        whole = []
        for folder in (source, to):
            with suppress(StoreWasMoved), opened(folder) as mesh:
                whole.append(len(mesh.get_all()))
        assert whole in ([2], [2, 2])
        if database(to).exists():
            care.move_store(to, source)  # goes on from there
        assert chain(source) == blocks
        assert found(source)
        if ended:
            break
    assert ended


def test_a_restore_into_the_old_place_is_a_store_there_without_what_was_erased(
    tmp_path: Path,
) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    backup = care.backup(source, tmp_path / "backups").folder
    care.move_store(source, to)
    care.delete_namespace(to, "other")
    done = care.restore(backup, source)
    assert done.erased == ("other",)
    assert not (source / "moved").exists()
    assert len(found(source)) == 2
    assert backups.hashes(source) == backups.hashes(to)


@pytest.mark.parametrize("name", ["read", "write", "search", "verify", "export", "repair"])
def test_no_namespace_begins_where_one_was_moved_away(name: str, tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    with opened(source) as mesh:
        assert mesh.get_all()
        care.move_namespace(source, "default", to)
        with pytest.raises(StoreWasMoved, match=f"--db-dir {to}"):
            mesh.add("written to nowhere")
    with pytest.raises(StoreWasMoved) as refused:
        OPENINGS[name](source)
    assert f"remove the file {source / 'namespaces/default.moved'}" in str(refused.value)
    with opened(source, "other") as other:
        assert other.care.namespaces() == ["other"]
        assert len(other.get_all()) == 2
    assert len(found(to)) == 2


def test_a_moved_namespace_comes_back_by_move_import_and_restore(tmp_path: Path) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    marker, archive = source / "namespaces/default.moved", tmp_path / "kept.tar.gz"
    backup = care.backup(source, tmp_path / "backups").folder
    care.export_archive(source, "default", archive)
    texts = found(source)
    care.move_namespace(source, "default", to)
    care.move_namespace(to, "default", source)
    assert (marker.exists(), found(source)) == (False, texts)
    with pytest.raises(StoreWasMoved, match=f"--db-dir {source}"), opened(to) as mesh:
        mesh.get_all()
    care.move_namespace(source, "default", tmp_path / "third")
    care.import_archive(source, archive)
    assert (marker.exists(), found(source)) == (False, texts)
    care.move_namespace(source, "default", tmp_path / "fourth")
    care.restore(backup, source, replace=True)
    assert (marker.exists(), found(source)) == (False, texts)


def test_markers_go_along_with_a_store_and_outlive_the_restore_of_the_others(
    tmp_path: Path,
) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    care.move_namespace(source, "default", tmp_path / "apart")
    done = care.backup(source, tmp_path / "backups")
    assert (done.ok, [kept.namespace for kept in done.namespaces]) == (True, ["other"])
    care.restore(done.folder, source, replace=True)
    care.move_store(source, to)
    with pytest.raises(StoreWasMoved, match=f"--db-dir {tmp_path / 'apart'}"), opened(to) as mesh:
        mesh.get_all()
    assert len(found(to, "other")) == 2


def test_a_deleted_namespace_takes_its_marker_along(tmp_path: Path) -> None:
    source = filled(tmp_path / "source")
    care.move_namespace(source, "default", tmp_path / "to")
    care.delete_namespace(source, "default")
    assert not [path for path in (source / "namespaces").iterdir() if "default" in path.name]
    with opened(source) as mesh:
        assert mesh.get_all() == []
    assert len(found(tmp_path / "to")) == 2


def test_a_move_off_a_disk_that_takes_no_marker_is_done_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, to = filled(tmp_path / "source"), tmp_path / "to"
    opens = os.open

    def full(path: str, flags: int, mode: int = 0o777) -> int:
        if os.fspath(path).endswith(".tmp") and Path(path).parent == source:
            raise OSError(28, "No space left on device", path)
        return opens(path, flags, mode)

    monkeypatch.setattr(os, "open", full)
    done = care.move_store(source, to)
    monkeypatch.undo()
    assert "could not be written (No space left on device)" in done.remarks[-1]
    assert (source.exists(), len(found(to))) == (False, 2)
