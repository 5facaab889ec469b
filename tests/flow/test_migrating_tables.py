"""The original's V1 table becomes V2 (RFC-0011 section 11), and there is a way back for 30 days."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]  # it has no stubs
import pytest

from memory_mesh.compat.rfc11 import migrate
from memory_mesh.compat.rfc11.columns import is_schema_v1, is_schema_v2
from memory_mesh.compat.rfc11.import_ import bring_in
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError
from tests.tables import PROMOTED, V1, V2, connected, entry, read, write

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)


def names(folder: Path, table: str = "memory_entries") -> list[str]:
    found: list[str] = connected(folder).open_table(table).schema.names
    return found


@pytest.fixture
def v1(tmp_path: Path) -> Path:
    rows = [entry(number, f"fact {number}", {"n": number}) for number in range(300)]
    return write(tmp_path / "db", memory_entries=(V1, rows))


@pytest.mark.req("R-000-031", "R-000-243", "R-000-244", "R-000-253", "R-000-266")
def test_a_v1_table_becomes_v2_with_its_rows_and_a_backup(v1, mesh):
    before = read(v1, "memory_entries")
    done = migrate.migrate(v1, now=NOW)
    assert (done.schema, done.changed, done.rows) == ("V2", True, 300)
    assert done.backup_until == NOW + timedelta(days=30)
    assert is_schema_v2(names(v1))
    assert is_schema_v1(names(v1, "memory_entries_v1_backup"))
    nulls = {field.name: None for field in PROMOTED}
    after = read(v1, "memory_entries")
    assert after == [row | nulls for row in before]
    known = V1.names  # a V1 reader asks for these and sees what it saw
    assert [{name: row[name] for name in known} for row in after] == before
    assert read(v1, "memory_entries_v1_backup") == before
    schema = connected(v1).open_table("memory_entries").schema
    assert [(f.name, f.type) for f in schema] == [(f.name, f.type) for f in V2]
    assert bring_in(mesh, v1).memories.stored == 300


@pytest.mark.req("R-000-245")
def test_a_v2_table_is_not_touched(tmp_path):
    folder = write(tmp_path / "db", memory_entries=(V2, [entry(1, "a fact", session_id="s")]))
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = migrate.migrate(folder, now=NOW)
    assert (done.schema, done.changed) == ("V2", False)
    there = {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert there == files.keys()
    assert all(path.read_bytes() == data for path, data in files.items())


def test_the_original_can_go_on_writing_to_a_migrated_table(v1):
    migrate.migrate(v1, now=NOW)
    table = connected(v1).open_table("memory_entries")
    table.add(pa.Table.from_pylist([entry(900, "later", session_id="s")], schema=V2))
    assert table.count_rows() == 301
    assert migrate.migrate(v1, now=NOW).changed is False


@pytest.mark.req("R-000-247")
def test_a_rollback_brings_v1_back_and_keeps_what_was_written_since(v1):
    before = read(v1, "memory_entries")
    migrate.migrate(v1, now=NOW)
    plain = migrate.rollback(v1, now=NOW)
    assert (plain.schema, plain.changed, plain.aside) == ("V1", True, None)
    assert sorted(path.name for path in v1.iterdir() if path.is_dir()) == ["memory_entries.lance"]
    migrate.migrate(v1, now=NOW)
    connected(v1).open_table("memory_entries").add(
        pa.Table.from_pylist([entry(900, "later", session_id="s")], schema=V2)
    )
    done = migrate.rollback(v1, now=NOW)
    assert read(v1, "memory_entries") == before
    assert done.aside is not None
    assert len(read(v1, done.aside)) == 301
    assert migrate.rollback(v1, now=NOW).changed is False


@pytest.mark.req("R-000-247")
def test_the_backup_is_purged_only_when_asked_and_after_thirty_days(v1):
    with pytest.raises(NotFound):
        migrate.purge(v1, now=NOW)
    migrate.migrate(v1, now=NOW)
    with pytest.raises(InvalidInput, match="2026-05-01"):
        migrate.purge(v1, now=NOW + timedelta(days=29, hours=23))
    assert migrate.migrate(v1, now=NOW + timedelta(days=90)).backup_until is not None
    assert (v1 / "memory_entries_v1_backup.lance").exists()
    migrate.purge(v1, now=NOW + timedelta(days=30))
    assert sorted(path.name for path in v1.iterdir() if path.is_dir()) == ["memory_entries.lance"]
    with pytest.raises(NotFound, match="backup"):
        migrate.rollback(v1, now=NOW)


def half_way(folder: Path) -> None:
    """As a process leaves it that is killed between the two renames."""
    migrate.migrate(folder, now=NOW)
    work = folder / migrate.WORK
    shutil.move(folder / "memory_entries.lance", work / "copy.lance")
    journal = json.loads((work / "journal.json").read_text())
    (work / "journal.json").write_text(json.dumps(journal | {"step": "copied", "at": None}))


def test_an_empty_table_made_half_way_is_in_nobodys_way_and_a_full_one_is_left_alone(v1, mesh):
    half_way(v1)
    with pytest.raises(NotFound, match="migrate-tables"):
        bring_in(mesh, v1)
    write(v1, memory_entries=(V1, []))
    assert migrate.migrate(v1, now=NOW).rows == 300
    migrate.rollback(v1, now=NOW)
    half_way(v1)
    write(v1, memory_entries=(V1, [entry(1, "new")]))
    for verb in (migrate.migrate, migrate.rollback):
        with pytest.raises(StoreError, match="move"):
            verb(v1, now=NOW)
    assert len(read(v1, "memory_entries")) == 1
    shutil.rmtree(v1 / "memory_entries.lance")
    assert migrate.rollback(v1, now=NOW).rows == 300


def test_a_second_backup_is_never_written_over_the_first(v1):
    write(v1, memory_entries_v1_backup=(V1, []))
    with pytest.raises(StoreError, match="v1_backup"):
        migrate.migrate(v1, now=NOW)
    assert is_schema_v1(names(v1))
