"""Archives: export and import of a namespace, whole or not at all."""

import json
import os
import random
import shutil
import sqlite3
import sys
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh import care
from memory_mesh.care import archives, backups
from memory_mesh.formats import archive
from memory_mesh.ledgers.sqlite import archive_rows, schema
from memory_mesh.model import Scope, Status
from memory_mesh.model.errors import (
    InvalidInput,
    NotFound,
    StoreError,
    StoreIsDamaged,
    StoreIsNewer,
    StoreWasMoved,
)
from memory_mesh.platform.locks import locked
from memory_mesh.sync import MemoryMesh
from memory_mesh.testing import FrozenClock
from tests.faults.graph_world import TOPICS, Topical
from tests.faults.sample import spread
from tests.until import until, waits_in_line

WORDS = "amber birch cedar delta ember flint grove heath islet jetty knoll ledge".split()  # noqa: SIM905
EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect")


def opened(folder: Path, namespace: str = "default") -> MemoryMesh:
    return MemoryMesh(
        db_dir=folder, namespace=namespace, clock=FrozenClock(), custom_embedder=Topical()
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with some of everything."""
    folder, dice = tmp_path_factory.mktemp("made") / "source", random.Random(17)
    with opened(folder) as mesh:
        ids = [
            str(
                mesh.add(
                    f"{dice.choice(TOPICS)} {' '.join(dice.sample(WORDS, 3))} {number}",
                    tags=["kept"] if number % 3 else [],
                    scope=Scope("atlas") if number % 4 == 0 else None,
                ).id
            )
            for number in range(60)
        ]
        mesh.update(ids[1], content="another wording of the birch")
        mesh.delete(ids[2])
        mesh.pin(ids[3])
        mesh.rate(ids[6], helpful=True)
        mesh.add("write to jane.doe@example.com about the ledge")
        mesh.get(ids[5])
        mesh.care.upkeep()
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "source")


def database(folder: Path, namespace: str = "default") -> Path:
    return folder / "namespaces" / f"{namespace}.db"


def chain(folder: Path, namespace: str = "default") -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database(folder, namespace))) as db:
        return db.execute("SELECT id, prev_hash, hash FROM block ORDER BY position").fetchall()


def answers(folder: Path, namespace: str = "default") -> list[list[tuple[str, float, str]]]:
    dice = random.Random(3)
    asked = [f"{dice.choice(TOPICS)} {' '.join(dice.sample(WORDS, 2))}" for _ in range(50)]
    with opened(folder, namespace) as mesh:
        return [
            [
                (hit.id, hit.score, repr(hit.parts))
                for hit in mesh.search(words, across=("project",), limit=20,
                                       include=list(Status) if number % 5 == 0 else [])
            ]
            for number, words in enumerate(asked)
        ]  # fmt: skip


def test_an_imported_namespace_gives_the_same_answers_and_has_the_same_chain(
    store: Path, tmp_path: Path
) -> None:
    with opened(store) as mesh:
        mesh.care.verify(checkpoint=tmp_path / "checkpoint.json")
    care.export_archive(store, "default", tmp_path / "a.tar.gz", with_vectors=True)
    done = care.import_archive(tmp_path / "target", tmp_path / "a.tar.gz")
    assert (done.namespace, done.memories) == ("default", 61)
    with opened(tmp_path / "target") as mesh:
        assert mesh.care.verify(against=tmp_path / "checkpoint.json").findings == ()
    assert chain(tmp_path / "target") == chain(store)
    assert answers(tmp_path / "target") == answers(store)


@pytest.mark.parametrize("with_vectors", [True, False])
def test_an_export_is_the_same_every_time_and_that_of_an_import_too(
    store: Path, tmp_path: Path, *, with_vectors: bool
) -> None:
    one, two, three = (tmp_path / f"{name}.tar.gz" for name in "abc")
    for folder, path in ((store, one), (store, two)):
        care.export_archive(folder, "default", path, with_vectors=with_vectors)
    care.import_archive(tmp_path / "target", one)
    care.export_archive(tmp_path / "target", "default", three, with_vectors=with_vectors)
    assert one.read_bytes() == two.read_bytes() == three.read_bytes()
    assert one.stat().st_mode & 0o077 == 0


def test_a_flipped_byte_anywhere_and_a_cut_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "source") as mesh:
        mesh.add("one small fact")
    whole = tmp_path / "a.tar.gz"
    care.export_archive(tmp_path / "source", "default", whole)
    data = whole.read_bytes()
    damaged, dice = tmp_path / "b.tar.gz", random.Random(1)
    ends = {*range(40), *range(len(data) - 140, len(data))}  # headers of gzip, and the seal
    for place in sorted(ends | set(range(0, len(data), 13))):
        damaged.write_bytes(
            data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :]
        )
        with pytest.raises(InvalidInput):
            care.import_archive(tmp_path / "target", damaged)
    for length in (*range(0, len(data), 499), len(data) - 1):
        damaged.write_bytes(data[:length])
        with pytest.raises(InvalidInput, match="export it there again"):
            care.import_archive(tmp_path / "target", damaged)
    assert not (tmp_path / "target").exists()


def test_a_killed_import_leaves_no_half_namespace(store: Path, tmp_path: Path) -> None:
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    whole, seen = chain(store), set()
    for at in spread(999, 9):
        target = tmp_path / f"target-{at}"
        ended = killed_at(at, lambda to: care.import_archive(to, tmp_path / "a.tar.gz"), target)
        there = database(target).exists()
        seen.add(there)
        if there:
            assert chain(target) == whole
        elif not ended:
            care.import_archive(target, tmp_path / "a.tar.gz")
            assert chain(target) == whole
            assert not list(target.rglob("*.partial*"))
        if ended:
            break
    assert ended
    assert seen == {True, False}


def killed_at(at: int, act, target: Path) -> bool:
    """Runs a call in a child that ends without a word at its nth step; True if it came through."""
    child = os.fork()
    if not child:
        count = 0

        def hook(event: str, _arguments: object) -> None:
            nonlocal count
            if event in EVENTS:
                count += 1
                if count == at:
                    os._exit(9)

        sys.addaudithook(hook)
        try:
            act(target)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_was_erased_is_not_imported(store: Path, tmp_path: Path) -> None:
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    target = tmp_path / "target"
    backups.record(target, archive_rows.identity_of(database(store)) or "")
    with pytest.raises(StoreError, match="was erased from the store"):
        care.import_archive(target, tmp_path / "a.tar.gz")
    with pytest.raises(StoreError, match="was erased from the store"):
        care.import_archive(target, tmp_path / "a.tar.gz", into="other")
    assert not (target / "namespaces").exists()


def _moved(store: Path, to: Path) -> type[StoreError]:
    care.move_store(store, to)
    return StoreWasMoved


def _erased(store: Path, _: Path) -> type[StoreError]:
    care.delete_namespace(store, "default")
    return StoreError


@pytest.mark.parametrize("happens", [_moved, _erased])
def test_an_import_sees_what_happened_while_it_waited_for_the_folder(
    store: Path, tmp_path: Path, happens: Callable[[Path, Path], type[StoreError]]
) -> None:
    care.export_archive(store, "default", tmp_path / "one.tar.gz")
    with opened(store, "other") as mesh:
        mesh.add("the other namespace")
    lock, failures = store / "namespaces" / archives.IMPORT_LOCK, list[Exception]()

    def imported() -> None:
        try:
            care.import_archive(store, tmp_path / "one.tar.gz", into="copy")
        except Exception as error:  # noqa: BLE001  # whatever it is, the test looks at it
            failures.append(error)

    thread = threading.Thread(target=imported)
    with locked(lock):
        thread.start()
        until(lambda: waits_in_line(lock))
        expected = happens(store, tmp_path / "elsewhere")
    thread.join()
    (failure,) = failures
    assert type(failure) is expected
    assert not database(store, "copy").exists()


def test_a_copy_in_the_same_store_has_an_identity_of_its_own_and_falls_with_the_first(
    store: Path, tmp_path: Path
) -> None:
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    done = care.import_archive(store, tmp_path / "a.tar.gz", into="copy")
    first, copy = (archive_rows.identity_of(database(store, name)) for name in ("default", "copy"))
    assert first != copy
    care.export_archive(store, "copy", tmp_path / "b.tar.gz")
    backups.record(store, first or "")
    with pytest.raises(StoreError, match="was erased"):
        care.import_archive(store, tmp_path / "b.tar.gz", into="third")
    assert "under the name copy new placeholders differ" in done.remarks[0]
    with opened(store, "copy") as mesh:
        assert mesh.care.verify().findings == ()
        mesh.add("a block after those of the old name")
        assert mesh.care.verify().findings == ()
    assert chain(store, "copy")[:-1] == chain(store)


def test_a_namespace_with_memories_is_never_changed(store: Path, tmp_path: Path) -> None:
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    before = chain(store)
    with pytest.raises(InvalidInput, match="--into NAME"):
        care.import_archive(store, tmp_path / "a.tar.gz")
    assert chain(store) == before


def test_an_empty_namespace_that_is_open_elsewhere_is_filled(store: Path, tmp_path: Path) -> None:
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    target = tmp_path / "target"
    target.joinpath("namespaces").mkdir(parents=True)
    with closing(sqlite3.connect(database(target), isolation_level=None)) as db:
        schema.make(db, "default")
        db.execute("PRAGMA journal_mode = WAL")
        care.import_archive(target, tmp_path / "a.tar.gz")
        assert db.execute("SELECT count(*) FROM memory").fetchone() == (61,)
    assert chain(target) == chain(store)


def test_a_log_without_its_database_is_not_played_into_the_import(
    store: Path, tmp_path: Path
) -> None:
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    target = tmp_path / "target"
    target.joinpath("namespaces").mkdir(parents=True)
    database(target).with_name("default.db-wal").write_bytes(b"left behind")
    care.import_archive(target, tmp_path / "a.tar.gz")
    assert chain(target) == chain(store)
    (kept,) = target.rglob("*.lost-*")
    assert kept.read_bytes() == b"left behind"


def rewritten(path: Path, to: Path, change) -> None:
    """A sealed archive whose manifest says something else."""
    with archives.reading(path) as reader, to.open("wb") as file:
        plain = json.loads(archive.written(reader.manifest))
        members = {
            table.file: b"".join(reader.lines(table, lambda: None))
            for table in reader.manifest.tables
        }
        change(plain, members)
        text = json.dumps(plain).encode()
        with archives.writing(file) as writer:
            writer.add("manifest.json", len(text), [text])
            for name, data in members.items():
                writer.add(name, len(data), [data])


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (lambda plain, _: plain.update(format=2), StoreIsNewer, "Upgrade memory-mesh"),
        (lambda plain, _: plain.update(schema=99), StoreIsNewer, "Upgrade memory-mesh"),
        (lambda plain, _: plain["tables"][0]["columns"].append("mood"), StoreIsNewer, "mood"),
        (lambda plain, _: plain["tables"].pop(), InvalidInput, "tables and columns of its schema"),
        (lambda plain, _: plain["tables"][0].update(rows=1), InvalidInput, "not what the manifest"),
        (lambda plain, _: plain.update(position=3), InvalidInput, "chain does not end where"),
        (lambda plain, _: plain.pop("kind"), InvalidInput, "manifest of the archive cannot be"),
        (lambda plain, _: plain.update(kind="a"), InvalidInput, "manifest of the archive cannot"),
    ],
)  # fmt: skip
def test_an_archive_of_another_version_or_that_is_not_whole_is_refused(
    store: Path, tmp_path: Path, change, error: type[Exception], says: str
) -> None:
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    rewritten(tmp_path / "a.tar.gz", tmp_path / "b.tar.gz", change)
    with pytest.raises(error, match=says):
        care.import_archive(tmp_path / "target", tmp_path / "b.tar.gz")
    assert not list((tmp_path / "target").rglob("*.db"))
    assert not list((tmp_path / "target").rglob("*.partial*"))


def test_a_changed_text_breaks_the_chain_of_an_archive_that_is_sealed_anew(
    store: Path, tmp_path: Path
) -> None:
    def change(plain, members) -> None:
        import hashlib

        name = "tables/text.jsonl"
        members[name] = members[name].replace(b"birch", b"beech")
        for table in plain["tables"]:
            if table["file"] == name:
                table["sha256"] = hashlib.sha256(members[name]).hexdigest()

    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    rewritten(tmp_path / "a.tar.gz", tmp_path / "b.tar.gz", change)
    with pytest.raises(InvalidInput, match="is not what was stored"):
        care.import_archive(tmp_path / "target", tmp_path / "b.tar.gz")


def test_a_damaged_namespace_is_not_exported(store: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database(store))) as db:
        db.execute("UPDATE text SET content = 'changed' WHERE number = 7")
        db.commit()
    with pytest.raises(StoreIsDamaged, match="memory-mesh salvage"):
        care.export_archive(store, "default", tmp_path / "a.tar.gz")
    assert not list(tmp_path.glob("a.tar.gz*"))


def test_an_export_names_what_is_missing_and_overwrites_nothing(
    store: Path, tmp_path: Path
) -> None:
    with pytest.raises(NotFound, match="memory-mesh namespaces"):
        care.export_archive(store, "nobody", tmp_path / "a.tar.gz")
    (tmp_path / "a.tar.gz").write_bytes(b"mine")
    with pytest.raises(InvalidInput, match="name another file"):
        care.export_archive(store, "default", tmp_path / "a.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == b"mine"


def test_neither_direction_holds_the_namespace_in_memory(tmp_path: Path) -> None:
    def peak(count: int) -> tuple[int, int]:
        folder, path = tmp_path / f"source-{count}", tmp_path / f"{count}.tar.gz"
        with MemoryMesh(db_dir=folder, clock=FrozenClock()) as mesh:
            mesh.add_many(
                [
                    f"{number} " + " ".join(f"w{number}x{word}" for word in range(400))
                    for number in range(count)
                ]
            )
        tracemalloc.start()
        try:
            care.export_archive(folder, "default", path)
            care.import_archive(tmp_path / f"target-{count}", path)
            return tracemalloc.get_traced_memory()[1], database(folder).stat().st_size
        finally:
            tracemalloc.stop()

    peak(1)  # loads the modules
    (few, small), (many, large) = peak(4), peak(24)
    assert many - few < (large - small) / 8


@pytest.mark.parametrize("end", [".0123456789ab.partial", ".lost-0123456789ab-wal.bak"])
def test_what_a_killed_import_left_goes_with_its_namespace(store: Path, end: str) -> None:
    left = database(store).with_suffix(end)
    left.write_bytes(b"half a namespace")
    care.delete_namespace(store, "default")
    assert not left.exists()


@pytest.mark.parametrize("name", ["my.partial-notes", "draft.partial", "x.0123456789ab.partial"])
def test_an_import_removes_no_namespace_whose_name_looks_like_a_left_file(
    tmp_path: Path, name: str
) -> None:
    with opened(tmp_path / "store", name) as mesh:
        mesh.add("the door is red")
    care.export_archive(tmp_path / "store", name, tmp_path / "a.tar.gz")
    care.import_archive(tmp_path / "store", tmp_path / "a.tar.gz", into="copy")
    for each in (name, "copy"):
        with opened(tmp_path / "store", each) as mesh:
            assert [memory.text for memory in mesh.get_all()] == ["the door is red"]


def test_an_import_fits_into_an_empty_namespace_with_other_pages(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with opened(store) as mesh:
        mesh.add("the door is red")
    care.export_archive(store, "default", tmp_path / "a.tar.gz")
    with closing(sqlite3.connect(database(store, "old"), isolation_level=None)) as db:
        db.execute(f"PRAGMA page_size = {schema.LARGE_PAGE}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE held (number)")  # from here on its pages are what they are
        db.execute("DROP TABLE held")
        schema.make(db, "old", 10)  # a later step would write the file anew
    care.import_archive(store, tmp_path / "a.tar.gz", into="old")
    with opened(store, "old") as mesh:
        assert [memory.text for memory in mesh.get_all()] == ["the door is red"]
        assert mesh.care.verify().ok
