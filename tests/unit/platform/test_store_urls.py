"""Names of stores: folders, sqlite:///FOLDER and addresses of databases."""

from pathlib import Path

import pytest

from memory_mesh import config
from memory_mesh.agents.daemon import place
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import store_urls

URL = "postgresql://app@db.example.org/memories"


@pytest.mark.parametrize(
    ("store", "folder"),
    [
        ("notes", "notes"),
        ("/srv/notes", "/srv/notes"),
        ("sqlite:///notes", "notes"),
        ("sqlite:////srv/notes", "/srv/notes"),
        (URL, None),
        ("postgres://app@db/x", None),
    ],
)
def test_a_store_is_in_a_folder_or_a_database(store: str, folder: str | None) -> None:
    assert store_urls.folder_in(store) == folder


@pytest.mark.parametrize("store", ["mysql://db/x", "sqlite://notes", "sqlite:///", "file:///notes"])
def test_another_address_is_refused(store: str) -> None:
    with pytest.raises(InvalidInput):
        store_urls.folder_in(store)


def test_the_folder_of_a_database_is_the_same_for_every_role_and_password() -> None:
    name = store_urls.local_name(URL)
    assert name.startswith("memories-")
    for same in (
        "postgresql://owner:secret@db.example.org/memories",
        "postgresql://db.example.org:5432/memories",
        "postgresql:///memories?host=DB.example.org&user=app",
        "postgres://app@db.example.org/memories?sslmode=require",
    ):
        assert store_urls.local_name(same) == name
    for other in (
        "postgresql://app@db.example.org/notes",
        "postgresql://app@db.example.org:5433/memories",
        "postgresql://app@elsewhere/memories",
    ):
        assert store_urls.local_name(other) != name


def test_an_address_without_a_database_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must name a database"):
        store_urls.local_name("postgresql://app@db")


def test_no_password_is_shown() -> None:
    told = store_urls.shown("postgresql://app:s3cret@db/x?password=s3cret&sslmode=require")
    assert told == "postgresql://app@db/x?sslmode=require"
    assert store_urls.shown(URL) == URL


def _environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(tmp_path), **more}


def test_the_nearer_of_a_store_and_a_folder_counts(tmp_path: Path) -> None:
    far = _environment(tmp_path, MEMORY_MESH_STORE=URL)
    by_option = config.load({"db_dir": str(tmp_path / "mine")}, far)
    assert (by_option.store, by_option.db_dir) == (None, tmp_path / "mine")
    by_variable = config.load({}, far)
    assert by_variable.store == URL
    assert by_variable.origins["store"] == "environment MEMORY_MESH_STORE"
    near = config.load({"store": "sqlite:///notes"}, {**far, "MEMORY_MESH_DIR": "/elsewhere"})
    assert (near.store, near.db_dir, near.origins["db_dir"]) == (None, Path("notes"), "option")


def test_two_folders_in_one_place_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="give one of them"):
        config.load({"store": "notes", "db_dir": "other"}, _environment(tmp_path))


def test_a_database_has_a_folder_of_this_machine(tmp_path: Path) -> None:
    found = config.load({"store": URL}, _environment(tmp_path, MEMORY_MESH_DIR=str(tmp_path)))
    assert found.db_dir == tmp_path / "servers" / store_urls.local_name(URL)
    assert URL not in repr(found)


@pytest.mark.parametrize("written", ["variable", "file"])
@pytest.mark.parametrize("store", [URL, "sqlite:///~/notes", "~/notes"])
def test_agents_find_the_folder_that_the_settings_name(
    tmp_path: Path, written: str, store: str
) -> None:
    environment = _environment(tmp_path)
    if written == "variable":
        environment["MEMORY_MESH_STORE"] = store
    else:
        file = tmp_path / "config.toml"
        file.write_text(f'store = "{store}"\n')
        environment["MEMORY_MESH_CONFIG"] = str(file)
    found = config.load({}, environment)
    assert place.folder_of(environment) == str(found.db_dir.resolve())
