"""A deleted namespace is gone from every file of its store, and nothing brings it back."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.agents.sessions import Session
from memory_mesh.care import backups, moves
from memory_mesh.care.moves import delete_namespace
from memory_mesh.care.sqlite import copies
from memory_mesh.formats.memory_file import MemoryFile
from memory_mesh.ledgers.sqlite.ledger import SqliteLedger
from memory_mesh.mirror import Mirror
from memory_mesh.mirror.store_to_folder import KEPT, append
from memory_mesh.model import Entry, Outcome
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError
from memory_mesh.models.lance.index import IndexFolder
from memory_mesh.platform.locks import FairLock
from memory_mesh.sync import MemoryMesh
from tests.receipts import id_of

WORDS = ("zanzibar", "quixotic", "marmalade")
TEXTS = [f"The {word} plan of the old shop" for word in WORDS]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def filled(store: Path, **which: str) -> str:
    """A namespace with memories, older versions, a skill, deleted ones and use; its first id."""
    with MemoryMesh(db_dir=store, **which) as mesh:  # type: ignore[arg-type]  # names alone
        ids = [id_of(mesh.add(text)) for text in TEXTS]
        mesh.update(ids[1], f"{TEXTS[1]}, changed")
        mesh.delete(ids[2])
        mesh.context(WORDS[0])
        return ids[0]


def holding(store: Path) -> list[str]:
    """The files of a store in which one of the words stands."""
    return [
        str(path)
        for path in store.rglob("*")
        if path.is_file() and any(word.encode() in path.read_bytes() for word in WORDS)
    ]


def identity_of(store: Path, name: str) -> str:
    found = copies.last_look(copies.place(store, name)).identity
    assert found is not None
    return found


def test_a_byte_search_finds_nothing_of_a_deleted_namespace(store: Path) -> None:
    first = filled(store, namespace="shop")
    databases = store / "namespaces"
    beside = (".before-0002-1.bak", ".spool", ".head", ".spool-00ff", ".salvage.jsonl")
    for ending in beside:
        (databases / f"shop{ending}").write_text(TEXTS[0])
    body = IndexFolder(store / "index", "shop", "space").folder
    (body / "_versions").mkdir(parents=True)
    (body / "_versions" / "1.manifest").write_text(TEXTS[1])
    Session.of(store, "host", "one").record(stored=[first], notice=f"kept: {TEXTS[0]}")
    Session.of(store, "host", "two").record(given=["mem_1_abcdef"])
    assert len(holding(store)) >= 6
    gone = delete_namespace(store, "shop")
    assert holding(store) == []
    assert not list(databases.iterdir())
    assert not list((store / "index").iterdir())
    assert len(list((store / "agents" / "sessions").iterdir())) == 1
    assert (gone.namespace, gone.memories, gone.noted) == ("shop", 3, True)


def test_a_users_namespace_goes_and_the_others_stay(store: Path) -> None:
    with MemoryMesh(db_dir=store) as mesh:
        for user in ("Ada Ö", "ada"):
            mesh.for_user(user).add(f"{user} likes {WORDS[0]}")
        assert delete_namespace(store, user="Ada Ö").memories == 1
        assert mesh.users() == ["ada"]
        assert len(mesh.for_user("ada").get_all()) == 1
        assert mesh.for_user("Ada Ö").get_all() == []


def test_the_mirrors_of_a_deleted_user_lose_what_they_hold_of_the_user(
    store: Path, tmp_path: Path
) -> None:
    notes, by_hand = tmp_path / "notes", "The marmalade plan is my own note"
    notes.mkdir()
    (notes / "own.md").write_text(by_hand)
    with MemoryMesh(db_dir=store) as mesh:
        ann = mesh.for_user("ann")
        first, *_ = [id_of(ann.add(text)) for text in TEXTS]
        assert len(Mirror(ann, notes, updates="replace").run().written) == 3
        ann.update(first, f"{TEXTS[0]}, changed")
        Mirror(ann, notes, updates="replace").run()
        assert len(list((notes / KEPT).glob("[!.]*"))) == 1
        (other,) = {path for path in notes.glob("*.md") if WORDS[1] in path.read_text()}
        append(other, MemoryFile("Of another hand", body="Bread is baked at home"))
        id_of(mesh.add("Tea is in the second drawer"))
    gone = delete_namespace(store, user="ann")
    assert holding(tmp_path) == [str(notes / "own.md")]
    assert (notes / "own.md").read_text() == by_hand
    assert "Bread is baked at home" in other.read_text()
    assert gone.left == (f"{notes / 'own.md'} was not written by the mirror",)
    assert sorted(path.name for path in notes.glob("*.md")) == sorted(["own.md", other.name])


def test_what_is_left_of_a_mirror_out_of_reach_is_named(store: Path, tmp_path: Path) -> None:
    away, tracked = tmp_path / "away", tmp_path / "tracked"
    (tracked / ".git").mkdir(parents=True)
    away.mkdir()
    with MemoryMesh(db_dir=store) as mesh:
        ann = mesh.for_user("ann")
        ann.add(TEXTS[0])
        for folder in (away, tracked):
            Mirror(ann, folder).run()
    away.rename(tmp_path / "elsewhere")
    gone = delete_namespace(store, user="ann")
    assert list(tracked.glob("*.md")) == []
    assert sorted(gone.left) == [
        f"{away} is not there; it may hold files of a mirror",
        f"{tracked} is in a git repository, whose history may hold files of a mirror",
    ]


def test_namespaces_whose_names_begin_alike_are_left_alone(store: Path) -> None:
    others = ["shop.db", "shop.before-0001", "shop2", "shop-wal", "shop.lock", "sho"]
    for name in ("shop", *others):
        filled(store, namespace=name)
    (store / "namespaces" / "shop.before-0001.before-0002-7.bak").write_text("of another")
    delete_namespace(store, "shop")
    assert (store / "namespaces" / "shop.before-0001.before-0002-7.bak").exists()
    with MemoryMesh(db_dir=store) as mesh:
        assert mesh.care.namespaces() == sorted(others)
        assert all(len(mesh.view(namespace=name).get_all()) == 2 for name in others)


def test_who_has_it_open_finds_that_it_does_not_exist(store: Path) -> None:
    filled(store, namespace="shop")
    with MemoryMesh(db_dir=store, namespace="shop") as mesh:
        assert len(mesh.get_all()) == 2
        delete_namespace(store, "shop")
        assert mesh.get_all() == []
        assert mesh.search("old shop") == []
        assert mesh.care.namespaces() == []
        assert mesh.add("a new beginning").outcome is Outcome.STORED
        assert [memory.text for memory in mesh.get_all()] == ["a new beginning"]
    assert holding(store) == []
    with MemoryMesh(db_dir=store, namespace="shop") as again:
        assert again.care.verify().ok
        assert len(again.get_all()) == 1


def test_what_others_note_while_it_is_deleted_is_gone_too(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(store, namespace="work")
    index = moves.drop_index

    def meanwhile(folder: Path, name: str) -> int:
        found = [memory.id for memory in mesh.get_all()]
        mesh.search("which secret question")
        mesh.get_many(found)
        mesh._opened().ledger.flush("work")  # to the spool: the namespace is locked
        assert (store / "namespaces" / "work.spool").exists()
        return index(folder, name)

    monkeypatch.setattr(moves, "drop_index", meanwhile)
    with MemoryMesh(db_dir=store, namespace="work", embedder="none") as mesh:
        delete_namespace(store, "work")
    assert list((store / "namespaces").glob("work*")) == []


def test_a_use_of_what_was_just_deleted_makes_no_namespace(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, use = filled(store, namespace="work"), SqliteLedger.use

    def late(ledger: SqliteLedger, namespace: str, ids: Sequence[str], entry: Entry | None) -> None:
        delete_namespace(store, "work")
        use(ledger, namespace, ids, entry)

    with MemoryMesh(db_dir=store, namespace="work") as mesh:
        monkeypatch.setattr(SqliteLedger, "use", late)
        assert len(mesh.get_many([first])) == 1
    assert list((store / "namespaces").glob("work*")) == []


def test_the_erasure_file_names_the_deleted_and_not_one_made_anew(store: Path) -> None:
    filled(store, namespace="shop")
    before = identity_of(store, "shop")
    delete_namespace(store, "shop")
    filled(store, namespace="shop")
    assert backups.is_erased(store, before)
    assert not backups.is_erased(store, identity_of(store, "shop"))


def test_what_is_not_there_is_an_error_that_names_what_is(store: Path) -> None:
    filled(store, namespace="shop")
    with pytest.raises(NotFound, match=r"no namespace store.*shop"):
        delete_namespace(store, "store")
    with pytest.raises(NotFound, match="It has none"):
        delete_namespace(store / "nowhere", "shop")
    with pytest.raises(InvalidInput, match="for_user"):
        delete_namespace(store, "user.ada")
    assert not (store / "nowhere").exists()


def test_who_deletes_a_user_is_told_of_no_other_user(store: Path) -> None:
    filled(store, namespace="shop")
    with MemoryMesh(db_dir=store) as mesh:
        mesh.for_user("bob").add("I live in Oslo.")
    with pytest.raises(NotFound, match=r"the user 'ann' has no memories in ") as told:
        delete_namespace(store, user="ann")
    assert "bob" not in str(told.value)
    with pytest.raises(NotFound, match=r"Its namespaces are: shop$"):
        delete_namespace(store, "shoes")


def test_a_damaged_namespace_is_deleted_too_and_says_what_is_not_noted(store: Path) -> None:
    filled(store, namespace="shop")
    path = copies.place(store, "shop")
    path.with_suffix(".head").unlink(missing_ok=True)
    path.write_bytes(b"no database, " + TEXTS[0].encode())
    gone = delete_namespace(store, "shop")
    assert (gone.memories, gone.noted) == (None, False)
    assert holding(store) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from memory_mesh.care import delete_namespace
left = int(sys.argv[2])
unlink = Path.unlink
def dying(path, *args, **options):
    global left
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    unlink(path, *args, **options)
Path.unlink = dying
delete_namespace(sys.argv[1], "shop")
"""


