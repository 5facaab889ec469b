"""Repair: what is derived is rebuilt in place, what is not is left to salvage."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.care.repairs import repair
from memory_mesh.ledgers.sqlite.schema import PAGE
from memory_mesh.model.errors import NotFound, StoreIsDamaged, WritesAreMissing
from memory_mesh.sync import MemoryMesh
from tests.stores import NAMES, unpacked


def _written(folder: Path) -> Path:
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        for number in range(30):
            mesh.add(f"Lamp {number} stands in room {7 * number} " + "and shines " * number)
    return folder / "namespaces" / "default.db"


def _found(folder: Path) -> int:
    with MemoryMesh(db_dir=folder, embedder="none") as mesh:
        return len(mesh.search("lamp", limit=100))


def test_keyword_tables_that_were_emptied_are_filled_again(tmp_path: Path) -> None:
    path = _written(tmp_path)
    db = sqlite3.connect(path)
    db.execute("INSERT INTO live (live) VALUES ('delete-all')")
    db.commit()
    db.close()
    assert not _found(tmp_path)
    done = repair(tmp_path, "default")
    assert done.ok, done.verification.findings
    assert any("keyword tables" in sentence for sentence in done.done)
    assert _found(tmp_path) == 30


@pytest.mark.parametrize("table", ["live_data", "live_idx", "live_docsize", "metadata_mark"])
def test_pages_of_keyword_tables_and_indexes_that_cannot_be_read_are_made_anew(
    tmp_path: Path, table: str
) -> None:
    path = _written(tmp_path)
    db = sqlite3.connect(path)
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    db.close()
    data = bytearray(path.read_bytes())
    data[(root - 1) * PAGE : root * PAGE] = b"\xff" * PAGE
    path.write_bytes(data)
    done = repair(tmp_path, "default")
    assert done.ok, done.verification.findings
    assert _found(tmp_path) == 30


def test_counters_are_set_to_what_the_rows_say(tmp_path: Path) -> None:
    path = _written(tmp_path)
    db = sqlite3.connect(path)
    db.execute("UPDATE store SET seq = 3, position = 2")
    db.commit()
    db.close()
    path.with_suffix(".head").unlink()
    done = repair(tmp_path, "default")
    assert done.ok, done.verification.findings
    assert any("counter" in sentence for sentence in done.done)


def test_lost_writes_are_accepted_on_purpose_only(tmp_path: Path) -> None:
    path = _written(tmp_path)
    older = path.read_bytes()
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        mesh.add("One lamp more")
    path.write_bytes(older)
    with pytest.raises(WritesAreMissing, match="repair --accept-loss"):
        repair(tmp_path, "default")
    done = repair(tmp_path, "default", accept_loss=True)
    assert done.lost == "the write with seq 31 is gone"
    assert _found(tmp_path) == 30


def test_what_is_not_derived_is_left_to_salvage(tmp_path: Path) -> None:
    path = _written(tmp_path)
    db = sqlite3.connect(path)
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'text'").fetchone()
    db.close()
    data = bytearray(path.read_bytes())
    data[(root - 1) * PAGE : root * PAGE] = b"\xff" * PAGE
    path.write_bytes(data)
    with pytest.raises(StoreIsDamaged, match="memory-mesh salvage"):
        repair(tmp_path, "default")


def test_a_namespace_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no namespace nobody"):
        repair(tmp_path, "nobody")


def test_an_index_that_lacks_a_row_is_made_anew(tmp_path: Path) -> None:
    path = _written(tmp_path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema = ON")
    (made,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'version_open'").fetchone()
    db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'version_open'",
               (made.replace("IS NULL", "IS NULL AND number <> 5"),))  # fmt: skip
    db.commit()
    db.close()
    db = sqlite3.connect(path)
    db.execute("REINDEX version_open")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'version_open'", (made,))
    db.commit()
    db.close()
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        assert not mesh.care.verify().ok
    done = repair(tmp_path, "default")
    assert done.ok, done.verification.findings


@pytest.mark.parametrize("how", [lambda path: os.truncate(path, 0), Path.unlink])
def test_a_namespace_whose_database_is_gone_or_empty_goes_on_empty_when_that_is_accepted(
    tmp_path: Path, how: Callable[[Path], None]
) -> None:
    path = _written(tmp_path)
    log = path.with_name(f"{path.name}-wal")
    log.write_bytes(b"what salvage may still read")
    how(path)
    with pytest.raises(WritesAreMissing, match="--accept-loss"):
        repair(tmp_path, "default")
    assert log.read_bytes() == b"what salvage may still read"
    assert "are gone" in str(repair(tmp_path, "default", accept_loss=True).lost)
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        assert mesh.get_all() == []
        mesh.add("A new beginning")
        assert mesh.care.verify().ok


@pytest.mark.parametrize("name", NAMES[::4])
def test_a_store_of_an_earlier_schema_is_migrated_and_stays_sound(
    tmp_path: Path, name: str
) -> None:
    unpacked(name, tmp_path / "repaired")
    unpacked(name, tmp_path / "as it was")
    repair(tmp_path / "repaired", "default")
    with (
        MemoryMesh(db_dir=tmp_path / "repaired", embedder="none") as mesh,
        MemoryMesh(db_dir=tmp_path / "as it was", embedder="none") as other,
    ):
        assert mesh.care.verify().findings == other.care.verify().findings
        assert mesh.get_all() == other.get_all()


def test_keyword_tables_are_made_anew_where_the_file_does_not_name_them(tmp_path: Path) -> None:
    path = _written(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE live")
    repair(tmp_path, "default")
    with MemoryMesh(db_dir=tmp_path, embedder="none") as mesh:
        assert mesh.care.verify().ok
