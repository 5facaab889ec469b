"""One face for every operating system: the same names, and the folders of each."""

import importlib.util
import os
import subprocess
import sys
import time

import pytest

from memory_mesh.platform import system

PLATFORMS = ("linux", "darwin", "win32")


@pytest.fixture
def load(monkeypatch):
    """The module as it is on another system."""

    def loaded(platform):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "platform", platform)
            spec = importlib.util.spec_from_file_location(f"system_{platform}", system.__file__)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        return module

    return loaded


def public(module):
    return {name for name in vars(module) if not name.startswith("_")}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_system_has_the_same_names(load, platform):
    assert public(load(platform)) == public(system)


@pytest.mark.parametrize(
    ("platform", "data", "settings", "keys"),
    [
        ("linux", ".local/share/memory-mesh", ".config/memory-mesh", ".config/memory-mesh/keys"),
        (
            "darwin",
            "Library/Application Support/memory-mesh",
            "Library/Application Support/memory-mesh",
            "Library/Application Support/memory-mesh-keys",
        ),
        (
            "win32",
            "AppData/Local/memory-mesh",
            "AppData/Local/memory-mesh",
            "AppData/Roaming/memory-mesh/keys",
        ),
    ],
)
def test_files_lie_where_the_system_puts_them(load, platform, data, settings, keys):
    one, home = load(platform), {"HOME": "/home/me"}
    assert one.data_folder(home) == f"/home/me/{data}"
    assert one.config_folder(home) == f"/home/me/{settings}"
    assert one.key_folder(home) == f"/home/me/{keys}"


def test_keys_never_lie_in_a_relative_folder():
    stated = {"HOME": "/home/me", "XDG_CONFIG_HOME": "here"}
    assert system.key_folder(stated) == "/home/me/.config/memory-mesh/keys"


def test_windows_refuses_what_it_lacks_and_answers_the_rest(load):
    windows = load("win32")
    for call in (windows.fork, windows.unix_family):
        with pytest.raises(OSError, match="no such call"):
            call()
    assert windows.spawn(["python"], {}) is None
    assert (windows.MODES, windows.account(), windows.memory_bytes()) == (False, None, None)
    assert windows.detach() is windows.end_in(1) is None


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_file_is_read_from_any_place(load, platform, tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        assert load(platform).read_at(descriptor, 3, 4) == b"456"
    finally:
        os.close(descriptor)


def test_a_process_lives_until_it_ended():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert system.lives(child.pid)
        assert not system.has_ended(child.pid)
        assert abs(time.time() - system.process_began(child.pid)) < 60
        child.communicate(b"\n")
    assert not system.lives(child.pid)
    assert system.has_ended(child.pid)


def test_a_pipe_tells_what_waits_in_it_and_whether_it_has_readers():
    source, target = os.pipe()
    assert not system.readable(source, 0)
    assert system.writable(target, 0)
    os.write(target, b"tea")
    assert system.readable(source, 0)
    assert system.unread_bytes(target, 3) == 3
    assert system.unread_bytes(target, 1 << 30) == 0
    os.close(source)
    assert not system.writable(target, 0)
    os.close(target)


def test_more_files_may_be_open_and_the_limits_are_set_back():
    before = system.raise_open_files(0)
    assert before is not None
    soft, hard = before
    assert system.raise_open_files(-1) == before
    assert system.raise_open_files(0) == (soft - 1, hard)
    system.set_open_files(before)
    assert system.raise_open_files(0) == before
