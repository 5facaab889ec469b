"""A file is replaced or removed only as it was read, and what is saved meanwhile is kept."""

import threading
from pathlib import Path

import pytest

from memory_mesh.mirror import store_to_folder
from memory_mesh.mirror.state import hashed
from memory_mesh.model.errors import InvalidInput
from memory_mesh.platform.durable_files import append_locked, exchanged
from tests.until import until, waits_in_line


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text("old")
    return path


def saved_at(monkeypatch, path, texts):
    """Lets an editor save the file just before the exchange with this number."""
    count = [0]

    def exchange(one, other):
        count[0] += 1
        if count[0] in texts:
            path.write_text(texts[count[0]])
        return exchanged(one, other)

    monkeypatch.setattr(store_to_folder, "exchanged", exchange)


def test_what_is_saved_between_two_exchanges_is_kept(file, monkeypatch):
    saved_at(monkeypatch, file, {1: "first save", 2: "second save"})
    assert not store_to_folder.replace_file(file, hashed("old"), b"ours", root=file.parent)
    assert file.read_text() == "first save"
    (late,) = store_to_folder.late_writes(file.parent)
    assert (file.parent / store_to_folder.KEPT / late).read_text() == "second save"
    assert store_to_folder.late_writes(file.parent) == [late]


@pytest.mark.parametrize("act", ["replace", "remove"])
def test_what_is_written_to_the_old_file_at_the_last_moment_is_kept(file, monkeypatch, act):
    real = store_to_folder._hash

    def look(path):
        found = real(path)
        if found == hashed("old"):
            path.write_text("old, and more")  # by a program that has it open
        return found

    monkeypatch.setattr(store_to_folder, "_hash", look)
    if act == "replace":
        assert store_to_folder.replace_file(file, hashed("old"), b"ours", root=file.parent)
    else:
        assert store_to_folder.remove_file(file, hashed("old"), root=file.parent)
    monkeypatch.undo()
    (late,) = store_to_folder.late_writes(file.parent)
    assert (file.parent / store_to_folder.KEPT / late).read_text() == "old, and more"


def test_nobody_of_ours_appends_to_a_draft_that_is_taken_back(file, monkeypatch):
    appender: list[threading.Thread] = []

    def exchange(one, other):
        if not appender:
            file.write_text("saved by hand")
        done = exchanged(one, other)
        if not appender:
            thread = threading.Thread(target=append_locked, args=(file, b" + appended"))
            thread.start()
            # It waits, or has written to what is taken back.
            until(lambda: waits_in_line(file) or not thread.is_alive())
            appender.append(thread)
        return done

    monkeypatch.setattr(store_to_folder, "exchanged", exchange)
    assert not store_to_folder.replace_file(file, hashed("old"), b"ours", root=file.parent)
    appender[0].join()
    assert file.read_text() == "saved by hand + appended"


def test_a_file_that_was_removed_meanwhile_is_left_removed(file, monkeypatch):

    def exchange(one, other):
        file.unlink(missing_ok=True)
        return exchanged(one, other)

    monkeypatch.setattr(store_to_folder, "exchanged", exchange)
    assert not store_to_folder.replace_file(file, hashed("old"), b"ours", root=file.parent)
    assert [path.name for path in file.parent.iterdir()] == [store_to_folder.KEPT]
    assert not store_to_folder.remove_file(file, hashed("old"), root=file.parent)


@pytest.mark.parametrize("name", ["日" * 83, "𠀀" * 62, "n" * 252], ids=["3", "4", "1"])
def test_a_long_name_is_replaced_and_removed(tmp_path, name):
    path = tmp_path / f"{name}.md"
    path.write_text("old")
    assert store_to_folder.replace_file(path, hashed("old"), b"new", root=tmp_path)
    assert path.read_text() == "new"
    assert store_to_folder.remove_file(path, hashed("new"), root=tmp_path)
    assert store_to_folder.late_writes(tmp_path) == []


def test_what_is_kept_does_not_leave_the_folder(file, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (file.parent / store_to_folder.KEPT).symlink_to(elsewhere)
    with pytest.raises(InvalidInput, match="link"):
        store_to_folder.replace_file(file, hashed("old"), b"ours", root=file.parent)
    with pytest.raises(InvalidInput, match="link"):
        store_to_folder.remove_file(file, hashed("old"), root=file.parent)
    assert not list(elsewhere.iterdir())
    assert file.read_text() == "old"


def test_a_folder_among_the_kept_files_stops_nothing(file):
    (file.parent / store_to_folder.KEPT / "folder").mkdir(parents=True)
    assert store_to_folder.late_writes(file.parent) == []