@pytest.mark.parametrize("steps", range(4))
def test_a_kill_at_any_step_leaves_what_the_next_run_deletes(store: Path, steps: int) -> None:
    filled(store, namespace="shop")
    (store / "namespaces" / "shop.before-0002-1.bak").write_text(TEXTS[0])
    known = identity_of(store, "shop")
    child = subprocess.run(
        [sys.executable, "-c", KILLED, str(store), str(steps)], env=os.environ, check=False
    )
    if copies.namespace_files(store / "namespaces", "shop"):
        assert child.returncode == -signal.SIGKILL
        delete_namespace(store, "shop")
    assert backups.is_erased(store, known)
    assert holding(store) == []
    assert not list((store / "namespaces").iterdir())


def test_a_lock_whose_file_was_removed_locks_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "one.lock"
    first, second = FairLock(path), FairLock(path)
    with first.held():
        pass
    path.unlink()
    with second.held(), pytest.raises(Exception, match="holds"), first.held(0.0):
        pass
    with first.held():
        assert first.leads_to_its_file()
    first.close()
    second.close()


def test_one_who_waits_for_a_lock_that_is_removed_gets_the_new_one(tmp_path: Path) -> None:
    import threading

    path = tmp_path / "one.lock"
    holder, waiter, got = FairLock(path), FairLock(path), threading.Event()

    def wait() -> None:
        with waiter.held(10.0):
            assert waiter.leads_to_its_file()
            got.set()

    thread = threading.Thread(target=wait)
    with holder.held():
        thread.start()
        while not waiter.is_waited_for():
            pass
        path.unlink()
    assert got.wait(10.0)
    thread.join()
    holder.close()
    waiter.close()


