"""A file is replaced or removed only as it was read, and what is saved meanwhile is kept."""

import threading
from pathlib import Path

import pytest

from memory_mesh.mirror import exporting
from memory_mesh.mirror.scan import hashed
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

    monkeypatch.setattr(exporting, "exchanged", exchange)


def test_what_is_saved_between_two_exchanges_is_kept(file, monkeypatch):
    saved_at(monkeypatch, file, {1: "first save", 2: "second save"})
    assert not exporting.replace_file(file, hashed("old"), b"ours", root=file.parent)
    assert file.read_text() == "first save"
    (late,) = exporting.late_writes(file.parent)
    assert (file.parent / exporting.KEPT / late).read_text() == "second save"
    assert exporting.late_writes(file.parent) == [late]


@pytest.mark.parametrize("act", ["replace", "remove"])
def test_what_is_written_to_the_old_file_at_the_last_moment_is_kept(file, monkeypatch, act):
    real = exporting._hash

    def look(path):
        found = real(path)
        if found == hashed("old"):
            path.write_text("old, and more")  # by a program that has it open
        return found

    monkeypatch.setattr(exporting, "_hash", look)
    if act == "replace":
        assert exporting.replace_file(file, hashed("old"), b"ours", root=file.parent)
    else:
        assert exporting.remove_file(file, hashed("old"), root=file.parent)
    monkeypatch.undo()
    (late,) = exporting.late_writes(file.parent)
    assert (file.parent / exporting.KEPT / late).read_text() == "old, and more"


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

    monkeypatch.setattr(exporting, "exchanged", exchange)
    assert not exporting.replace_file(file, hashed("old"), b"ours", root=file.parent)
    appender[0].join()
    assert file.read_text() == "saved by hand + appended"


def test_a_file_that_was_removed_meanwhile_is_left_removed(file, monkeypatch):

    def exchange(one, other):
        file.unlink(missing_ok=True)
        return exchanged(one, other)

    monkeypatch.setattr(exporting, "exchanged", exchange)
    assert not exporting.replace_file(file, hashed("old"), b"ours", root=file.parent)
    assert [path.name for path in file.parent.iterdir()] == [exporting.KEPT]
    assert not exporting.remove_file(file, hashed("old"), root=file.parent)


@pytest.mark.parametrize("name", ["日" * 83, "𠀀" * 62, "n" * 252], ids=["3", "4", "1"])
def test_a_long_name_is_replaced_and_removed(tmp_path, name):
    path = tmp_path / f"{name}.md"
    path.write_text("old")
    assert exporting.replace_file(path, hashed("old"), b"new", root=tmp_path)
    assert path.read_text() == "new"
    assert exporting.remove_file(path, hashed("new"), root=tmp_path)
    assert exporting.late_writes(tmp_path) == []


def test_what_is_kept_does_not_leave_the_folder(file, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (file.parent / exporting.KEPT).symlink_to(elsewhere)
    with pytest.raises(InvalidInput, match="link"):
        exporting.replace_file(file, hashed("old"), b"ours", root=file.parent)
    with pytest.raises(InvalidInput, match="link"):
        exporting.remove_file(file, hashed("old"), root=file.parent)
    assert not list(elsewhere.iterdir())
    assert file.read_text() == "old"


def test_a_folder_among_the_kept_files_stops_nothing(file):
    (file.parent / exporting.KEPT / "folder").mkdir(parents=True)
    assert exporting.late_writes(file.parent) == []
