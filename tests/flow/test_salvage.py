"""Salvage: what can be read of a damaged store comes back, what cannot is listed."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.care import export_archive, import_archive
from memory_mesh.care.repairs import repair, salvage
from memory_mesh.ledgers.sqlite.schema import PAGE
from memory_mesh.model import Outcome
from memory_mesh.model.care import Salvaged, SalvagedNamespace
from memory_mesh.model.errors import InvalidInput, NotFound
from memory_mesh.sync import MemoryMesh
from tests.faults.sample import spread

COUNT = 40


def _written(folder: Path) -> dict[str, str]:
    """A store with long texts, changed and deleted memories; its visible texts by id."""
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        ids = [
            mesh.add(f"Lamp {number} stands in room {7 * number} " + "and shines " * number).id
            or ""
            for number in range(COUNT)
        ]
        for id_ in ids[::7]:
            mesh.update(id_, f"The lamp of {id_} was moved")
        mesh.delete(ids[3])
        return _texts(mesh)


def _texts(mesh: MemoryMesh) -> dict[str, str]:
    return {memory.id: memory.text for memory in mesh.get_all(limit=1000)}


def _read(folder: Path) -> dict[str, str]:
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        return _texts(mesh)


def _database(folder: Path) -> Path:
    return folder / "namespaces" / "default.db"


def _only(done: Salvaged) -> SalvagedNamespace:
    (namespace,) = done.namespaces
    return namespace


def _change(folder: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(_database(folder).read_bytes())
    change(data)
    _database(folder).write_bytes(data)


def _root(folder: Path, name: str) -> int:
    db = sqlite3.connect(_database(folder))
    try:
        (page,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
        ).fetchone()
    finally:
        db.close()
    return (int(page) - 1) * PAGE


def test_a_whole_store_comes_back_whole_with_its_chain(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")
    done = salvage(tmp_path / "old", tmp_path / "new")
    namespace = _only(done)
    assert done.complete
    assert namespace.chain.kept == namespace.rows["block"]
    assert namespace.chain.breaks_at is None
    assert not namespace.unread
    assert not namespace.rebuilt
    assert namespace.leftovers is None
    assert _read(tmp_path / "new") == texts


def test_writes_behind_a_broken_frame_of_the_log_come_back(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        for number in range(30):
            mesh.add(f"Lamp {number} stands in room {7 * number}")
        texts = _texts(mesh)
        copied = tmp_path / "copy" / "namespaces"
        copied.mkdir(parents=True)
        for suffix in ("", "-wal"):
            part = Path(f"{_database(folder)}{suffix}")
            (copied / part.name).write_bytes(part.read_bytes())
    log = copied / "default.db-wal"
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 4
    log.write_bytes(data)
    namespace = _only(salvage(tmp_path / "copy", tmp_path / "new"))
    assert namespace.verification.ok
    found = _read(tmp_path / "new")
    assert found.items() <= texts.items()
    assert set(texts) - set(found) <= set(namespace.lost)
    assert len(found) >= len(texts) - 1


def test_a_lost_inner_page_loses_no_memory(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")
    start = _root(tmp_path / "old", "text")

    def zero(data: bytearray) -> None:
        assert data[start] == 5  # an inner page of a table
        data[start : start + PAGE] = bytes(PAGE)

    _change(tmp_path / "old", zero)
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert namespace.verification.ok
    assert _read(tmp_path / "new") == texts


def test_a_lost_list_of_tables_loses_no_memory(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")

    def zero(data: bytearray) -> None:
        data[:PAGE] = bytes(PAGE)

    _change(tmp_path / "old", zero)
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert set(texts.values()) <= set(_read(tmp_path / "new").values())  # some have a new id
    assert namespace.verification.ok


@pytest.mark.parametrize("table", ["memory", "observation"])
def test_a_memory_whose_text_is_read_comes_back_without_its_other_rows(
    tmp_path: Path, table: str
) -> None:
    texts = _written(tmp_path / "old")
    db = sqlite3.connect(_database(tmp_path / "old"))
    db.execute(f"DELETE FROM {table} WHERE number BETWEEN 10 AND 20")
    db.commit()
    db.close()
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert namespace.verification.ok
    assert namespace.rebuilt
    assert _read(tmp_path / "new") == texts


def test_a_memory_without_its_version_is_held_back(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")
    with closing(sqlite3.connect(_database(tmp_path / "old"))) as db, db:
        held = {id_ for (id_,) in db.execute(
            "SELECT m.id FROM memory m JOIN version v ON v.memory = m.number "
            "WHERE v.number BETWEEN 10 AND 20 AND v.recorded_until IS NULL")}  # fmt: skip
        db.execute("DELETE FROM version WHERE number BETWEEN 10 AND 20")
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert namespace.verification.ok
    assert {each.id for each in namespace.held_back} == held
    assert _read(tmp_path / "new") == {id_: texts[id_] for id_ in texts if id_ not in held}


def test_a_text_that_is_not_what_was_stored_is_listed_and_not_taken_over(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")
    (id_,) = (id_ for id_, text in texts.items() if text.startswith("Lamp 2 "))

    def flip(data: bytearray) -> None:
        at = data.index(b"Lamp 2 stands")
        data[at] ^= 1

    _change(tmp_path / "old", flip)
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert namespace.lost == (id_,)
    assert any(id_ in unread.memories for unread in namespace.unread)
    assert namespace.verification.ok, namespace.verification.findings
    assert namespace.leftovers is not None
    kept = (tmp_path / "new" / "namespaces" / namespace.leftovers).read_text()
    assert "Mamp 2 stands" in kept
    assert _read(tmp_path / "new") == {key: text for key, text in texts.items() if key != id_}


def test_a_chain_with_a_lost_block_verifies_and_says_so(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")
    db = sqlite3.connect(_database(tmp_path / "old"))
    db.execute("DELETE FROM block WHERE position = 12")
    db.commit()
    db.close()
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert (namespace.chain.kept, namespace.chain.breaks_at) == (11, 12)
    assert namespace.chain.lost == 1
    assert namespace.verification.ok, namespace.verification.findings
    with MemoryMesh(db_dir=tmp_path / "new", embedder="none") as mesh:
        last = [block.entry.metadata for block in mesh.care.blocks(as_owner=True, limit=1000)]
        assert _texts(mesh) == texts
    said = next(each for each in last if each.get("type") == "salvage")
    assert said["blocks_kept"] == 11
    assert said["blocks_lost"] == 1
    assert said["leftovers_sha256"]


def test_random_damage_never_brings_a_wrong_text_and_always_verifies(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")
    whole = _database(tmp_path / "old").read_bytes()
    chosen = random.Random(17)
    for number in range(12):
        data = bytearray(whole)
        if number % 2:
            data[chosen.randrange(len(data))] ^= 1 << chosen.randrange(8)
        else:
            page = chosen.randrange(len(data) // PAGE)
            data[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
        _database(tmp_path / "old").write_bytes(data)
        namespace = _only(salvage(tmp_path / "old", tmp_path / f"new-{number}"))
        found = _read(tmp_path / f"new-{number}")
        assert found.items() <= texts.items(), number
        held = {each.id for each in namespace.held_back}
        assert set(texts) - set(found) <= {*namespace.lost, *held}, number
        assert namespace.known == COUNT, number
        assert namespace.verification.ok, (number, namespace.verification.findings)


def test_the_damaged_store_is_not_changed_and_a_full_folder_is_refused(tmp_path: Path) -> None:
    _written(tmp_path / "old")
    before = _database(tmp_path / "old").read_bytes()
    salvage(tmp_path / "old", tmp_path / "new")
    assert _database(tmp_path / "old").read_bytes() == before
    with pytest.raises(InvalidInput, match="not an empty folder"):
        salvage(tmp_path / "old", tmp_path / "new")
    with pytest.raises(NotFound, match="holds no namespace"):
        salvage(tmp_path / "nothing", tmp_path / "other")


def test_a_memory_whose_id_was_changed_gets_the_id_that_its_block_names(tmp_path: Path) -> None:
    texts = _written(tmp_path / "old")
    db = sqlite3.connect(_database(tmp_path / "old"))
    db.execute("UPDATE memory SET id = replace(id, 'mem_1', 'mem_x') WHERE number = 9")
    db.commit()
    db.close()
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert namespace.verification.ok
    assert _read(tmp_path / "new") == texts


def test_a_namespace_that_was_imported_under_another_name_keeps_its_chain(tmp_path: Path) -> None:
    store, archive = tmp_path / "store", tmp_path / "archive"
    _written(store)
    export_archive(store, "default", archive)
    import_archive(store, archive, into="copy")
    for found in salvage(store, tmp_path / "new").namespaces:
        assert found.chain.breaks_at is None
        assert found.verification.findings == ()
    with closing(sqlite3.connect(store / "namespaces" / "copy.db")) as db, db:
        db.execute("UPDATE store SET position = position - 1")
    assert "the end of the chain and the counter: set right" in (
        repair(store, "copy", accept_loss=True).done
    )


def test_every_memory_of_a_cut_file_is_there_or_listed_as_lost(tmp_path: Path) -> None:
    _written(tmp_path / "old")
    path = _database(tmp_path / "old")
    with MemoryMesh(db_dir=tmp_path / "old", embedder="none") as mesh:
        blocks = mesh.stats().blocks
    cut = path.stat().st_size * 4 // 10 // PAGE * PAGE
    path.write_bytes(path.read_bytes()[:cut])
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    found = _read(tmp_path / "new")
    assert namespace.lost
    indexed = {id_ for one in namespace.unread for id_ in one.memories}
    assert indexed - set(found) <= set(namespace.lost)
    assert not set(namespace.lost) & set(found)
    chain = namespace.chain
    assert chain.kept + chain.sealed_anew + chain.lost == blocks


@pytest.mark.parametrize("left", ["log and head file", "head file"])
def test_a_namespace_whose_database_is_gone_is_not_passed_over(tmp_path: Path, left: str) -> None:
    folder = tmp_path / "old"
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        mesh.view(namespace="work").add("Deploys run on Fridays")
        mesh.add("Lamp 1 stands in room 7")
        copied = tmp_path / "copy"
        shutil.copytree(folder, copied, ignore=shutil.ignore_patterns("*-shm"))
    for suffix in ("", "-wal") if left == "head file" else ("",):
        Path(f"{_database(copied)}{suffix}").unlink()
    done = salvage(copied, tmp_path / "new")
    found = {each.namespace: each for each in done.namespaces}
    assert done.complete == (left != "head file")  # the log holds all of it
    assert found["work"].complete
    assert ("default" in done.failed) == (left == "head file")
    assert len(_read(tmp_path / "new")) == (0 if left == "head file" else 1)


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_in_the_number_of_the_schema_loses_nothing(tmp_path: Path, bit: int) -> None:
    with MemoryMesh(db_dir=tmp_path / "old", embedder="none") as mesh:
        mesh.add("Lamp 1 stands in room 7")

    def flip(data: bytearray) -> None:
        data[63] ^= 1 << bit

    _change(tmp_path / "old", flip)
    namespace = _only(salvage(tmp_path / "old", tmp_path / "new"))
    assert (namespace.memories, namespace.held_back, namespace.lost) == (1, (), ())


@pytest.mark.parametrize("taken_over", [False, True])
def test_salvage_after_a_cut_log_gives_one_moment_and_says_how_many_changes_are_lost(
    tmp_path: Path, *, taken_over: bool
) -> None:
    """Whether SQLite had moved what the log holds to the file, or not."""
    chance, moments, ids = random.Random(7), [dict[str, str]()], list[str]()
    with MemoryMesh(db_dir=tmp_path / "old", embedder="none") as mesh:
        for number in range(COUNT):
            words = f"The lamp {number} was moved" + " and shines" * chance.randint(0, 60)
            if ids and chance.random() < 0.4:
                mesh.update(chance.choice(ids), words)
            elif len(ids) > 3 and chance.random() < 0.2:
                mesh.delete(ids.pop(chance.randrange(len(ids))))
            else:
                ids.append(mesh.add(words).id or "")
            moments.append(_texts(mesh))
        if taken_over:
            with closing(sqlite3.connect(_database(tmp_path / "old"))) as db:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        shutil.copytree(tmp_path / "old", tmp_path / "copy")
    log = Path(f"{_database(tmp_path / 'copy')}-wal")
    data = log.read_bytes()
    for share in spread(13, 3):
        log.write_bytes(data[: len(data) * share // 13 + chance.randrange(1000)])
        to = tmp_path / f"new-{share}"
        done = salvage(tmp_path / "copy", to)
        chain = _only(done).chain
        assert _read(to) == moments[-1 - chain.lost]
        assert done.complete is (chain.lost == 0)
        assert _only(done).held_back == ()
        assert (chain.newest is None) is (chain.lost == COUNT)


def test_salvage_after_a_cut_log_without_a_head_file_says_that_writes_may_be_lost(
    tmp_path: Path,
) -> None:
    with MemoryMesh(db_dir=tmp_path / "old", embedder="none") as mesh:
        for number in range(9):
            mesh.add(f"The lamp {number} was moved")
        shutil.copytree(tmp_path / "old", tmp_path / "copy")
    _database(tmp_path / "copy").with_suffix(".head").unlink()
    log = Path(f"{_database(tmp_path / 'copy')}-wal")
    done = salvage(tmp_path / "copy", tmp_path / "whole")
    assert done.complete
    log.write_bytes(log.read_bytes()[:-3000])
    done = salvage(tmp_path / "copy", tmp_path / "new")
    assert not done.complete
    (unread,) = _only(done).unread
    assert (unread.table, "no head file" in unread.why) == ("log", True)
    assert set(_read(tmp_path / "new").values()) == {f"The lamp {n} was moved" for n in range(8)}


def test_what_was_erased_from_the_store_since_is_left_out(tmp_path: Path) -> None:
    with MemoryMesh(tmp_path / "old", embedder="none") as mesh:
        mesh.erase(mesh.add("Nothing of this is here").id)
        gone = mesh.add("The canary zqcanary9 sings in the shed").id
        kept = mesh.add("Tea is served at four").id
    shutil.copytree(tmp_path / "old", tmp_path / "copy")
    with MemoryMesh(tmp_path / "old", embedder="none") as mesh:
        mesh.erase(gone)
    shutil.copy(tmp_path / "old" / "erasures", tmp_path / "copy" / "erasures")
    namespace = _only(salvage(tmp_path / "copy", tmp_path / "new"))
    assert (namespace.memories, namespace.erased, namespace.lost) == (1, 1, ())
    assert namespace.verification.ok
    with MemoryMesh(tmp_path / "new", embedder="none") as mesh:
        assert [memory.id for memory in mesh.get_all()] == [kept]
        assert mesh.add("The canary zqcanary9 sings in the shed").outcome is Outcome.REFUSED
    files = (path for path in (tmp_path / "new").rglob("*") if path.is_file())
    assert not [path for path in files if b"zqcanary9" in path.read_bytes()]
