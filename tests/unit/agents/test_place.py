"""Where a daemon listens: as the settings name the store, and where nobody else gets in."""

import os
import stat
from pathlib import Path

import pytest

from memory_mesh import config
from memory_mesh.agents.daemon import place
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform import system

FILES = {
    "none": None,
    "empty": "",
    "plain": 'db_dir = "/data/mesh"\n',
    "literal": "db_dir = '/data/mesh'  # here\n",
    "home": 'db_dir = "~/mesh"\n',
    "relative": 'db_dir = "mesh"\n',
    "escaped": 'db_dir = "/data/\\u006desh"\n',
    "quoted name": '"db_dir" = "/data/mesh"\n',
    "escaped name": '"db\\u005fdir" = "/data/mesh"\n',
    "other first": 'namespace = "work"\ndb_dir="/data/mesh"\n',
    "in a comment": '# db_dir = "/data/no"\n',
    "in a text": 'namespace = """\ndb_dir = "/data/no"\n"""\n',
    "after an array": 'own = 1\n[predicates.likes]\ncardinality = "many"\n',
    "array above": 'private_names = [\n"[x]",\n]\ndb_dir = "/data/mesh"\n',
    "hash inside": 'db_dir = "/data/a#b"\n',
    "with idle": 'daemon_idle_seconds = 5\ndb_dir = "/data/mesh"\n',
}
VARIABLES: tuple[dict[str, str], ...] = (
    {},
    {"MEMORY_MESH_DIR": "/elsewhere/mesh"},
    {"MEMORY_MESH_DIR": "~/mesh"},
    {"MEMORY_MESH_DIR": "mesh"},
    {"MEMORY_MESH_DIR": ""},
    {"XDG_DATA_HOME": "/data/xdg"},
)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("variables", VARIABLES)
def test_the_folder_is_the_one_that_the_settings_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, variables: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"HOME": "/home/somebody", **variables}
    if (text := FILES[file]) is not None:
        path = tmp_path / "config.toml"
        path.write_text(text, encoding="utf-8")
        environment["MEMORY_MESH_CONFIG"] = str(path)
    try:
        expected = config.load({}, environment).db_dir
    except InvalidInput:  # the file is refused as a whole, by whoever opens the store
        return
    assert place.folder_of(environment, str(tmp_path)) == os.path.realpath(expected)


@pytest.mark.parametrize(
    ("file", "variable", "wanted"),
    [
        ("", None, True),
        ("daemon = false", None, False),
        ('daemon = "off"', None, False),
        ("daemon = true", None, True),
        ("daemon = true", "0", False),
        ("daemon = false", "1", True),
        ("daemon_idle_seconds = 3", None, True),
    ],
)
def test_the_daemon_is_wanted_where_the_settings_say_so(tmp_path: Path, file, variable, wanted):
    path = tmp_path / "config.toml"
    path.write_text(file, encoding="utf-8")
    environment = {"HOME": str(tmp_path), "MEMORY_MESH_CONFIG": str(path)}
    if variable is not None:
        environment["MEMORY_MESH_DAEMON"] = variable
    assert place.is_wanted(environment) is config.load({}, environment).daemon is wanted


@pytest.mark.parametrize(("stated", "seconds"), [("30", 30.0), ("0", None), ("soon", None)])
def test_the_idle_time_is_read(stated: str, seconds: float | None) -> None:
    environment = {"HOME": "/nowhere", "MEMORY_MESH_DAEMON_IDLE_SECONDS": stated}
    assert place.idle_seconds(environment) == seconds


def test_the_socket_lies_in_a_folder_of_the_users_own_under_a_short_name(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("s")  # the name of a socket may have about a hundred letters
    folder.chmod(0o700)
    path = place.socket_path("/data/" + "long/" * 60, {"XDG_RUNTIME_DIR": str(folder)})
    assert Path(path).parent == folder / "memory-mesh"
    assert len(Path(path).name) == len("0123456789abcdef.sock")
    assert stat.S_IMODE((folder / "memory-mesh").stat().st_mode) == 0o700


def test_two_stores_have_two_sockets() -> None:
    assert place.socket_path("/data/a", {}) != place.socket_path("/data/b", {})


def test_an_open_runtime_folder_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = place.socket_path("/data/a", {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert not path.startswith(str(tmp_path))


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702])
def test_a_folder_that_others_can_enter_is_passed_over(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "memory-mesh").mkdir()
    (tmp_path / "memory-mesh").chmod(mode)
    path = place.socket_path("/data/a", {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert not path.startswith(str(tmp_path))


def test_a_link_in_place_of_the_folder_is_passed_over(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "memory-mesh").symlink_to(tmp_path / "other")
    path = place.socket_path("/data/a", {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert not path.startswith(str(tmp_path))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_that_another_user_made_is_never_used(tmp_path: Path) -> None:
    """As when somebody makes /tmp/memory-mesh-<uid> before its user does."""
    tmp_path.chmod(0o700)
    own = tmp_path / "memory-mesh"
    own.mkdir(mode=0o700)
    os.chown(own, 65_534, 65_534)
    path = place.socket_path(str(tmp_path / "s"), {"XDG_RUNTIME_DIR": str(tmp_path)})
    assert not path.startswith(str(own))


def test_a_path_that_is_too_long_for_a_socket_is_passed_over(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60) / ("y" * 40)
    deep.mkdir(parents=True, mode=0o700)
    path = place.socket_path("/data/a", {"XDG_RUNTIME_DIR": str(deep)})
    assert len(path.encode()) <= system.MAX_SOCKET_PATH
    assert not path.startswith(str(deep))


@pytest.mark.parametrize("text", ["", "x y\n", "17\n", "\xff"])
def test_a_lock_file_that_says_nothing_is_no_address(tmp_path: Path, text: str) -> None:
    (tmp_path / "agents").mkdir()
    Path(place.lock_path(str(tmp_path))).write_text(text, encoding="latin-1")
    assert place.recorded(str(tmp_path)) in {None, (17, "")}
