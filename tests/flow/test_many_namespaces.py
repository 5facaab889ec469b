"""Namespaces above the bound lie in folders: made once, found, listed in pages and kept as others.

The bound is an argument of the ledger, lowered here; real files, real processes.
"""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.care import manifest as manifests
from memory_mesh.care.moves import look
from memory_mesh.care.sqlite import copies
from memory_mesh.ledgers.sqlite import namespace_places as places
from memory_mesh.ledgers.sqlite.connections import Files
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model.errors import (
    InvalidInput,
    NotFound,
    StoreIsDamaged,
    StoreIsNewer,
    StoreWasMoved,
)
from memory_mesh.platform import moved_marks
from memory_mesh.platform.ids import SystemClock
from memory_mesh.sync import MemoryMesh
from tests.faults.crashpoints import watch
from tests.faults.processes import Child, call

FLAT = ("default", "first")
IN_FOLDERS = ("Odd, name", "second", "third", "user.ann")


def mesh_of(folder: Path, name: str = "default", most: int | None = None) -> MemoryMesh:
    """A mesh, over a ledger with another bound if one is given."""
    root = MemoryMesh(db_dir=folder, embedder="none")
    if most is not None:
        ledger = SqliteLedger(folder, SystemClock(), flat_namespaces=most)
        object.__setattr__(root._opened(), "ledger", ledger)
    if name.startswith("user."):
        return root.for_user(name.removeprefix("user."))
    return root if name == "default" else root.view(namespace=name)


def added(folder: Path, name: str, text: str, most: int | None = None) -> None:
    mesh = mesh_of(folder, name, most)
    mesh.add(text)
    mesh.close()


def texts(folder: Path, name: str) -> list[str]:
    with mesh_of(folder, name) as mesh:
        assert mesh.care.verify().findings == ()
        return sorted(memory.text for memory in mesh.get_all())


def databases(folder: Path) -> list[str]:
    root = folder / "namespaces"
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*.db"))


def held(folder: Path) -> dict[str, list[str]]:
    with mesh_of(folder) as mesh:
        names = mesh.care.namespaces()
    return {name: texts(folder, name) for name in names}


