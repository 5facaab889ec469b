"""A file of Memory Lane that somebody made to harm: nothing in it acts, and no read hangs."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memory_mesh.compat.lane import import_
from memory_mesh.compat.lane.import_ import bring_in_lane
from memory_mesh.model import Channel
from memory_mesh.model.errors import InvalidInput, NotFound, StoreIsDamaged
from memory_mesh.sync import MemoryMesh

TABLE = "CREATE TABLE memories (id TEXT, content TEXT, created_at TEXT)"
ROW = "INSERT INTO memories VALUES ('m1', 'The deploy port is 8080.', '2026-01-01T00:00:00Z')"


@pytest.fixture
def mesh(tmp_path):
    with MemoryMesh(db_dir=tmp_path / "store", channel=Channel.IMPORT) as opened:
        yield opened


def made(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)
    return path


def test_a_plain_file_is_read(mesh, tmp_path):
    assert bring_in_lane(mesh, made(tmp_path / "a.db", TABLE, ROW)).stored == 1


def test_a_view_in_the_place_of_the_table_is_not_read(mesh, tmp_path):
    endless = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT x AS id, x AS content, x AS created_at FROM n"
    )
    file = made(tmp_path / "a.db", f"CREATE VIEW memories AS {endless}")
    with pytest.raises(NotFound):
        bring_in_lane(mesh, file)


def test_a_generated_column_that_works_for_ever_is_stopped(mesh, tmp_path, monkeypatch):
    monkeypatch.setattr(import_, "STEPS", 2_000)
    monkeypatch.setattr(import_, "_EACH", 1_000)
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) "
    fill = f"INSERT INTO memories {many} SELECT x, 'a', 5000 - x FROM n"
    file = made(tmp_path / "a.db", TABLE, fill)
    with pytest.raises(StoreIsDamaged, match="too many steps"):
        bring_in_lane(mesh, file)


@pytest.mark.parametrize("call", ["upper('a')", "zeroblob(900000000)"])
def test_a_column_that_calls_a_function_is_not_computed(mesh, tmp_path, call):
    table = f"{TABLE[:-1]}, metadata TEXT GENERATED ALWAYS AS ({call}) VIRTUAL)"
    row = ROW.replace("memories", "memories (id, content, created_at)")
    file = made(tmp_path / "a.db", table, row)
    assert bring_in_lane(mesh, file).stored == 1
    with import_.opened(file, "memories") as opened:
        assert "metadata" not in opened.columns()


def test_a_value_that_is_too_large_is_refused(mesh, tmp_path, monkeypatch):
    monkeypatch.setattr(import_, "MAX_VALUE_BYTES", 10_000)
    row = "INSERT INTO memories VALUES ('m1', hex(zeroblob(20000)), '2026-01-01')"
    with pytest.raises(StoreIsDamaged):
        bring_in_lane(mesh, made(tmp_path / "a.db", TABLE, row))


def test_a_file_that_is_too_large_is_not_opened(mesh, tmp_path, monkeypatch):
    monkeypatch.setattr(import_, "MAX_BYTES", 100)
    with pytest.raises(InvalidInput, match="not read"):
        bring_in_lane(mesh, made(tmp_path / "a.db", TABLE, ROW))


def test_only_the_named_table_is_read(tmp_path):
    file = made(tmp_path / "a.db", TABLE, "CREATE TABLE secrets (x TEXT)")
    with import_.opened(file, "memories") as opened:
        assert opened.columns() == {"id", "content", "created_at"}
        for statement in (
            "SELECT x FROM secrets",
            "ATTACH ':memory:' AS other",
            "PRAGMA writable_schema = ON",
            "DELETE FROM memories",
            "CREATE TABLE b (x)",
            "SELECT load_extension('x')",
        ):
            with pytest.raises(sqlite3.Error):
                opened._db.execute(statement).fetchall()


def test_a_damaged_file_says_so(mesh, tmp_path):
    file = tmp_path / "a.db"
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    with pytest.raises(StoreIsDamaged):
        bring_in_lane(mesh, file)
