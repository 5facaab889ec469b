"""Keys of a database: in a file, in a variable, or from a command."""

from pathlib import Path

import pytest

from memory_mesh.care.key_file import KeyFile, stated_keys
from memory_mesh.model.errors import InvalidInput, StoreError, WrongKey

SECRET = "5f" * 32


def _keys(tmp_path: Path, **variables: str) -> KeyFile:
    environment = {"HOME": str(tmp_path), **variables}
    return KeyFile.of(tmp_path / "servers" / "memories-1", environment)


def test_a_key_is_64_digits_or_the_lines_of_a_file(tmp_path: Path) -> None:
    assert _keys(tmp_path, MEMORY_MESH_KEY=SECRET).newest.secret.hex() == SECRET
    lines = f"# a comment\na1 {SECRET} 2026-01-01\nb2 {'6a' * 32} 2026-02-02\n"
    assert [key.id for key in _keys(tmp_path, MEMORY_MESH_KEY=lines).keys()] == [  # noqa: SIM118
        "a1",
        "b2",
    ]


def test_a_command_prints_the_key(tmp_path: Path) -> None:
    found = _keys(tmp_path, MEMORY_MESH_KEY_COMMAND=f"printf {SECRET}")
    assert found.newest.secret.hex() == SECRET
    with pytest.raises(WrongKey, match="failed with code 3"):
        _keys(tmp_path, MEMORY_MESH_KEY_COMMAND="sh -c 'exit 3'").keys()
    with pytest.raises(WrongKey, match="cannot be run"):
        _keys(tmp_path, MEMORY_MESH_KEY_COMMAND="no-such-command-anywhere").keys()


def test_a_file_must_be_there_and_be_private(tmp_path: Path) -> None:
    file = tmp_path / "store.key"
    with pytest.raises(WrongKey, match="there is no such file"):
        _keys(tmp_path, MEMORY_MESH_KEY_FILE=str(file)).keys()
    file.write_text(SECRET)
    file.chmod(0o644)
    with pytest.raises(StoreError, match="can be read by others"):
        _keys(tmp_path, MEMORY_MESH_KEY_FILE=str(file)).keys()
    file.chmod(0o600)
    assert _keys(tmp_path, MEMORY_MESH_KEY_FILE=str(file)).newest.secret.hex() == SECRET


@pytest.mark.parametrize("text", ["", "5f5f", "z" * 64, "a1 5f5f 2026-01-01"])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "store.key"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(StoreError):
        _keys(tmp_path, MEMORY_MESH_KEY_FILE=str(file)).keys()


def test_a_stated_key_is_changed_where_it_is_kept(tmp_path: Path) -> None:
    found = _keys(tmp_path, MEMORY_MESH_KEY=SECRET)
    for change in (found.rotate, found.replace):
        with pytest.raises(InvalidInput, match="MEMORY_MESH_KEY"):
            change()


def test_a_store_in_a_folder_keeps_its_own_key(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "MEMORY_MESH_KEY": SECRET}
    assert KeyFile.of(tmp_path / "store", environment).newest.secret.hex() != SECRET
    assert stated_keys({}) is None
