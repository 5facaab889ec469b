"""What a user of a store in PostgreSQL does wrong, or takes for granted, and what it answers."""

from pathlib import Path

import psycopg
import pytest

from memory_mesh import care
from memory_mesh.model.errors import InvalidInput, NotFound, StoreError
from memory_mesh.sync import MemoryMesh
from tests.postgres import SECRET, Server
from tests.surface.command import CommandLine

RAIN = "It rains in Bergen"


@pytest.fixture
def keyed(tmp_path: Path) -> CommandLine:
    """A machine that states the key of `database`."""
    return CommandLine(tmp_path, variables={"MEMORY_MESH_KEY": SECRET.hex()})


def test_a_store_is_not_moved_into_a_folder_that_is_called_like_a_database(
    database: str, keyed: CommandLine
) -> None:
    keyed.stored(RAIN)
    told = keyed("move", "--to", database)
    assert told.code == 1
    assert "memory-mesh export and memory-mesh import" in told.err
    assert RAIN in keyed("list").out


@pytest.mark.parametrize("what", ["backup", "move_store", "salvage", "restore"])
def test_functions_about_folders_refuse_a_database(
    database: str, tmp_path: Path, what: str
) -> None:
    with pytest.raises(InvalidInput, match="is a database: carry a namespace"):
        getattr(care, what)(database, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_user_is_exported_erased_and_not_brought_back_in_python(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_MESH_KEY", SECRET.hex())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with MemoryMesh(database, embedder="none") as mesh:
        mesh.for_user("ada").add(RAIN)
        archive = tmp_path / "ada.tar.gz"
        assert care.export_archive(database, "user.ada", archive).memories == 1
        gone = care.delete_namespace(database, user="ada")
        assert (gone.namespace, gone.memories) == ("user.ada", 1)
        assert mesh.for_user("ada").search("rain") == []
    with pytest.raises(NotFound, match="there is no namespace"):
        care.delete_namespace(database, user="ada")
    with pytest.raises(StoreError, match="stays erased"):
        care.import_archive(database, archive)


def test_pgvector_in_another_schema_is_told_before_anything_is_made(
    postgres: Server, tmp_path: Path
) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute("CREATE DATABASE elsewhere")
    with psycopg.connect(postgres.url("elsewhere"), autocommit=True) as db:
        db.execute("CREATE SCHEMA extensions")
        db.execute("CREATE EXTENSION vector SCHEMA extensions")
        told = CommandLine(tmp_path)("--store", postgres.url("elsewhere"), "setup-server")
        assert told.code == 1
        assert "ALTER EXTENSION vector SET SCHEMA public" in told.err
        assert db.execute("SELECT to_regnamespace('memory_mesh')").fetchone() == (None,)
    postgres.drop("elsewhere")


def test_a_database_without_unicode_is_told_how_to_make_another(
    postgres: Server, tmp_path: Path
) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'")
        told = CommandLine(tmp_path)("--store", postgres.url("plain"), "setup-server")
        assert told.code == 1
        assert "keeps texts as SQL_ASCII" in told.err
        db.execute(told.err.partition("set that up: ")[2].replace(" memory ", " unicode "))
    assert CommandLine(tmp_path)("--store", postgres.url("unicode"), "setup-server").code == 0
    postgres.drop("plain")
    postgres.drop("unicode")


def test_a_slip_in_the_address_is_not_taken_for_a_new_database(
    postgres: Server, tmp_path: Path
) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute("CREATE DATABASE memories")
    cli, right = CommandLine(tmp_path), postgres.url("memories")
    assert cli("--store", right, "setup-server", "--login", "mesh_login").code == 0
    right = postgres.url("memories", "mesh_login")
    told = cli("--store", right.replace("/memories", "/memory"), "list").err
    assert "but for memories: look at the address again" in told
    told = cli("--store", right.replace("host=", "host=/elsewhere"), "list").err
    assert "but for one of the same name at another host or port" in told
    assert cli("--store", f"{right}/", "list").code == 0  # the same folder
    postgres.drop("memories")


def test_settings_of_libpq_are_no_folder(tmp_path: Path) -> None:
    told = CommandLine(tmp_path)("--store", "host=/tmp dbname=memories user=mesh", "list")
    assert told.code == 1
    assert "postgresql://USER@HOST/DATABASE" in told.err


def test_verify_advises_what_a_database_can_do(
    postgres: Server, database: str, keyed: CommandLine
) -> None:
    assert keyed("--store", database, "store", RAIN).code == 0
    with psycopg.connect(database.replace("mesh_login", "postgres"), autocommit=True) as db:
        db.execute("UPDATE memory_mesh.text SET content = 'It snows in Bergen'")
    told = keyed("--store", database, "verify")
    assert told.code == 1
    assert "restore a dump of the database" in told.err
    assert "memory-mesh repair" not in told.err
