"""One key per store, outside it, private, and the same for all who open the store at once."""

import errno
import itertools
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memory_mesh.care.key_file import KEY_FOLDER, KeyFile, key_folder, key_for
from memory_mesh.model.errors import InvalidInput, StoreError, StoreIsFull

RACE = """
import sys
from pathlib import Path
from memory_mesh.care.key_file import key_for
print("ready", flush=True)
sys.stdin.read()  # ends for all of them at once
print(key_for(Path(sys.argv[1])).hex())
"""


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


def test_a_key_is_made_once_and_found_again(store):
    key = key_for(store)
    assert len(key) == 32
    assert key_for(store) == key


def test_two_stores_have_two_keys(tmp_path):
    assert key_for(tmp_path / "a") != key_for(tmp_path / "b")


def test_the_key_is_private_and_not_in_the_store(store):
    file = KeyFile.of(store)
    secret = file.newest.secret
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert {path.name for path in store.rglob("*")} == {"identity", "key-record"}
    assert secret.hex() not in (store / "identity").read_text()
    assert secret.hex() not in repr(file.newest)
    assert [path.name for path in file.path.parent.iterdir()] == [file.path.name]


def test_a_moved_store_keeps_its_key(store):
    key = key_for(store)
    assert key_for(store.rename(store.with_name("moved"))) == key


def test_a_file_others_can_read_is_refused_with_what_to_run(store):
    file = KeyFile.of(store)
    file.keys()
    file.path.chmod(0o640)
    with pytest.raises(StoreError, match="chmod 600"):
        file.keys()


def test_a_folder_others_can_write_is_refused_with_what_to_run(store):
    file = KeyFile.of(store)
    file.keys()
    file.path.parent.chmod(0o777)
    with pytest.raises(StoreError, match="chmod 700"):
        file.keys()


def test_a_key_folder_inside_the_store_is_refused(store):
    with pytest.raises(InvalidInput, match=KEY_FOLDER):
        key_for(store, {KEY_FOLDER: str(store / "keys")})
    assert not store.exists()


def test_rotation_keeps_the_old_keys_and_uses_the_new(store):
    file = KeyFile.of(store)
    before = file.newest
    after = file.rotate()
    assert file.keys() == [before, after]
    assert key_for(store) == after.secret != before.secret


@pytest.mark.parametrize("content", ["# only words\n", "", "one two\n", "id zz 2026-01-01\n"])
def test_a_damaged_file_is_never_replaced(store, content, monkeypatch):
    monkeypatch.setattr("memory_mesh.care.key_file._PATIENCE", 1)
    file = KeyFile.of(store)
    file.keys()
    file.path.write_text(content)
    with pytest.raises(StoreError, match="backup"):
        file.keys()
    assert file.path.read_text() == content


def test_a_damaged_identity_is_an_error(store):
    store.mkdir()
    (store / "identity").write_text("../elsewhere\n")
    with pytest.raises(StoreError, match="identity"):
        key_for(store)


def test_a_file_system_without_links_gets_its_files_too(store, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert key_for(store) == key_for(store)


def test_processes_that_start_at_once_agree(store, tmp_path):
    start, held = os.pipe()
    environment = os.environ | {KEY_FOLDER: str(tmp_path / "keys")}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(store)],
            stdin=start,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(6)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    os.close(start)
    os.close(held)
    answers = {child.communicate()[0].strip() for child in children}
    assert len(answers) == 1
    assert len(answers.pop()) == 64
    assert len(list((tmp_path / "keys").iterdir())) == 1


def test_a_store_that_another_process_begins_meanwhile_has_its_identity(store, monkeypatch):
    made: list[bytes] = []

    def begin_by_another(folder):
        during.undo()
        made.append(key_for(folder))
        return True

    with monkeypatch.context() as during:
        during.setattr("memory_mesh.care.key_file.had_key", begin_by_another)
        assert [key_for(store)] == made


def test_keys_lie_where_the_platform_keeps_settings():
    assert key_folder({KEY_FOLDER: "/somewhere"}) == Path("/somewhere")
    if sys.platform == "linux":
        assert key_folder({"HOME": "/home/x"}) == Path("/home/x/.config/memory-mesh/keys")
        assert key_folder({"XDG_CONFIG_HOME": "/c"}) == Path("/c/memory-mesh/keys")


def test_a_file_whose_last_line_was_cut_of_its_end_can_be_rotated(store):
    file = KeyFile.of(store)
    first = file.newest
    file.path.write_text(file.path.read_text().rstrip("\n"))
    assert [first, file.rotate()] == file.keys()


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_key_that_cannot_be_read_is_an_error_of_the_store(store, content):
    file = KeyFile.of(store)
    file.path.parent.mkdir(parents=True, mode=0o700)
    if content is None:
        file.path.mkdir(mode=0o700)
    else:
        file.path.write_bytes(content)
        file.path.chmod(0o600)
    with pytest.raises(StoreError, match=KEY_FOLDER):
        file.keys()


def test_a_folder_that_cannot_be_made_is_an_error_of_the_store(store, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=KEY_FOLDER):
        key_for(store, {KEY_FOLDER: str(tmp_path / "file" / "keys")})


def test_keys_do_not_depend_on_the_working_folder(store):
    with pytest.raises(InvalidInput, match="absolute"):
        key_for(store, {KEY_FOLDER: "keys"})
    assert key_folder({"HOME": "/home/x", "XDG_CONFIG_HOME": "config"}).is_absolute()


def cut(at=None, number=errno.ENOSPC, spared=0):
    """A write that takes a part, or nothing, of what it is given, after some that are spared."""
    write, calls = os.write, itertools.count()

    def taken(descriptor, data):
        if next(calls) < spared:
            return write(descriptor, data)
        if at is None:
            raise OSError(number, os.strerror(number))
        return write(descriptor, data[:at])

    return taken


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("at", [None, 10])
def test_a_full_disk_leaves_no_half_identity_and_no_half_key(store, monkeypatch, at, links):
    def refuse(*_):
        raise PermissionError(1, "no links here")

    file = KeyFile.of(store)
    for path, make in ((file.path, file.keys), (store / "identity", lambda: KeyFile.of(store))):
        path.unlink(missing_ok=True)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", cut(at, spared=0 if links else 1))
            if not links:
                patched.setattr(os, "link", refuse)
            with pytest.raises(StoreIsFull, match="free some space"):
                make()
        assert list(path.parent.glob("*")) + list(path.parent.glob(".*")) == []
    assert key_for(store) == key_for(store)


@pytest.mark.parametrize("at", [None, 10])
def test_a_full_disk_leaves_the_keys_as_they_were_when_one_is_added(store, monkeypatch, at):
    file = KeyFile.of(store)
    before = file.keys()
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", cut(at))
        with pytest.raises(StoreIsFull):
            file.rotate()
    assert file.keys() == before
    assert len([*before, file.rotate()]) == len(file.keys())


def test_a_failing_disk_is_an_error_of_the_store_and_no_second_try(store, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", cut(number=errno.EIO))
        with pytest.raises(
            StoreError, match=r"identity cannot be read or made: .*; check the disk"
        ):
            key_for(store)
    assert list(store.iterdir()) == []


def test_an_identity_that_is_no_text_is_damaged(store):
    store.mkdir()
    (store / "identity").write_bytes(b"\xff\xfe\n")
    with pytest.raises(StoreError, match="is damaged"):
        key_for(store)
