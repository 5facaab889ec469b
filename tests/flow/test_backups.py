"""Backups and their restoring, on real stores."""

import math
import multiprocessing
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.base.typed import replace
from memory_mesh.care import backups as care_backups, manifest as manifests, store_files
from memory_mesh.care.sqlite import copies
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.model import Lens, Question
from memory_mesh.model.care import Backup
from memory_mesh.model.errors import (
    BackupIsDamaged,
    InvalidInput,
    NotFound,
    StoreError,
    StoreIsDamaged,
)
from memory_mesh.platform.locks import locked
from memory_mesh.search.nearest import nearest
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.flow.angles import SPACE, Angles
from tests.stores import unpacked

NOW = datetime(2026, 11, 16, 20, 30, tzinfo=UTC)
DARK, TEA = "The user prefers dark themes", "Tea is served at four"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two namespaces."""
    folder = tmp_path / "store"
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        mesh.add(DARK)
        mesh.for_user("ann").add(TEA)
    return folder


def backed_up(store: Path, *, days: int = 0, keep: int | None = None) -> Backup:
    clock = FrozenClock(NOW + timedelta(days=days))
    return care.backup(store, store.parent / "backups", keep=keep, clock=clock)


def texts(store: Path, user: str | None = None) -> list[str]:
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        whose = mesh if user is None else mesh.for_user(user)
        return [memory.text for memory in whose.get_all()]


def added(store: Path, text: str) -> None:
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        mesh.add(text)


# --- backup ---------------------------------------------------------------------------------------


def test_a_backup_is_a_folder_of_its_time_that_restores_to_the_same_store(store: Path) -> None:
    done = backed_up(store)
    assert Path(done.folder) == store.parent / "backups" / "20261116T203000Z"
    assert done.ok
    assert [kept.namespace for kept in done.namespaces] == ["default", "user.ann"]
    assert not [
        path for path in Path(done.folder).rglob("*") if path.name.endswith(("-wal", ".partial"))
    ]
    restored = care.restore(done.folder, store.parent / "new")
    assert restored.before is None
    assert texts(store.parent / "new") == [DARK]
    assert texts(store.parent / "new", "ann") == [TEA]
    with MemoryMesh(db_dir=store.parent / "new", embedder="none") as mesh:
        assert mesh.care.verify().ok


def test_a_copy_is_of_one_moment_while_others_write_between_its_steps(store: Path) -> None:
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        mesh.add_many([f"{number} " + "word " * 2000 for number in range(200)])
        steps = 0

        def write_meanwhile(_done: int, _pages: int) -> None:
            nonlocal steps
            steps += 1
            mesh.add(f"written while step {steps} was copied")

        source = copies.place(store, "default")
        before = copies.standing(source)
        kept = copies.copied(source, store.parent / "copy.db", write_meanwhile)
    assert kept == before == copies.standing(store.parent / "copy.db")
    assert 1 < steps < 50  # it never began anew


def test_two_backups_of_one_second_have_two_names(store: Path) -> None:
    names = [Path(backed_up(store).folder).name for _ in range(3)]
    assert names == ["20261116T203000Z", "20261116T203000Z-2", "20261116T203000Z-3"]


def test_keep_removes_older_backups_of_this_store_and_nothing_else(
    store: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    added(other, "of another store")
    clock = FrozenClock(NOW - timedelta(days=9))
    theirs = care.backup(other, tmp_path / "backups", clock=clock)
    (tmp_path / "backups" / "20200101T000000Z").mkdir()
    (tmp_path / "backups" / "notes").mkdir()
    for days in range(4):
        done = backed_up(store, days=days, keep=2)
    assert done.removed == ("20261117T203000Z",)
    left = sorted(path.name for path in (tmp_path / "backups").iterdir())
    assert left == [
        "20200101T000000Z",
        Path(theirs.folder).name,
        "20261118T203000Z",
        "20261119T203000Z",
        "notes",
    ]


def test_a_damaged_namespace_is_named_and_removes_no_older_backup(store: Path) -> None:
    backed_up(store)
    with closing(sqlite3.connect(copies.place(store, "default"))) as db, db:
        db.execute("UPDATE text SET content = 'changed behind its back'")
    done = backed_up(store, days=1, keep=1)
    assert not done.ok
    assert done.removed == ()
    assert [bool(kept.findings) for kept in done.namespaces] == [True, False]
    with pytest.raises(BackupIsDamaged, match="damaged copy of the namespace default"):
        care.restore(done.folder, store.parent / "new")
    assert not (store.parent / "new").exists()


def test_a_namespace_that_cannot_be_read_does_not_keep_the_others_out(store: Path) -> None:
    copies.place(store, "default").write_bytes(b"no database at all" * 1000)
    done = backed_up(store)
    assert not done.ok
    assert [name for name, _ in done.missing] == ["default"]
    assert care.restore(done.folder, store.parent / "new").missing == ("default",)


def test_a_namespace_that_lacks_writes_is_named_and_removes_no_older_backup(store: Path) -> None:
    database = copies.place(store, "default")
    older = database.read_bytes()
    added(store, "written after the copy")
    backed_up(store)
    database.write_bytes(older)
    done = backed_up(store, days=1, keep=1)
    (found,) = next(kept for kept in done.namespaces if kept.namespace == "default").findings
    assert "lacks acknowledged writes" in found
    assert done.removed == ()


@pytest.mark.parametrize("how", [lambda path: os.truncate(path, 0), Path.unlink])
def test_a_namespace_that_was_emptied_is_missing_and_removes_no_older_backup(
    store: Path, how: Callable[[Path], None]
) -> None:
    backed_up(store)
    how(copies.place(store, "default"))
    done = backed_up(store, days=1, keep=1)
    assert [name for name, _ in done.missing] == ["default"]
    assert "lacks acknowledged writes" in done.missing[0][1]
    assert done.removed == ()
    shutil.rmtree(store.parent / "backups")
    for other in copies.files(store).values():
        how(other)
    with pytest.raises(StoreIsDamaged, match="lacks acknowledged writes"):
        backed_up(store)


def test_a_backup_holds_the_archives_of_the_system_memory_and_no_keys(store: Path) -> None:
    (store / "system").mkdir()
    (store / "system" / "memory_log.0001.md.gz").write_bytes(b"archived")
    (store / "models").mkdir()
    done = Path(backed_up(store).folder)
    names = {path.relative_to(done).as_posix() for path in done.rglob("*") if path.is_file()}
    assert names == {
        "manifest.json", "identity", "namespaces/default.db", "namespaces/user.ann.db",
        "system/memory_log.0001.md.gz",
    }  # fmt: skip
    care.restore(done, store.parent / "new")
    assert (store.parent / "new/system/memory_log.0001.md.gz").read_bytes() == b"archived"


def test_what_cannot_be_backed_up_is_refused_with_what_to_do(store: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="Check --db-dir"):
        care.backup(tmp_path / "nothing", tmp_path / "backups")
    with pytest.raises(InvalidInput, match="inside the store"):
        care.backup(store, store / "backups")
    with pytest.raises(InvalidInput, match="1 or more"):
        care.backup(store, tmp_path / "backups", keep=0)
    assert not (tmp_path / "backups").exists()


# --- restore --------------------------------------------------------------------------------------


def test_in_place_the_store_that_was_there_is_put_aside_whole(store: Path) -> None:
    done = backed_up(store)
    added(store, "written after the backup")
    (store / "models").mkdir()
    with pytest.raises(StoreError, match="--replace"):
        care.restore(done.folder, store)
    restored = care.restore(done.folder, store, replace=True, clock=FrozenClock(NOW))
    assert restored.before == f"{store}.before-restore-20261116T203000Z"
    assert texts(store) == [DARK]
    assert sorted(texts(Path(restored.before))) == sorted([DARK, "written after the backup"])
    assert (store / "models").is_dir()
    assert (store / "identity").read_bytes() == (Path(restored.before) / "identity").read_bytes()


def test_a_process_that_lives_through_a_restore_writes_to_the_restored_store(store: Path) -> None:
    done = backed_up(store)
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        mesh.add("lost by the restore")
        care.restore(done.folder, store, replace=True)
        mesh.add("written by a process that had the old store open")
    assert sorted(texts(store)) == [DARK, "written by a process that had the old store open"]
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        assert mesh.care.verify().ok


def test_a_process_that_lives_through_a_restore_forgets_what_it_found_before(store: Path) -> None:
    done = backed_up(store)
    with MemoryMesh(db_dir=store, embedder="none") as mesh:
        mesh.add("Dogs chew bones")
        assert mesh.search("chew bones")
        care.restore(done.folder, store, replace=True)
        mesh.add("Parliament passed the bill")
        assert mesh.search("chew bones") == []


def test_a_process_that_lives_through_a_restore_forgets_the_vectors_it_held(tmp_path: Path) -> None:
    folder, asked = tmp_path / "store", Angles().embed(["at 80"]).vectors[0][0]
    ledger = SqliteLedger(folder, FrozenClock(NOW))

    def cosine() -> float:
        with ledger.read("default") as snapshot:
            question = Question(SPACE, asked, 1)
            return nearest(snapshot, question, Lens(datetime.now(UTC))).found[0].cosine

    with closing(ledger), MemoryMesh(db_dir=folder, custom_embedder=Angles()) as mesh:
        mesh.add("Tea is served at 0")
        done = backed_up(folder)
        mesh.add("Dogs chew bones at 40")
        assert cosine() == pytest.approx(math.cos(math.radians(40)), abs=0.001)
        care.restore(done.folder, folder, replace=True)
        mesh.add("Parliament passed the bill at 80")
        assert cosine() == pytest.approx(1.0, abs=0.001)


def test_the_lock_files_are_the_same_before_and_after(store: Path) -> None:
    done = backed_up(store)
    lock = copies.place(store, "default").with_suffix(".lock")
    before = lock.stat().st_ino
    care.restore(done.folder, store, replace=True)
    assert lock.stat().st_ino == before


@pytest.mark.parametrize("there", ["nothing", "a folder", "a namespace that is empty"])
def test_a_store_that_begins_while_a_backup_is_restored_is_not_put_aside(
    store: Path, tmp_path: Path, there: str
) -> None:
    made, to = backed_up(store), tmp_path / "new"
    if there != "nothing":
        (to / "models").mkdir(parents=True)
    if there == "a namespace that is empty":
        (to / "namespaces").mkdir()
        (to / "namespaces" / "default.db").touch()
    with pytest.raises(StoreError):
        care.restore(
            made.folder, to, tell=lambda said: added(to, "begun meanwhile") if said else None
        )
    assert set(texts(to)) == {"begun meanwhile"}
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("new")] == ["new"]


def test_another_store_is_never_replaced(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    added(other, "of another store")
    backed_up(other)
    done = care.backup(store, tmp_path / "more")
    with pytest.raises(StoreError, match="another store"):
        care.restore(done.folder, other, replace=True)
    assert texts(other) == ["of another store"]


@pytest.mark.parametrize(
    "change",
    [
        lambda backup: (backup / "manifest.json").unlink(),
        lambda backup: (backup / "identity").unlink(),
        lambda backup: _flip(backup / "namespaces/default.db", 5000),
        lambda backup: _flip(backup / "manifest.json", 40),
        lambda backup: os.truncate(backup / "namespaces/default.db", 8192),
        lambda backup: _swap(backup / "namespaces/default.db", backup / "namespaces/user.ann.db"),
    ],
)
def test_a_backup_that_is_not_what_was_written_is_never_restored(
    store: Path, change: Callable[[Path], None]
) -> None:
    backup = Path(backed_up(store).folder)
    change(backup)
    with pytest.raises(BackupIsDamaged):
        care.restore(backup, store.parent / "new")
    with pytest.raises(BackupIsDamaged):
        care.restore(backup, store, replace=True)
    assert sorted(path.name for path in store.parent.iterdir()) == ["backups", "store"]
    assert texts(store) == [DARK]


def test_a_manifest_whose_namespace_stands_elsewhere_is_refused(store: Path) -> None:
    backup = Path(backed_up(store).folder)
    with closing(sqlite3.connect(backup / "namespaces/default.db")) as db, db:
        db.execute("UPDATE store SET seq = seq + 1")
    found = manifests.read(backup)
    names = [held.name for held in found.files]
    files = tuple(manifests.held(backup, name) for name in names)
    manifests.write(backup, replace(found, files=files))
    with pytest.raises(BackupIsDamaged, match="does not stand where the manifest says"):
        care.restore(backup, store.parent / "new")


def test_what_was_erased_since_does_not_come_back(store: Path) -> None:
    done = backed_up(store)
    ann = next(kept for kept in done.namespaces if kept.namespace == "user.ann")
    care_backups.record(store, ann.identity)
    beside = care.restore(done.folder, store.parent / "new", known=store)
    assert beside.erased == ("user.ann",)
    assert texts(store.parent / "new", "ann") == []
    assert care_backups.is_erased(store.parent / "new", ann.identity)
    assert care.restore(done.folder, store, replace=True).erased == ("user.ann",)
    assert texts(store, "ann") == []
    with pytest.raises(StoreError, match="deleted since"):
        care.restore(
            Path(done.folder) / "namespaces/user.ann.db", store.parent / "one", known=store
        )


def test_a_single_file_becomes_a_store_of_its_own(store: Path) -> None:
    backed_up(store)  # which gives the store its identity
    one = care.restore(copies.place(store, "user.ann"), store.parent / "one")
    assert [kept.namespace for kept in one.namespaces] == ["user.ann"]
    assert texts(store.parent / "one", "ann") == [TEA]
    assert (store.parent / "one/identity").read_bytes() == (store / "identity").read_bytes()
    with pytest.raises(StoreError, match="new folder"):
        care.restore(copies.place(store, "user.ann"), store.parent / "one")


def test_a_backup_of_an_earlier_schema_is_verified_and_stays_as_it_is(tmp_path: Path) -> None:
    store = tmp_path / "store"
    unpacked("schema-7-analyzer-2", store)
    done = backed_up(store)
    assert done.ok
    restored = care.restore(done.folder, tmp_path / "new")
    assert [kept.schema for kept in restored.namespaces] == [7]
    assert copies.standing(copies.place(tmp_path / "new", "default")).schema == 7
    assert texts(tmp_path / "new") == texts(store)


# --- kills ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["schema-1-analyzer-1", "schema-10-analyzer-2"])
def test_a_process_lives_through_the_restore_of_an_earlier_schema(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "store"
    unpacked(name, folder)
    done = backed_up(folder)
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        before = len(mesh.get_all())
        mesh.add("lost by the restore")
        care.restore(done.folder, folder, replace=True)
        assert len(mesh.get_all()) == before


def test_what_a_killed_backup_left_is_told_and_removed_but_no_living_one(store: Path) -> None:
    backups = store.parent / "backups"
    process = multiprocessing.get_context("fork").Process(target=_stage_and_die, args=(backups,))
    process.start()
    process.join()
    (left,) = backups.iterdir()
    with store_files.staged(backups, "20261116T000000Z") as alive:
        done = backed_up(store)
        assert alive.is_dir()
    assert done.swept == (left.name,)
    assert [path.name for path in backups.iterdir()] == ["20261116T203000Z"]


def test_a_folder_is_swept_under_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / f"backup.partial-{'0' * 12}"
    left.mkdir()
    (left / store_files.MARK).touch()
    remove, free = store_files._remove, []

    def looked(folder: Path) -> None:
        with locked(folder / store_files.MARK, wait=False) as found:
            free.append(found)
        remove(folder)

    monkeypatch.setattr(store_files, "_remove", looked)
    assert store_files.sweep(tmp_path, "backup".__eq__) == [left.name]
    assert free == [False]


def test_a_folder_that_only_looks_alike_is_left_alone(store: Path) -> None:
    mine = store.parent / "backups" / "20261116T000000Z.partial-0123456789ab"
    mine.mkdir(parents=True)
    (mine / "a file of mine").touch()
    assert backed_up(store).swept == ()
    assert (mine / "a file of mine").exists()


@pytest.mark.parametrize("fatal", ["before", "after"])
def test_a_kill_around_the_exchange_leaves_the_old_or_the_new_store(
    store: Path, fatal: str
) -> None:
    done = backed_up(store)
    added(store, "written after the backup")
    process = multiprocessing.get_context("fork").Process(
        target=_restore_and_die, args=(done.folder, store, fatal)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    there = sorted(texts(store))
    assert there == ([DARK] if fatal == "after" else sorted([DARK, "written after the backup"]))
    care.restore(done.folder, store, replace=True)
    assert texts(store) == [DARK]
    aside = [path for path in store.parent.iterdir() if ".before-restore-" in path.name]
    assert any("written after the backup" in texts(path) for path in aside)


def _stage_and_die(place: Path) -> None:
    with store_files.staged(place, "20261115T000000Z") as folder:
        (folder / "namespaces").mkdir()
        os.kill(os.getpid(), signal.SIGKILL)


def _restore_and_die(source: str, store: Path, fatal: str) -> None:
    """Dies when the lock files are linked, or at the sync that follows the exchange."""
    linked = False

    def hear(event: str, args: tuple[object, ...]) -> None:
        nonlocal linked
        linked = linked or event == "os.link"
        after = linked and event == "open" and str(args[0]) == str(store)
        if after or (event == "os.link" and fatal == "before"):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)
    care.restore(source, store, replace=True)


def _flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def _swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def test_another_store_that_has_no_identity_yet_is_not_replaced(
    store: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    added(other, "of another store")
    with pytest.raises(StoreError, match="another store"):
        care.restore(backed_up(store).folder, other, replace=True)
    assert texts(other) == ["of another store"]
    assert not (other / "identity").exists()


def test_a_store_whose_identity_was_lost_is_replaced_by_its_own_backup(store: Path) -> None:
    done = backed_up(store)
    (store / "identity").unlink()
    care.restore(done.folder, store, replace=True)
    assert texts(store) == [DARK]


def test_what_is_no_backup_is_named_for_what_it_is(store: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is a store and no backup"):
        care.restore(store, tmp_path / "new")
    (tmp_path / "notes.txt").write_text("no database")
    with pytest.raises(BackupIsDamaged, match="no database of a namespace"):
        care.restore(tmp_path / "notes.txt", tmp_path / "new")
    assert not (tmp_path / "new").exists()