def test_a_damaged_line_of_the_erasure_file_lets_nothing_come_back(store: Path) -> None:
    """Neither a restore nor an import takes it for one that was cut short."""
    for name in ("shop", "other"):
        filled(store, namespace=name)
    place = store.parent
    care.export_archive(store, "shop", place / "shop.tar.gz")
    backup = care.backup(store, place / "backups").folder
    delete_namespace(store, "shop")
    path = store / backups.FILE
    data = bytearray(path.read_bytes())
    data[40] ^= 1  # of the hash
    path.write_bytes(data)
    refused = pytest.raises(StoreError, match=f"{path}, line 1 is damaged.*BACKUP/erasures")
    with refused:
        care.import_archive(store, place / "shop.tar.gz")
    with refused:
        care.restore(backup, store, replace=True)
    with refused:
        care.restore(backup, place / "new", known=store)
    with refused:
        care.restore(store / "namespaces/other.db", place / "new")
    with refused:
        care.backup(store, place / "backups")
    delete_namespace(store, "other")
    with MemoryMesh(db_dir=store) as mesh:
        assert "shop" not in mesh.care.namespaces()
    assert not (place / "new").exists()


@pytest.mark.parametrize("id_", ["mem_1767225600000_0a1b2c", "note-7"])
def test_an_id_is_found_beside_the_bytes_that_adjoin_it_in_a_row(store: Path, id_: str) -> None:
    state = store / "mirrors" / "0a.sqlite"
    state.parent.mkdir(parents=True)
    state.write_bytes(f"\x01row{id_}ada-keeps-bees.md".encode())
    assert list(moves.naming(store, frozenset({id_}))) == [state]
    assert list(moves.naming(store, frozenset({"mem_1767225600000_0a1b2d"}))) == []


@pytest.mark.parametrize("made", ["link", "hard link", "copy"])
def test_a_link_or_copy_is_no_namespace_to_delete(store: Path, tmp_path: Path, made: str) -> None:
    filled(store)
    path = copies.place(store, "default")
    odd = path.with_name("odd.db")
    if made == "link":
        odd.symlink_to(path.name)
    elif made == "hard link":
        odd.hardlink_to(path)
    else:
        shutil.copyfile(path, odd)
    with pytest.raises(StoreError, match="move it out of the store"):
        delete_namespace(store, "odd")
    assert not backups.is_erased(store, identity_of(store, "default"))