ALL = {name: [f"the door of {name}"] for name in sorted((*FLAT, *IN_FOLDERS))}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mixture: two namespaces in the flat folder, four in folders."""
    folder = tmp_path_factory.mktemp("template") / "store"
    for name in (*FLAT, *IN_FOLDERS):
        call(added, folder, name, f"the door of {name}", len(FLAT))
    return folder


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "store"))


def test_above_the_bound_namespaces_are_made_in_folders_and_all_are_found(store: Path) -> None:
    flat = [name for name in databases(store) if "/" not in name]
    assert flat == ["default.db", "first.db"]
    assert len(databases(store)) == len(ALL)
    assert held(store) == ALL


def test_once_there_are_folders_each_new_namespace_lies_in_one(store: Path) -> None:
    care.delete_namespace(store, "first")  # there is room again
    added(store, "fourth", "with the usual bound")
    assert len([name for name in databases(store) if "/" not in name]) == 1
    assert texts(store, "fourth") == ["with the usual bound"]


def test_a_store_below_the_bound_stays_flat_and_unmarked(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        added(tmp_path, name, "flat")
    assert databases(tmp_path) == ["a.db", "b.db", "c.db"]
    assert not moved_marks.of_store(tmp_path).exists()


def test_names_spread_evenly_over_the_folders() -> None:
    root = Path("namespaces")
    names = (f"team-{number:05}" for number in range(25_600))
    found = [places.both_folders(root, name)[1].name for name in names]
    counts = [found.count(fan) for fan in set(found)]
    assert len(counts) == 256
    assert max(counts) < 2 * min(counts)


@pytest.mark.parametrize("limit", [1, 2, 4, 100])
def test_pages_hold_every_namespace_once_in_order(store: Path, limit: int) -> None:
    with mesh_of(store) as mesh:
        whole = mesh.care.namespaces()
        assert whole == sorted(ALL)
        paged: list[str] = []
        while page := mesh.care.namespaces(after=paged[-1] if paged else None, limit=limit):
            assert len(page) <= limit
            paged += page
        assert paged == whole
        with pytest.raises(InvalidInput, match="limit must be a whole number"):
            mesh.care.namespaces(limit=0)


def test_a_listing_reads_page_after_page(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PAGE_NAMES", 2)
    files = Files(store / "namespaces")
    names = files.names()
    assert [next(names), next(names)] == ["Odd, name", "default"]
    for name in ("second", "first"):
        care.delete_namespace(store, name)
    added(store, "gamma", "made between two pages")
    assert list(names) == ["gamma", "third", "user.ann"]
    assert list(files.names("default", 1)) == ["gamma"]
    files.close()


def test_what_lies_in_a_folder_of_other_names_is_none_of_ours(store: Path) -> None:
    path = copies.place(store, "second")
    other = store / "namespaces" / ("00" if path.parent.name != "00" else "01")
    other.mkdir(exist_ok=True)
    path.rename(other / path.name)
    path.with_suffix(".head").unlink()
    with mesh_of(store) as mesh:
        assert "second" not in mesh.care.namespaces()


def test_processes_of_two_minds_make_one_file(tmp_path: Path) -> None:
    """At the bound one process finds room in the flat folder when the other no longer does."""
    for round_ in range(5):
        folder = tmp_path / f"store{round_}"
        start = time.time() + 0.1
        children = [Child(_add_at, folder, start, who) for who in range(4)]
        told = sorted(text for child in children for text in child.result())
        assert len(databases(folder)) == 1
        assert call(texts, folder, "new") == told


def _add_at(folder: Path, start: float, who: int) -> list[str]:
    mesh = mesh_of(folder, "new", (0, 1_000)[who % 2])
    time.sleep(max(0.0, start - time.time()))
    written = [f"process {who} number {number}" for number in range(3)]
    for text in written:
        mesh.add(text)
    return written


def test_a_kill_while_the_first_folder_is_made_leaves_one_namespace_or_none(tmp_path: Path) -> None:
    template = tmp_path / "template"
    call(added, template, "first", "in the flat folder", 1)
    total = call(_events_of, Path(shutil.copytree(template, tmp_path / "whole")))
    made = set[bool]()
    for point in range(1, total + 1, max(1, total // 10)):
        folder = Path(shutil.copytree(template, tmp_path / f"at{point}"))
        Child(_killed_at, folder, point).join()
        assert all(path.parent.name != "namespaces" for path in folder.rglob("second.db"))
        assert not any(folder.glob("namespaces/??")) or moved_marks.has_folders(folder)
        made.add(len(databases(folder)) > 1)
        call(added, folder, "second", "after the kill", 1)
        assert "after the kill" in call(texts, folder, "second")
        assert len(databases(folder)) == 2
        shutil.rmtree(folder)
    assert made == {True, False}


def _events_of(folder: Path) -> int:
    events = watch(lambda _: None)
    added(folder, "second", "in a folder", 1)
    return len(events)


def _killed_at(folder: Path, point: int) -> None:
    def hear(number: int) -> None:
        if number == point:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(hear)
    added(folder, "second", "in a folder", 1)


def test_a_process_that_saw_no_namespace_sees_the_one_that_is_made_in_a_folder(
    tmp_path: Path,
) -> None:
    added(tmp_path, "default", "flat")
    with mesh_of(tmp_path, "new") as mesh:
        assert mesh.get_all() == []
        call(added, tmp_path, "new", "made by another", 0)
        assert [memory.text for memory in mesh.get_all()] == ["made by another"]
        mesh.add("and written to")
        assert databases(tmp_path)[0].endswith("/new.db")
    assert texts(tmp_path, "new") == ["and written to", "made by another"]


def test_a_deleted_namespace_leaves_nothing_in_either_place(store: Path) -> None:
    left = store / "namespaces" / "second.moved-20261116T000000-ab12.bak"
    left.write_bytes(b"of before")
    gone = care.delete_namespace(store, "second")
    assert gone.memories == 1
    assert not list(store.rglob("second*"))
    care.delete_namespace(store, user="ann")
    assert held(store) == {name: ALL[name] for name in ALL if name not in {"second", "user.ann"}}
    with pytest.raises(NotFound, match=r"Its namespaces are: Odd, name, default, first, third"):
        care.delete_namespace(store, "second")


def test_a_backup_of_a_mixture_restores_anew_and_in_place(store: Path, tmp_path: Path) -> None:
    before = databases(store)
    made = care.backup(store, tmp_path / "backups")
    assert not made.missing
    assert b'"format": 2' in (Path(made.folder) / manifests.FILE).read_bytes()
    care.restore(made.folder, tmp_path / "new")
    assert (databases(tmp_path / "new"), held(tmp_path / "new")) == (before, ALL)
    assert moved_marks.has_folders(tmp_path / "new")
    added(store, "second", "written since")
    done = care.restore(made.folder, store, replace=True)
    assert (databases(store), held(store)) == (before, ALL)
    assert moved_marks.has_folders(store)
    assert moved_marks.has_folders(Path(done.before or ""))
    one = copies.place(Path(made.folder), "second")
    care.restore(one, tmp_path / "one")
    assert held(tmp_path / "one") == {"second": ALL["second"]}


def test_a_backup_of_a_flat_store_is_as_earlier_versions_made_it(tmp_path: Path) -> None:
    added(tmp_path / "store", "default", "flat")
    made = care.backup(tmp_path / "store", tmp_path / "backups")
    assert b'"format": 1' in (Path(made.folder) / manifests.FILE).read_bytes()


def test_an_open_process_follows_a_restore_that_changes_the_place(tmp_path: Path) -> None:
    store = tmp_path / "store"
    call(added, store, "default", "the usual")
    call(added, store, "shop", "flat")
    made = care.backup(store, tmp_path / "backups")
    shutil.rmtree(store / "namespaces")
    call(added, store, "default", "the usual")
    call(added, store, "shop", "in a folder", 0)
    with mesh_of(store, "shop") as mesh:
        assert [memory.text for memory in mesh.get_all()] == ["in a folder"]
        mesh.add("written there")
        call(care.restore, made.folder, store, replace=True)
        assert [memory.text for memory in mesh.get_all()] == ["flat"]
        mesh.add("and goes on")
    assert databases(store) == ["default.db", "shop.db"]
    assert texts(store, "shop") == ["and goes on", "flat"]


def test_a_moved_mixture_is_whole_and_marked_in_both_places(store: Path, tmp_path: Path) -> None:
    before = databases(store)
    done = care.move_store(store, tmp_path / "to")
    assert (databases(tmp_path / "to"), held(tmp_path / "to")) == (before, ALL)
    assert moved_marks.has_folders(tmp_path / "to")
    assert moved_marks.has_folders(Path(done.kept))
    with pytest.raises(StoreWasMoved, match=f"--db-dir {tmp_path / 'to'}"):
        held(store)
    care.move_store(tmp_path / "to", store)
    assert held(store) == ALL
    assert moved_marks.has_folders(store)


def test_a_namespace_in_a_folder_can_be_moved_out_and_back(store: Path, tmp_path: Path) -> None:
    added(tmp_path / "other", "default", "flat")
    care.move_namespace(store, "second", tmp_path / "other")
    assert held(tmp_path / "other")["second"] == ALL["second"]
    with pytest.raises(StoreWasMoved, match="the namespace second was moved"):
        texts(store, "second")
    with pytest.raises(StoreWasMoved, match="the namespace second was moved"):
        added(store, "second", "begun anew")
    care.move_namespace(tmp_path / "other", "second", store)
    assert held(store) == ALL
    care.move_namespace(store, "first", tmp_path / "other")  # from the flat folder
    care.move_namespace(tmp_path / "other", "first", store)
    assert held(store) == ALL


def test_an_archive_goes_out_of_a_folder_and_into_one(store: Path, tmp_path: Path) -> None:
    care.export_archive(store, "second", tmp_path / "a.tar.gz")
    done = care.import_archive(store, tmp_path / "a.tar.gz", into="copy")
    assert done.memories == 1
    assert texts(store, "copy") == ALL["second"]
    assert copies.place(store, "copy").parent.name != "namespaces"
    with pytest.raises(InvalidInput, match="holds memories already"):
        care.import_archive(store, tmp_path / "a.tar.gz")


def test_a_namespace_in_a_folder_is_repaired_and_salvaged(store: Path, tmp_path: Path) -> None:
    assert care.repair(store, "second").verification.ok
    done = care.salvage(store, tmp_path / "saved")
    assert not done.failed
    assert held(tmp_path / "saved") == ALL
    assert moved_marks.has_folders(tmp_path / "saved")


def test_a_look_at_the_store_finds_what_is_missing_in_a_folder(store: Path) -> None:
    assert look(store, besides="default", most=500).wrong == {}
    assert look(store, besides="default", most=2).namespaces == len(ALL) - 1
    copies.place(store, "second").unlink()
    assert list(look(store, besides="default", most=500).wrong) == ["second"]
    with pytest.raises(StoreIsDamaged, match="lacks acknowledged writes"):
        added(store, "second", "in place of what is lost")
    made = care.backup(store, store.parent / "backups")
    assert [name for name, _ in made.missing] == ["second"]


def test_two_databases_of_one_namespace_are_an_error_that_names_both(store: Path) -> None:
    twin, path = store / "namespaces" / "second.db", copies.place(store, "second")
    shutil.copy(path, twin)  # as a version would that knows no folders
    with pytest.raises(StoreIsDamaged, match="two databases of one namespace") as error:
        added(store, "second", "to which of them?")
    assert str(twin) in str(error.value)
    assert str(path) in str(error.value)
    with mesh_of(store, "second") as mesh:
        (finding,) = mesh.care.verify().findings
        assert "two databases" in finding.detail
        twin.unlink()
        assert mesh.care.verify().findings == ()
        assert len(mesh.get_all()) == 1


def test_a_version_that_knows_no_folders_takes_the_mark_for_that_of_a_moved_store(
    store: Path,
) -> None:
    form, at, to = moved_marks.of_store(store).read_text().splitlines()[0].split(" ", 2)
    assert (form, at) == ("v1", "folders-1")
    assert "upgrade: pip install -U memory-mesh" in json.loads(to)
    moved_marks.of_store(store).write_text('v1 folders-2 "of a later version"\n')
    with pytest.raises(StoreIsNewer):
        held(store)


def test_a_lost_mark_is_written_anew_with_the_next_folder(store: Path) -> None:
    moved_marks.of_store(store).unlink()
    assert held(store) == ALL
    call(added, store, "fifth", "at the bound again", len(FLAT))
    assert moved_marks.has_folders(store)
    assert held(store) == {**ALL, "fifth": ["at the bound again"]}
